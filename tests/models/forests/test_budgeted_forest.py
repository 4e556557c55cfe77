"""Forests of other libraries as budgeted estimators: predictions and spend."""

import copy
import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from threadpoolctl import threadpool_limits

from thrifty import CostError, CostModel, GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from thrifty.models.forests.budgeted_forest import BudgetedForestClassifier, BudgetedForestRanker
from thrifty.models.forests.forest import Forest, Tree
from thrifty.models.session import Acquire, Stop

random = np.random.default_rng(0)
X = random.normal(size=(300, 6)).round(2)
VALUE = X[:, 0] * X[:, 1] + X[:, 3] + random.normal(scale=0.1, size=300)
COUNT = random.poisson(np.exp(X[:, 2] / 2))
LABELS = {2: np.where(VALUE > 0, "yes", "no"), 3: np.digitize(VALUE, [-0.5, 0.5])}
PRICES = CostModel([3.0, 0.7, 1.1, 0.0, 2.0, 5.0], bundles={"panel": ([0, 1, 4], 1.3)})
CAPS = [0.0, 1.0, 2.4, 4.1, 7.0, np.inf]
quiet = {"verbose": -1, "n_jobs": 1, "n_estimators": 8}
brief = {"n_jobs": 1, "n_estimators": 8, "max_depth": 3}


