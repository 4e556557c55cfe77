"""Trees of linear nodes over the outputs of a forest, tested with ASTC."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from reference.forest import path_cost
from thrifty import Acquire, ASTCClassifier, ASTCRegressor, CostModel, SessionError
from thrifty.models.forests.feature_map import BoostedFeatureMap
from thrifty.models.forests.forest import Forest, Tree
from thrifty.models.linear_nodes import mapped
from thrifty.models.linear_nodes.tree import LinearNode, LinearTree
from thrifty.models.session import drive
from thrifty.testing import CHECKS

small = {"n_estimators": 10, "max_depth": 2, "random_state": 0}
VARIANTS = [
    ASTCRegressor(feature_map=GradientBoostingRegressor(**small), node_budget=3.5),
    ASTCClassifier(feature_map=GradientBoostingClassifier(**small), node_budget=5.0),
    ASTCClassifier(feature_map=GradientBoostingRegressor(**small), node_budget=5.0),
    ASTCClassifier(feature_map=RandomForestClassifier(max_features=None, bootstrap=False, **small), node_budget=6.0),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "estimator", VARIANTS, ids=lambda each: f"{type(each).__name__}-{type(each.feature_map).__name__}"
)
def test_contract(estimator, check):
    check(estimator)


@parametrize_with_checks(VARIANTS[:1])
def test_scikit_learn(estimator, check):
    if "sample_weight_equivalence" in str(check):
        pytest.skip("scikit-learn's gradient boosting itself breaks ties differently when rows are repeated")
    check(estimator)


N_FEATURES = 12


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, N_FEATURES))
    y = 3 * np.sign(X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + X[:, 3:8] @ random.normal(size=5)
    X[random.random(X.shape) < 0.05] = np.nan
    return X, y


def random_costs(random):
    """Return prices, some of them zero, with two or three bundles that overlap."""
    prices = random.choice([0.0, 0.5, 1.0, 2.3, 4.1], size=N_FEATURES)
    bundles = {
        f"bundle {k}": (random.choice(N_FEATURES, size=4, replace=False).tolist(), random.choice([0.7, 1.9, 5.0]))
        for k in range(random.integers(2, 4))
    }
    return CostModel(prices, bundles=bundles)


def fitted(data, seed, evaluation_costs):
    X, y = data
    random = np.random.default_rng(seed)
    forest = GradientBoostingRegressor(n_estimators=25, max_depth=2, random_state=seed)
    feature_map = BoostedFeatureMap(forest.fit(np.nan_to_num(X), y), evaluation_costs=evaluation_costs)
    costs = random_costs(random)
    return ASTCRegressor(costs=costs, feature_map=feature_map, node_budget=costs.total / 5, max_depth=3).fit(X, y)


def conversation(model, row, cap):
    """Drive a session; return it, its last step, what it asked for, and (announced, spent) after each observation."""
    session, asked, account, announced = model.session(cap), [], [], 0.0
    while isinstance(step := session.next(), Acquire):
        announced += step.cost
        asked += step.features
        session.observe({j: row[j] for j in step.features})
        account.append((announced, session.spend))
    return session, step, asked, account


@pytest.mark.parametrize("evaluation_costs", [0.0, 0.13, np.linspace(0.0, 0.96, 25).round(2)])
@pytest.mark.parametrize("seed", range(3))
def test_sessions_equal_the_batch(data, seed, evaluation_costs):
    model = fitted(data, seed, evaluation_costs)
    X = data[0][:30]
    most = float(model.spend(X).max())
    for cap in (None, *np.linspace(0, most, 7)):
        batch = model.acquire(X, cap)
        for i, row in enumerate(X):
            session, stop, asked, account = conversation(model, row, cap)
            assert len(asked) == len(set(asked))
            assert set(asked) == set(np.flatnonzero(batch.acquired[i]))
            assert (session.spend, stop.exit, stop.score) == (batch.spend[i], batch.exit[i], batch.score[i])
            np.testing.assert_allclose(*np.reshape(account, (-1, 2)).T)  # each purchase is announced in full
            assert session.spend == pytest.approx(account[-1][0] if account else 0.0)


def steps_that_charge_as_the_batch_does(model, row, cap):
    """Drive a session, compare announced costs, spend and batch spend after every step, and return the steps."""
    session, announced, steps = model.session(cap), 0.0, []
    while isinstance(step := session.next(), Acquire):
        assert session.spend == pytest.approx(announced)  # planning charges nothing
        announced += step.cost
        session.observe({j: row[j] for j in step.features})
        assert session.spend == pytest.approx(announced)
        assert session.spend == model.spend([row], session.spend)[0]
        steps.append(step)
    assert session.spend == model.spend([row], cap)[0]
    return steps


@pytest.mark.parametrize("evaluation_costs", [0.0, 0.13, np.linspace(0.0, 0.96, 25).round(2)])
@pytest.mark.parametrize("seed", range(3))
def test_announced_costs_add_up_to_the_spend_of_the_batch_after_every_step(data, seed, evaluation_costs):
    model, X = fitted(data, seed, evaluation_costs), data[0][:30]
    for cap in (None, *np.linspace(0, model.spend(X).max(), 5)):
        for row in X:
            steps_that_charge_as_the_batch_does(model, row, cap)


def test_steps_without_features_charge_as_the_batch_does(data):
    X, y = np.nan_to_num(data[0][:, :3]), data[1]  # so few columns that later nodes buy only further evaluations
    forest = GradientBoostingRegressor(n_estimators=25, max_depth=2, random_state=0).fit(X, y)
    feature_map = BoostedFeatureMap(forest, evaluation_costs=0.4)
    options = {"max_depth": 3, "node_budget": [6.0, 1.0, 1.0]}
    model = ASTCRegressor(costs=[1.0, 2.0, 1.5], feature_map=feature_map, **options).fit(X, y)
    for cap in (None, *np.linspace(0, model.spend(X).max(), 5)):
        steps = [steps_that_charge_as_the_batch_does(model, row, cap) for row in X[:20]]
        if cap is None:
            assert all(each[-1].features == () and each[-1].cost >= 0.4 for each in steps)


@pytest.mark.parametrize("evaluation_costs", [0.0, 0.13])
@pytest.mark.parametrize("seed", range(3))
def test_caps_hold_and_values_not_acquired_are_never_read(data, seed, evaluation_costs):
    model, X = fitted(data, seed, evaluation_costs), data[0]
    for cap in (None, *np.linspace(0, model.spend(X).max(), 7)):
        expected = model.acquire(X, cap)
        assert cap is None or (expected.spend <= cap).all()
        for replacement in (np.nan, np.inf):
            replaced = model.acquire(np.where(expected.acquired, X, replacement), cap)
            for name in ("score", "acquired", "spend", "exit"):
                np.testing.assert_array_equal(getattr(replaced, name), getattr(expected, name))


def test_spend_is_the_paper_s_path_cost(data):
    X, y = data
    prices = [2.0, 1.0, 3.0, 0.5, 0.5, 4.0, 0.0, 1.5, 1.0, 1.0, 1.0, 1.0]
    forest = GradientBoostingRegressor(n_estimators=15, max_depth=2, random_state=0).fit(np.nan_to_num(X), y)
    feature_map = BoostedFeatureMap(forest, evaluation_costs=0.2)
    model = ASTCRegressor(costs=prices, feature_map=feature_map, node_budget=4.0).fit(X, y)
    batch = model.acquire(X)
    assert len(np.unique(batch.exit)) > 2
    for node in np.unique(batch.exit):
        weights = np.zeros((1, 15))
        weights[0, model.tree_.holds(node)] = 1.0
        expected = path_cost(weights, feature_map.reads.T.astype(int), prices, [0.2] * 15)
        np.testing.assert_allclose(batch.spend[batch.exit == node], expected)


def stump(column):
    return Tree([column, -1, -1], [0.5] * 3, [1, 0, 0], [2, 0, 0], [0.0, 0.0, 1.0])


def by_hand(evaluation_costs):
    """Return a model over trees of columns (0, 1), (1) and (2), one bought at each node of the path upwards."""
    both = Tree(
        [0, 1, 1, -1, -1, -1, -1], [0.5] * 7, [1, 3, 5, 0, 0, 0, 0], [2, 4, 6, 0, 0, 0, 0], [0, 0, 0, 0, 2, 1, 3]
    )
    forest = Forest.from_trees([both, stump(1), stump(2)], n_features=3)
    feature_map = BoostedFeatureMap(forest, evaluation_costs=evaluation_costs)
    model = ASTCRegressor(costs=[5.0, 7.0, 11.0], feature_map=feature_map).fit(np.eye(3), [1.0, 2.0, 3.0])
    ones, zero = np.ones, np.zeros(1)
    nodes = [
        LinearNode([0], ones((1, 1)), zero, ones(1), threshold=1.5, upper=1),
        LinearNode([1], ones((1, 2)), zero, ones(2), threshold=0.5, upper=2, lower=3),
        LinearNode([2], ones((1, 3)), zero, ones(3)),
        LinearNode([], ones((1, 2)), zero, ones(2)),
    ]
    model.tree_ = LinearTree(nodes, [0.0], feature_map.cost_model(model.cost_model_))
    return model


def test_an_evaluation_is_announced_with_the_next_columns():
    model = by_hand(evaluation_costs=[0.1, 0.2, 0.4])
    session = model.session()
    assert session.next() == Acquire((0, 1), 12.1)
    session.observe({0: 0.0, 1: 1.0})
    assert session.spend == 12.1
    step = session.next()  # tree 1 reads column 1 only, so it is passed without asking
    assert (step.features, step.cost, session.spend) == ((2,), pytest.approx(11.6), 12.1)
    session.observe({2: 1.0})
    assert session.next().prediction == 2.0 + 1.0 + 1.0
    assert session.spend == 23.7


def test_evaluations_count_against_the_cap():
    model = by_hand(evaluation_costs=[0.1, 0.2, 0.4])
    for cap, exit_ in ((12.0, -1), (12.1, 0), (12.2, 0), (12.3, 1), (23.6, 1), (23.7, 2)):
        stop = drive(model.session(cap), [0.0, 1.0, 1.0].__getitem__)
        assert (stop.exit, stop.reason) == (exit_, "done" if exit_ == 2 else "cap")
        assert model.acquire([[0.0, 1.0, 1.0]], cap).exit.tolist() == [exit_]


def test_evaluations_after_the_last_columns_are_a_step_without_features():
    model, row = by_hand(evaluation_costs=[0.1, 0.2, 0.4]), [0.0, 1.0, 1.0]
    session = model.session(12.5)
    assert session.next() == Acquire((0, 1), 12.1)
    session.observe({0: 0.0, 1: 1.0})
    step = session.next()
    assert (step.features, step.cost, session.spend) == ((), pytest.approx(0.2), 12.1)
    session.observe({})
    assert (session.next().exit, session.spend) == (1, 12.3)
    assert model.spend([row], 12.5).tolist() == [12.3]


def test_evaluations_after_the_last_columns_are_in_the_spend():
    session, stop, asked, account = conversation(by_hand([0.1, 0.2, 0.4]), [0.0, 1.0, 1.0], 12.5)
    assert (stop.exit, asked, account[0][0], session.spend) == (1, [0, 1], 12.1, 12.3)
    np.testing.assert_allclose(account, [[12.1, 12.1], [12.3, 12.3]])


def test_purchases_and_supports_of_nodes_are_columns():
    model = by_hand(0.0)
    yes, no = True, False
    assert model.node_purchases().tolist() == [[yes, yes, no], [no, no, no], [no, no, yes], [no, no, no]]
    assert model.node_supports().tolist() == [[yes, yes, no], [yes, yes, no], [yes, yes, yes], [yes, yes, no]]
    assert model.acquire([[0.0, 0.0, np.nan], [0.0, 1.0, 1.0]]).acquired.tolist() == [[yes, yes, no], [yes, yes, yes]]


def test_unavailable_values_are_filled_with_column_means(data):
    X, y = data
    weight = np.random.default_rng(3).integers(1, 4, size=len(X)).astype(float)
    means = np.array([np.average(x[~np.isnan(x)], weights=weight[~np.isnan(x)]) for x in X.T])
    filled = np.where(np.isnan(X), means, X)
    forest = GradientBoostingRegressor(**small).fit(filled, y, weight)
    incomplete, complete = (ASTCRegressor(feature_map=forest).fit(rows, y, weight) for rows in (X, filled))
    np.testing.assert_allclose(incomplete.predict(X), complete.predict(filled), rtol=1e-9)
    nothing = incomplete.acquire(np.full((1, N_FEATURES), np.nan))
    assert drive(incomplete.session(), lambda j: None).score == nothing.score[0]


def test_an_infinity_that_was_bought_is_refused(data):
    X, y = data
    model = ASTCRegressor(feature_map=GradientBoostingRegressor(**small)).fit(X, y)
    row = X[:2].copy()
    column = int(np.flatnonzero(model.acquire(row).acquired[1])[0])
    row[1, column] = -np.inf
    with pytest.raises(ValueError, match=f"row 1 acquires {column}, which is -inf"):
        model.acquire(row)
    with pytest.raises(SessionError):
        drive(model.session(), row[1].__getitem__)


def test_rows_are_mapped_in_blocks(data, monkeypatch):
    model, X = fitted(data, 0, 0.1), data[0]
    at_once = model.acquire(X)
    monkeypatch.setattr(mapped, "CELLS_AT_ONCE", 500)
    in_blocks = model.acquire(X)
    for name in ("score", "acquired", "spend", "exit"):
        np.testing.assert_array_equal(getattr(in_blocks, name), getattr(at_once, name))


def test_single_precision_rows_take_the_same_paths(data):
    model, X = fitted(data, 1, 0.0), data[0].astype(np.float32)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.astype(np.float64)))


def test_every_way_to_pass_a_forest(data):
    X, y = np.nan_to_num(data[0]), data[1]
    forest = GradientBoostingRegressor(**small).fit(X, y)
    ways = [forest, clone(forest), Forest.from_model(forest), BoostedFeatureMap(forest)]
    first, *others = (ASTCRegressor(feature_map=way).fit(X, y).predict(X) for way in ways)
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_an_unfitted_forest_stays_unfitted_and_is_fitted_in_each_fold(data):
    X, y = data
    forest = GradientBoostingRegressor(n_estimators=60, random_state=0).fit(np.nan_to_num(X), y)
    model = ASTCRegressor(feature_map=forest, max_depth=1)
    fitted_on_all = ASTCRegressor(feature_map=BoostedFeatureMap(forest), max_depth=1)  # clones share this map
    held_out, leaked = (cross_val_score(each, X, y, cv=3).mean() for each in (model, fitted_on_all))
    assert 0.2 < held_out < leaked - 0.2
    copied = clone(model)
    with pytest.raises(NotFittedError):
        Forest.from_model(copied.feature_map)
    copied.fit(X[:100], y[:100])
    with pytest.raises(NotFittedError):
        Forest.from_model(copied.feature_map)
    assert copied.feature_map_.forest.n_trees == 60


def test_sessions_use_names_and_names_are_compared(data):
    names = [f"column {j}" for j in range(N_FEATURES)]
    frame, y = pd.DataFrame(data[0], columns=names), data[1]
    forest = lightgbm.LGBMRegressor(n_estimators=5, num_leaves=4, verbose=-1, n_jobs=1).fit(frame, y)
    model = ASTCRegressor(feature_map=forest).fit(frame, y)
    assert set(model.session().next().features) <= set(names)
    with pytest.raises(ValueError, match=r"fitted with column 'column_0' where X has 'column 11'"):
        ASTCRegressor(feature_map=forest).fit(frame[names[::-1]], y)


@pytest.mark.parametrize("feature_map", [LinearRegression(), "trees", 3])
def test_anything_that_is_not_a_forest_is_refused(data, feature_map):
    with pytest.raises(TypeError, match=r"ASTCRegressor: feature_map cannot be used\. .* is not a forest"):
        ASTCRegressor(feature_map=feature_map).fit(*data)


def test_a_forest_on_other_columns_is_refused(data):
    X, y = data
    forest = GradientBoostingRegressor(**small).fit(np.nan_to_num(X[:, :5]), y)
    with pytest.raises(ValueError, match="fitted on 5 columns but X has 12"):
        ASTCRegressor(feature_map=forest).fit(X, y)
