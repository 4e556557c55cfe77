import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from threadpoolctl import threadpool_limits

from reference.early_exit import rounds_evaluated
from thrifty import GreedyMiserRanker
from thrifty.datasets import make_ltr
from thrifty.models.boosting.early_exit import EarlyExitRanker
from thrifty.models.forests.forest import Forest
from thrifty.models.session import drive

DATA = make_ltr(25, 14, 30, random_state=0)
SHUFFLED = np.random.default_rng(0).permutation(len(DATA.X))  # the documents of a query are not together
X, Y, QID = DATA.X[SHUFFLED], DATA.y[SHUFFLED], DATA.qid[SHUFFLED]
FOREST = Forest.from_model(GreedyMiserRanker(cost_weight=0.0, n_estimators=40).fit(X, Y, qid=QID))


def ranker(**parameters):
    return EarlyExitRanker(FOREST, costs=DATA.costs, **parameters).fit(X, Y, qid=QID)


def scores_by_round(forest):
    outputs = forest.outputs(X)
    return np.add.accumulate(np.column_stack([np.full(len(X), forest.base[0]), outputs]), axis=1)[:, 1:]


@pytest.mark.parametrize("n_checkpoints", [None, 7, 2])
@pytest.mark.parametrize("s", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("top", [1, 5])
def test_documents_exit_as_in_the_paper(s, top, n_checkpoints):
    model = ranker(s=s, top=top, n_checkpoints=n_checkpoints)
    acquisition, by_round = model.acquire(X, qid=QID), scores_by_round(FOREST)
    for query in np.unique(QID):
        rows = np.flatnonzero(query == QID)
        expected = rounds_evaluated(by_round[rows].tolist(), s, top, model.checkpoints_.tolist())
        assert (acquisition.exit[rows] + 1).tolist() == expected
    np.testing.assert_array_equal(acquisition.score, by_round[np.arange(len(X)), acquisition.exit])
    assert s > 1 or (acquisition.exit + 1 < 40).mean() > 0.1


def test_a_document_pays_for_the_rounds_before_its_exit():
    model = ranker(s=0.2, evaluation_cost=0.5)
    acquisition = model.acquire(X, qid=QID)
    for n_rounds in np.unique(acquisition.exit) + 1:
        rows = acquisition.exit + 1 == n_rounds
        alone = FOREST.prefix(int(n_rounds)).with_costs(DATA.costs, 0.5).acquire(X[rows])
        np.testing.assert_array_equal(acquisition.spend[rows], alone.spend)
        np.testing.assert_array_equal(acquisition.acquired[rows], alone.acquired)


def test_no_peeking():
    model = ranker(s=0.1)
    for cap in (None, 50.0, 300.0):
        honest = model.acquire(X, cap, qid=QID)
        poisoned = model.acquire(np.where(honest.acquired, X, np.nan), cap, qid=QID)
        for name in ("prediction", "acquired", "spend", "exit"):
            np.testing.assert_array_equal(getattr(poisoned, name), getattr(honest, name))
        assert cap is None or honest.spend.max() <= cap


def test_fewer_documents_exit_with_a_larger_s():
    spends = [ranker(s=s).spend(X, qid=QID).mean() for s in (0.0, 0.1, 0.3, 1.0, 100.0)]
    assert spends == sorted(spends)
    assert spends[-1] == ranker().spend(X).mean()  # no document exits early
    assert ranker(s=1.0).score(X, Y, qid=QID) > ranker(s=0.0).score(X, Y, qid=QID)


def test_a_single_document_never_exits_early():
    model = ranker(s=0.0)
    assert (model.acquire(X).exit == 39).all()
    np.testing.assert_array_equal(model.predict(X, qid=np.arange(len(X))), model.predict(X))
    row = dict(zip(model.cost_model_.names, X[0], strict=True))
    assert drive(model.session(), row.__getitem__).prediction == model.predict(X[:1])[0]


def test_queries_with_few_documents_keep_them_all():
    few = np.repeat(np.arange(len(X) // 4 + 1), 4)[: len(X)]
    assert (ranker(s=0.0).acquire(X, qid=few).exit == 39).all()


def test_capped_documents_stay_in_the_comparison():
    """All but two documents have a cap of 0. Their base score is the fifth best, and documents below it exit."""
    model = ranker(s=0.0, top=5)
    rows = np.flatnonzero(QID[0] == QID)
    caps = np.where(np.arange(len(rows)) < 2, np.inf, 0.0)
    acquisition = model.acquire(X[rows], caps, qid=QID[rows])
    by_round = scores_by_round(FOREST)[rows[:2]]
    widths = np.zeros(40)
    for k in range(2):
        behind = np.flatnonzero(by_round[k] <= FOREST.base[0] - widths)
        assert acquisition.exit[k] == (behind[0] if behind.size else 39)
    assert (acquisition.exit[2:] == -1).all()


@pytest.mark.parametrize(
    "estimator",
    [
        GradientBoostingRegressor(n_estimators=10, random_state=0),
        lightgbm.LGBMRanker(n_estimators=10, verbose=-1, n_jobs=1),
        xgboost.XGBRanker(n_estimators=10, n_jobs=1),
        GreedyMiserRanker(cost_weight=0.0, n_estimators=10),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_forest_can_be_the_estimator(estimator):
    with threadpool_limits(1, user_api="openmp"):
        model = EarlyExitRanker(estimator, costs=DATA.costs, s=1.0).fit(X, Y, qid=QID)
    assert model.score(X, Y, qid=QID) > 0.7
    assert not hasattr(model.estimator, "forest_")
    fitted = Forest.from_model(clone(GradientBoostingRegressor(n_estimators=3)).fit(X, Y))
    assert EarlyExitRanker(fitted).fit(X, Y).forest_ is fitted


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"s": -0.1}, "s is -0.1; expected a number of at least 0"),
        ({"top": 0}, "top is 0"),
        ({"n_checkpoints": 2.5}, "n_checkpoints is 2.5"),
        ({"evaluation_cost": np.nan}, "evaluation_cost is nan"),
        ({"estimator": RandomForestClassifier(n_estimators=2, max_depth=1)}, "scores"),
        ({"estimator": Forest([-1], [0.0], [0], [0], [1.0], [0], n_features=2)}, "2 columns"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        EarlyExitRanker(**parameters).fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match="qid has shape"):
        ranker().predict(X, qid=QID[:3])