@pytest.fixture(autouse=True)
def _one_thread():
    """Waiting OpenMP threads use the processor, which takes seconds if cores are shared."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def test_rankers():
    groups, qid = np.full(10, 30), np.repeat(np.arange(10), 30)
    ranked = lightgbm.LGBMRanker(**quiet).fit(X, LABELS[3], group=groups)
    paired = xgboost.XGBRanker(**brief).fit(X, LABELS[3], qid=qid)
    for model in (ranked, paired):
        budgeted = Forest.from_model(model).with_costs(PRICES)
        assert isinstance(budgeted, BudgetedForestRanker)
        np.testing.assert_allclose(budgeted.predict(X), model.predict(X), rtol=1e-5, atol=1e-5)
        assert budgeted.score(X, LABELS[3], qid=qid) > 0.8


def test_the_task_of_a_booster_follows_from_its_objective():
    data = lightgbm.Dataset(X, LABELS[3])
    several = lightgbm.train({"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1}, data, 4)
    budgeted = Forest.from_model(several).with_costs()
    np.testing.assert_allclose(budgeted.predict_proba(X), several.predict(X), rtol=1e-10)
    two = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, VALUE > 0), 4)
    budgeted = Forest.from_model(two).with_costs()
    assert budgeted.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(budgeted.predict_proba(X)[:, 1], two.predict(xgboost.DMatrix(X)), rtol=1e-5)


SERVED = {
    "average": RandomForestClassifier(n_estimators=9, max_depth=3, random_state=0).fit(X, LABELS[3]),
    "average of two": RandomForestClassifier(n_estimators=9, max_depth=3, random_state=0).fit(X, LABELS[2]),
    "a tree per class": HistGradientBoostingClassifier(max_iter=6, max_depth=3).fit(X, LABELS[3]),
    "log link": lightgbm.LGBMRegressor(objective="poisson", max_depth=3, **quiet).fit(X, COUNT),
    "float32": xgboost.XGBRegressor(**brief).fit(X, VALUE),
}


def driven(session, row):
    """Run a session; after every step, its spend must be the sum of the costs announced."""
    asked, announced = [], 0.0
    while isinstance(step := session.next(), Acquire):
        assert step.features or step.cost > 0
        announced += step.cost
        session.observe({j: row[j] for j in step.features})
        asked += step.features
        assert session.spend == pytest.approx(announced, rel=1e-12, abs=1e-12)
    return asked, step


@pytest.mark.parametrize(("evaluation_costs", "dtype"), [(0.0, np.float64), (0.3, np.float32)])
@pytest.mark.parametrize("model", SERVED.values(), ids=SERVED)
def test_a_session_equals_a_batch(model, evaluation_costs, dtype):
    budgeted = Forest.from_model(model).with_costs(PRICES, evaluation_costs)
    with_missing = np.where(random.random(X.shape) < 0.1, np.nan, X)[:25].astype(dtype)
    for cap in CAPS:
        batch = budgeted.acquire(with_missing, cap)
        assert (batch.spend <= cap).all()
        for i, row in enumerate(with_missing):
            session = budgeted.session(cap)
            asked, stop = driven(session, row)
            assert sorted(asked) == np.flatnonzero(batch.acquired[i]).tolist()
            assert (session.spend, stop.exit, stop.prediction) == (batch.spend[i], batch.exit[i], batch.prediction[i])
            np.testing.assert_array_equal(stop.score, batch.score[i])
            assert stop.reason == ("done" if stop.exit == budgeted._priced().n_rounds - 1 else "cap")


def test_the_prediction_of_a_capped_row_is_the_average_of_its_trees_and_the_prior():
    model = RandomForestClassifier(n_estimators=6, max_depth=2, random_state=0).fit(X, LABELS[3])
    budgeted = Forest.from_model(model).with_costs(PRICES)
    batch = budgeted.acquire(X, cap=6.0)
    assert len(np.unique(batch.exit)) > 2
    prior = np.mean([tree.tree_.value[0] for tree in model.estimators_], axis=0)
    for n_done in np.unique(batch.exit) + 1:
        rows = batch.exit + 1 == n_done
        if n_done == 6:
            expected = model.predict_proba(X[rows])
        else:
            trees = [tree.predict_proba(X[rows]) for tree in model.estimators_[:n_done]]
            expected = (sum(trees) + prior) / (n_done + 1)
        expected = np.maximum(expected, 1e-12)
        probabilities = budgeted.predict_proba(X[rows], cap=6.0)
        np.testing.assert_allclose(probabilities, np.broadcast_to(expected, probabilities.shape), rtol=1e-9)


def test_a_prefix_of_an_average_is_the_average_of_the_prefix():
    model = RandomForestRegressor(n_estimators=6, max_depth=2, random_state=0).fit(X, VALUE)
    prefix = Forest.from_model(model).prefix(2).with_costs(PRICES)
    expected = np.mean([tree.predict(X) for tree in model.estimators_[:2]], axis=0)
    np.testing.assert_allclose(prefix.predict(X), expected, rtol=1e-12)


def test_evaluation_is_charged_by_the_round():
    model = HistGradientBoostingClassifier(max_iter=5, max_depth=2).fit(X, LABELS[3])  # three trees per round
    forest = Forest.from_model(model)
    free = forest.with_costs(PRICES)
    charged = forest.with_costs(PRICES, np.tile([0.1, 0.2, 0.4], 5))
    np.testing.assert_allclose(charged.spend(X), free.spend(X) + 5 * 0.7, rtol=1e-12)
    assert charged.spend(X, cap=0.69).max() == 0
    assert (charged.acquire(X, cap=0.7).exit == -1).all()  # it pays for the round, but cannot pay for the first feature
    assert (charged.spend(X, cap=0.7) == 0.7).all()


def test_evaluation_after_the_last_feature_is_announced_without_features():
    stump = Tree([0, -1, -1], [0.0] * 3, [1, 0, 0], [2, 0, 0], [0.0, 1.0, 2.0])
    model = Forest.from_trees([stump, stump, stump], n_features=1).with_costs([3.0], [0.5, 0.75, 1.25])
    session = model.session()
    assert session.next() == Acquire((0,), 3.5)  # the feature and the first round
    session.observe({0: 1.0})
    assert session.spend == 3.5
    assert session.next() == Acquire((), 2.0)  # the other rounds
    assert session.spend == 3.5
    session.observe({})
    assert isinstance(session.next(), Stop)
    assert session.spend == model.spend([[1.0]])[0] == 5.5


def test_the_evaluation_of_a_capped_row_is_announced():
    stump = Tree([0, -1, -1], [0.0] * 3, [1, 0, 0], [2, 0, 0], [0.0, 1.0, 2.0])
    model = Forest.from_trees([stump], n_features=1).with_costs([3.0], 0.5)
    session = model.session(cap=2.0)
    assert session.next() == Acquire((), 0.5)  # the round is paid, but the feature is too expensive
    session.observe({})
    assert session.next().reason == "cap"
    assert session.spend == model.spend([[1.0]], cap=2.0)[0] == 0.5


def test_a_feature_whose_bundle_is_paid_is_asked_for_at_no_cost():
    tree = Tree([0, 1, -1, -1, -1], [0.0] * 5, [1, 2, 0, 0, 0], [4, 3, 0, 0, 0], [0.0, 0, 1, 2, 3])
    costs = CostModel({"a": None, "b": None}, bundles={"both": (["a", "b"], 4.0)})
    model = Forest.from_trees([tree], n_features=2, feature_names=["a", "b"]).with_costs(costs)
    session = model.session()
    assert (session.next().features, session.next().cost) == (("a",), 4.0)
    session.observe({"a": -1.0})
    assert (session.next().features, session.next().cost) == (("b",), 0.0)


def test_copies_and_parameters():
    model = Forest.from_model(SERVED["average"]).with_costs(PRICES, evaluation_costs=0.1)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit()):
        np.testing.assert_array_equal(twin.acquire(X).score, model.acquire(X).score)
        np.testing.assert_array_equal(twin.spend(X, 4.0), model.spend(X, 4.0))
    assert set(model.get_params()) == {"forest", "costs", "evaluation_costs"}
    straight = BudgetedForestClassifier(SERVED["average"], costs=PRICES).fit(X, LABELS[3])
    np.testing.assert_array_equal(straight.predict(X), model.predict(X))


def test_names_are_kept():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = lightgbm.LGBMRegressor(**quiet).fit(frame, VALUE)
    budgeted = Forest.from_model(model).with_costs(dict(zip("fedcba", range(6), strict=True)))
    np.testing.assert_allclose(budgeted.predict(frame), model.predict(frame), rtol=1e-12)
    assert budgeted.cost_model_.names == tuple("abcdef")
    assert budgeted.session().next().features[0] in set("abcdef")


def test_estimators_of_thrifty_are_read_with_their_task():
    binary = GreedyMiserClassifier(n_estimators=5).fit(X, LABELS[2])
    for model in (binary, GreedyMiserClassifier(n_estimators=5).fit(X, LABELS[3])):
        budgeted = Forest.from_model(model).with_costs(PRICES)
        np.testing.assert_array_equal(budgeted.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(budgeted.predict(X), model.predict(X))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    named = Forest.from_model(GreedyMiserRegressor(n_estimators=5).fit(frame, VALUE))
    assert (named.task.kind, named.feature_names) == ("regression", tuple("abcdef"))
    assert Forest.from_model(GreedyMiserRanker(n_estimators=5).fit(X, LABELS[3])).task.kind == "ranking"


def test_bad_costs_are_refused():
    forest = Forest.from_model(SERVED["float32"])
    with pytest.raises(CostError, match="5 entries but X has 6"):
        forest.with_costs(np.ones(5))
    for wrong in (-0.1, np.nan, "expensive", [0.1, 0.2]):
        with pytest.raises(CostError, match="evaluation_costs"):
            forest.with_costs(PRICES, wrong)


def test_several_targets_are_refused():
    model = RandomForestRegressor(n_estimators=2, max_depth=2).fit(X, np.c_[VALUE, VALUE])
    with pytest.raises(ValueError, match="2 targets"):
        Forest.from_model(model).with_costs(PRICES)


def test_infinite_values_are_compared_like_any_other():
    model = Forest.from_model(SERVED["float32"]).with_costs(PRICES)
    rows = np.array([[np.inf] * 6, [-np.inf] * 6])
    np.testing.assert_array_equal(model.predict(rows), model.predict(np.sign(rows) * 1e300))
