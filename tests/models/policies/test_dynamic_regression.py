"""DynamicSelectionRegressor: against the transcription, any data regressor, units, weights, queries and messages."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from models.policies.learned_scores import learning
from reference.policies import Problem, coach_action, dagger, follow, greedy_path, oracle_action, value_meta_features
from thrifty import CostModel, DynamicSelectionRegressor, StaticSelectionRegressor, TableModel
from thrifty.models.factors import Factors
from thrifty.models.policies.data_model import PredictedScores, Scores, encode
from thrifty.models.policies.oracle import guided_actions
from thrifty.models.policies.rewards import Reward
from thrifty.models.policies.rollout import Rollout
from thrifty.models.session import drive

QUICK = {"n_iterations": 4, "n_folds": 4, "random_state": 0}
COSTS = CostModel([1.0, 2.5, 0.6, 4.0, 0.7], bundles={"panel": ((1, 3), 2.2)})


def make_rows(n=400, seed=0):
    """Return rows where column 0 tells whether columns 1 and 2 matter; the other three are noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6))
    return X, np.where(X[:, 0] > 0, 3 * X[:, 1] + 2 * X[:, 2], 0.0) + 0.3 * random.normal(size=n)


@pytest.fixture(scope="module")
def numbers():
    """Rows with numbers to predict and two data regressors, for thrifty and for the reference."""
    random = np.random.default_rng(3)
    X = random.normal(size=(30, 5))
    y = X @ random.normal(size=5) + 0.5 * random.normal(size=30)
    factors = Factors.of(COSTS, [[0, 2]], "here")
    Z, which = factors.sorted_columns(X), np.arange(30) % 2
    regressors = [Ridge(alpha=alpha).fit(Z, y) for alpha in (1.0, 20.0)]
    blocks = [list(range(*factors.starts[f : f + 2])) for f in range(len(factors))]

    def problem(i, cost_weight):
        mine, requirement = regressors[which[i]], COSTS.requirement[factors.columns]
        weights, intercepts = mine.coef_[None], np.array([mine.intercept_])
        return Problem(blocks, weights, intercepts, requirement, COSTS.unit_costs, cost_weight, "squared_error")

    return SimpleNamespace(Z=Z, y=y, which=which, factors=factors, regressors=regressors, problem=problem)


@pytest.mark.parametrize("kind", [Scores, PredictedScores])
@pytest.mark.parametrize("weighs_stop", [False, True])
@pytest.mark.parametrize("cost_weight", [0.0, 0.3, 2.0])
def test_oracle_and_coach_are_the_brute_force_ones(numbers, cost_weight, weighs_stop, kind):
    random, everyone, seen = np.random.default_rng(8), np.arange(30), set()
    rollout = Rollout(numbers.factors, kind.of(numbers.regressors, numbers.factors), numbers.Z, numbers.which).start()
    bonus, taken = 0.4 * random.normal(size=(30, 5)), [[] for _ in everyone]
    for _ in range(len(numbers.factors)):
        reward = Reward("squared_error", cost_weight)
        actions, stakes = guided_actions(rollout, everyone, numbers.y, reward, bonus, weighs_stop)
        for i in everyone:
            given = numbers.Z[i], numbers.y[i], taken[i], numbers.problem(i, cost_weight), bonus[i]
            assert actions[i] == (coach_action if weighs_stop else oracle_action)(*given)
            rewards = greedy_path(*given)[1]
            np.testing.assert_allclose(stakes[i], abs(max(rewards[1:]) - rewards[0]), atol=1e-9)
        seen |= set(actions.tolist())
        chosen = np.array([random.choice([f for f in range(4) if f not in taken[i]]) for i in everyone])
        rollout.acquire(everyone, chosen)
        for i, factor in zip(everyone, chosen, strict=True):
            taken[i].append(int(factor))
    assert len(seen) > 3


def test_meta_features_describe_the_predicted_number(numbers):
    scores, everyone = Scores.of(numbers.regressors, numbers.factors), np.arange(30)
    rollout = Rollout(numbers.factors, scores, numbers.Z, numbers.which).start()
    for taken in ([], [2], [2, 0], [2, 0, 3]):
        if taken:
            rollout.acquire(everyone, np.full(30, taken[-1]))
        expected = [value_meta_features(numbers.Z[i], taken, numbers.problem(i, 0.5)) for i in everyone]
        np.testing.assert_allclose(rollout.meta_features(everyone), expected, atol=1e-12)


@pytest.mark.parametrize(("coaching", "coach_stops"), [(0.0, False), (0.5, False), (0.5, True)])
def test_the_policy_is_that_of_algorithm_1(coaching, coach_stops):
    random = np.random.default_rng(2)
    X = random.normal(size=(120, 6))
    y = X @ [3.0, 2.0, 1.0, 1.0, 0.0, 0.0] + 0.3 * random.normal(size=120)
    learner = LogisticRegression(tol=1e-9, max_iter=10_000)
    teaching = {"coaching": coaching, "coach_stops": coach_stops, "stop_biases": (0.0,), "weigh_stakes": False}
    model = DynamicSelectionRegressor(
        cost_weight=0.1,
        masked_training=False,
        policy=learner,
        n_iterations=3,
        n_folds=1,
        validation_fraction=0.0,
        **teaching,
    ).fit(X[:60], y[:60])
    factors, ridge = model.factors_, model.regressor_
    Z, targets = encode(factors.sorted_columns(X), model.standardiser_, factors), (y - y[:60].mean()) / y[:60].std()
    blocks, requirement = [[j] for j in range(6)], np.eye(6, dtype=bool)
    problem = Problem(
        blocks, ridge.coef_[None], np.array([ridge.intercept_]), requirement, np.ones(6), 0.1, "squared_error"
    )
    learn, options = learning(learner, 7), (3, coaching, coach_stops, value_meta_features)
    steps = dagger(Z[:60], targets[:60], lambda _: problem, learn, *options)
    np.testing.assert_allclose(model.learning_curve_.reward, [step.reward for step in steps], rtol=1e-6)
    best, acquired = steps[model.learning_curve_.best].policy, model.acquire(X).acquired
    assert 0 < acquired.mean() < 1
    for i in range(120):
        bought = factors.columns[follow(Z[i], problem, best, value_meta_features)]
        assert sorted(bought.tolist()) == np.flatnonzero(acquired[i]).tolist()


def test_it_predicts_better_than_the_static_baseline_for_the_same_spend():
    X, y = make_rows(800)
    X_new, y_new = make_rows(800, seed=1)
    dynamic = DynamicSelectionRegressor(cost_weight=0.3, random_state=0).fit(X, y)
    spend = dynamic.spend(X_new).mean()
    static = StaticSelectionRegressor(random_state=0).fit(X, y)
    of_dynamic, of_static = dynamic.predict(X_new), static.predict(X_new, cap=np.ceil(spend))
    assert spend < 3
    assert np.mean((of_dynamic - y_new) ** 2) < np.mean((of_static - y_new) ** 2)


@pytest.mark.parametrize("cap", [0, 1, 2, 3])
def test_capped_predictions_are_not_worse_than_the_mean(cap):
    (X, y), (X_new, y_new) = make_rows(), make_rows(seed=1)
    model = DynamicSelectionRegressor(**QUICK).fit(X, y)
    assert np.mean((model.predict(X_new, cap) - y_new) ** 2) < 1.01 * np.mean((y.mean() - y_new) ** 2)


@pytest.mark.parametrize(
    "regressor", [DecisionTreeRegressor(max_depth=5, random_state=0), KNeighborsRegressor()], ids=["tree", "neighbours"]
)
def test_any_regressor_is_accepted(regressor):
    X, y = make_rows()
    model = DynamicSelectionRegressor(regressor=regressor, cost_weight=0.1, **QUICK).fit(X, y)
    acquisition = model.acquire(X, cap=4)
    assert model.score(X, y) > 0.4
    for i in range(15):
        stop = drive(model.session(cap=4), X[i].__getitem__)
        assert (stop.prediction, stop.exit) == (acquisition.prediction[i], acquisition.exit[i])


def test_larger_cost_weights_buy_less():
    X, y = make_rows()
    model = DynamicSelectionRegressor(**QUICK)
    cheap, expensive = model.path(X, y, cost_weights=[0.01, 2.0])
    assert cheap.spend(X).mean() < expensive.spend(X).mean()
    alone = clone(model).set_params(cost_weight=0.01).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), expensive.predict(X))


@pytest.mark.parametrize("scale", [1e-90, 37.0, 1e90])
def test_the_unit_of_the_targets_does_not_matter(scale):
    X, y = make_rows(150)
    plain, scaled = (DynamicSelectionRegressor(**QUICK).fit(X, factor * y).acquire(X) for factor in (1.0, scale))
    np.testing.assert_array_equal(scaled.acquired, plain.acquired)
    np.testing.assert_allclose(scaled.prediction / scale, plain.prediction, rtol=1e-9, atol=1e-12)


def test_equal_targets_are_predicted_without_spending():
    X, _ = make_rows(50)
    model = DynamicSelectionRegressor(**QUICK).fit(X, np.full(50, 3.0))
    assert (model.predict(X) == 3.0).all()
    assert not model.spend(X).any()
    assert (model.learning_curve_.score == 0).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n):
    X, y = make_rows(n)
    assert np.isfinite(DynamicSelectionRegressor(random_state=0).fit(X, y).predict(X)).all()


def test_weights_count_as_rows():
    X, y = make_rows(80)
    weight = np.random.default_rng(0).integers(1, 4, 80)
    weighted = DynamicSelectionRegressor(**QUICK).fit(X, y, sample_weight=weight)
    repeated = DynamicSelectionRegressor(**QUICK).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    np.testing.assert_array_equal(weighted.spend(X), repeated.spend(X))


def test_the_held_out_rows_are_not_in_the_fits_of_their_fold():
    X = np.random.default_rng(0).normal(size=(60, 3))
    noise = np.random.default_rng(1).normal(size=60)
    regressor = KNeighborsRegressor(1)  # it knows every row that it has seen
    model = DynamicSelectionRegressor(regressor=regressor, masked_training=False, cost_weight=0.0, **QUICK)
    assert model.fit(X, noise).learning_curve_.score.max() < 0.5


def test_queries_are_ranked():
    X, y = make_rows(300)
    grades, qid = np.digitize(y, [-1.0, 0.5, 2.0]), np.repeat(np.arange(30), 10)
    model = DynamicSelectionRegressor(cost_weight=0.1, **QUICK).fit(X, grades, qid=qid)
    assert model.score(X, grades, qid=qid) > 0.75


def test_missing_values_free_features_and_bundles():
    X, y = make_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    costs = CostModel(
        {"a": 0.0, "b": None, "c": None, "d": 1.0, "e": 1.0, "f": 1.0}, bundles={"both": (["b", "c"], 2.0)}
    )
    model = DynamicSelectionRegressor(costs=costs, cost_weight=0.05, **QUICK).fit(X, y)
    acquisition = model.acquire(X)
    assert acquisition.acquired[:, 0].all()
    assert (acquisition.acquired[:, 1] == acquisition.acquired[:, 2]).all()
    assert model.score(X, y) > 0.2
    stop = drive(model.session(), lambda _: None)
    np.testing.assert_array_equal(stop.score, model.acquire(np.full((1, 6), np.nan)).score[0])


def test_a_table_of_mixed_columns():
    X, y = make_rows(200)
    table = {f"c{j}": X[:, j] for j in range(5)} | {"sign": np.where(X[:, 0] > 0, "plus", "minus")}
    pandas = pytest.importorskip("pandas")
    model = TableModel(DynamicSelectionRegressor(**QUICK)).fit(pandas.DataFrame(table), y)
    assert model.score(pandas.DataFrame(table), y) > 0.2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost_weight": -1}, "cost_weight is -1; expected a number of at least 0"),
        ({"stop_biases": ["a"]}, r"stop_biases is \['a'\]; expected a list of at least one number"),
        ({"regressor": LogisticRegression()}, "regressor is .*; expected a scikit-learn regressor"),
        ({"policy": Ridge()}, "policy is .*; expected a scikit-learn classifier"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = make_rows(30)
    with pytest.raises(ValueError, match=f"DynamicSelectionRegressor.*{message}"):
        DynamicSelectionRegressor(**parameters).fit(X, y)
