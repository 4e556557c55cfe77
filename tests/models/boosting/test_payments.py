"""What rounds of boosting pay for: bags, rejected rounds, budgets and rising prices."""

import numpy as np
import pytest
from sklearn.base import clone

from thrifty import CostModel, GreedyMiserClassifier, GreedyMiserRegressor

PRICES = np.array([1.0, 2.5, 0.0, 4.0, 0.7, 3.0, 0.2, 8.0])
BUNDLES = {"panel": ((1, 3), 2.0), "scan": ((4, 5), 6.0)}


def problem(seed, n=300):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, len(PRICES)))
    y = X[:, 0] + np.sign(X[:, 1]) * X[:, 3] + 0.5 * X[:, 4] + 0.3 * X[:, 7] + random.normal(scale=0.5, size=n)
    return X, y


def columns_read(model):
    return np.flatnonzero(model.forest_.reads.any(axis=0)).tolist()


# Bags


@pytest.mark.parametrize("charge", ["ensemble", "row"])
@pytest.mark.parametrize("seed", range(3))
def test_without_a_cost_weight_prices_do_not_matter(charge, seed):
    X, y = problem(seed)
    options = {"cost_weight": 0, "charge": charge, "subsample": 0.3, "n_estimators": 10, "random_state": seed}
    uniform = GreedyMiserRegressor(**options).fit(X, y)
    for costs in (PRICES, 100 * PRICES, CostModel(PRICES, bundles=BUNDLES), np.zeros(len(PRICES))):
        model = GreedyMiserRegressor(costs=costs, **options).fit(X, y)
        np.testing.assert_array_equal(model.forest_.feature, uniform.forest_.feature)
        np.testing.assert_array_equal(model.predict(X), uniform.predict(X))


def test_a_very_small_cost_weight_equals_none():
    X, y = problem(0)
    options = {"costs": PRICES, "subsample": 0.3, "n_estimators": 10, "random_state": 0}
    none, tiny = (GreedyMiserRegressor(cost_weight=weight, **options).fit(X, y) for weight in (0, 1e-12))
    np.testing.assert_array_equal(tiny.predict(X), none.predict(X))


def test_bags_do_not_buy_columns_of_noise():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 40))
    y = X[:, 0] + random.normal(size=2000)
    options = {"cost_weight": 1e-3, "charge": "row", "n_estimators": 60, "random_state": 0}
    whole, bags = (GreedyMiserRegressor(subsample=share, **options).fit(X, y) for share in (1.0, 0.2))
    assert bags.spend(X).mean() <= whole.spend(X).mean()
    assert len(bags.features_) < len(whole.features_)


# Rejected rounds


@pytest.mark.parametrize("charge", ["ensemble", "row"])
@pytest.mark.parametrize("draws", [{"max_features": 0.3}, {"max_features": 0.3, "subsample": 0.6}])
@pytest.mark.parametrize("seed", range(3))
def test_a_rejected_round_gives_back_what_it_bought(charge, draws, seed):
    X, y = problem(seed)
    options = {"cost_weight": 5e-3, "evaluation_cost": 2.0, "n_estimators": 60, "random_state": seed, **draws}
    model = GreedyMiserRegressor(costs=PRICES, charge=charge, **options).fit(X, y)
    assert 0 < model.n_iter_ < 60  # some rounds were rejected
    assert model.features_.tolist() == columns_read(model)
    record = model.history_
    assert record["n_features"][-1] == len(model.features_)
    bought = CostModel(PRICES).of(np.isin(np.arange(len(PRICES)), model.features_))
    assert record["cost"][-1] == pytest.approx(bought + 2.0 * model.n_iter_)
    assert record["spend"][-1] == pytest.approx(model.spend(X).mean())


@pytest.mark.parametrize("seed", range(3))
def test_rejected_rounds_do_not_use_up_the_budget(seed):
    X, y = problem(seed)
    model = GreedyMiserRegressor(
        costs=PRICES, cost_weight=5e-3, evaluation_cost=1.0, n_estimators=200, max_features=0.3, random_state=seed
    ).fit(X, y)
    enough = model.history_["cost"][-1] + PRICES.sum() + 1  # for the whole model and one further round
    bounded = clone(model).set_params(budget=enough).fit(X, y)
    assert enough < 200  # what evaluating all 200 rounds would cost
    np.testing.assert_array_equal(bounded.predict(X), model.predict(X))


@pytest.mark.parametrize("seed", range(4))
def test_lookahead_keeps_only_features_that_trees_read(seed):
    X, y = problem(seed)
    options = {"lookahead": True, "cost_weight": 2e-3, "n_estimators": 15, "max_features": 0.6, "random_state": seed}
    model = GreedyMiserRegressor(costs=PRICES, evaluation_cost=0.3, **options).fit(X, y)
    assert model.features_.tolist() == columns_read(model)
    bought = CostModel(PRICES).of(np.isin(np.arange(len(PRICES)), model.features_))
    assert model.history_["cost"][-1] == pytest.approx(bought + 0.3 * model.n_iter_)


# Budgets


@pytest.mark.parametrize("subsample", [0.3, 0.6])
@pytest.mark.parametrize("budget", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_budget_by_row_holds_on_all_training_rows(subsample, budget, seed):
    X, y = problem(seed, n=150)
    weight = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float)
    costs = CostModel(PRICES, bundles=BUNDLES)
    options = {"charge": "row", "cost_weight": 1e-6, "n_estimators": 20, "min_samples_leaf": 5, "random_state": seed}
    model = GreedyMiserRegressor(costs=costs, budget=budget, subsample=subsample, **options).fit(X, y, weight)
    spend = np.average(model.spend(X), weights=weight)
    assert 0.5 * budget < spend <= budget * (1 + 1e-12)
    assert spend == pytest.approx(model.history_["spend"][-1])


def test_held_out_rows_are_not_part_of_the_budget():
    X, y = problem(0)
    far = X + 100.0  # held-out rows that all take one path
    options = {"costs": PRICES, "charge": "row", "budget": 2.0, "cost_weight": 1e-6, "n_estimators": 10}
    alone = GreedyMiserRegressor(subsample=0.5, random_state=0, **options).fit(X, y)
    beside = GreedyMiserRegressor(subsample=0.5, random_state=0, **options).path(X, y, validation=(far, y))[-1]
    np.testing.assert_array_equal(beside.forest_.feature, alone.forest_.feature)


# Rising prices


def uses_while_the_price_rises(seed, **options):
    """Return how often trees split on column 3, for prices from 0 to a price at which it is never bought."""
    X, y = problem(seed, n=120)
    options |= {"cost_weight": 5e-4, "n_estimators": 6, "max_depth": 3, "min_samples_leaf": 5, "random_state": seed}
    counts = []
    for price in np.linspace(0, 12, 61).round(2):
        costs = np.where(np.arange(len(PRICES)) == 3, price, PRICES)
        model = GreedyMiserRegressor(costs=costs, **options).fit(X, y)
        counts.append(int((model.forest_.feature == 3).sum()))
    return np.array(counts)


@pytest.mark.parametrize("charge", ["ensemble", "row"])
@pytest.mark.parametrize("draws", [{}, {"subsample": 0.6}, {"budget": 6.0}], ids=str)
@pytest.mark.parametrize("seed", [0, 3])
def test_a_feature_that_is_not_used_stays_unused_if_its_price_rises(charge, draws, seed):
    counts = uses_while_the_price_rises(seed, charge=charge, **draws)
    assert counts[0] > 0 == counts[-1]
    unused = np.flatnonzero(counts == 0)
    assert (counts[unused[0] :] == 0).all()


def test_a_feature_that_is_used_can_be_used_more_often_if_its_price_rises():
    assert np.diff(uses_while_the_price_rises(4, charge="row")).max() > 0


# Leaves


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_every_leaf_has_at_least_min_samples_leaf_rows(n_classes, subsample):
    X, y = problem(0, n=400)
    classes = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
    model = GreedyMiserClassifier(
        cost_weight=0, n_estimators=60, learning_rate=0.3, max_depth=6, subsample=subsample, random_state=0
    ).fit(X, classes)
    assert min(leaf_sizes(model.forest_, X)) >= 20  # the bag is a part of all rows
    assert min(leaf_sizes(model.forest_, X)) < 40  # splits are not much rarer than they need to be


def leaf_sizes(forest, X):
    """Return the number of rows in each leaf of each tree."""
    sizes = []
    for start in forest.starts:
        at = np.full(len(X), start)
        while (inner := forest.feature[at] >= 0).any():
            rows = np.flatnonzero(inner)
            left = X[rows, forest.feature[at[rows]]] <= forest.threshold[at[rows]]
            at[rows] = np.where(left, forest.left[at[rows]], forest.right[at[rows]])
        sizes += np.unique(at, return_counts=True)[1].tolist()
    return sizes


def test_a_row_of_weight_two_counts_as_two_rows_of_a_leaf():
    X, y = np.arange(40.0)[:, None], np.repeat([0.0, 1.0], [8, 32])
    options = {"cost_weight": 0, "n_estimators": 1, "max_depth": 1, "min_samples_leaf": 16, "learning_rate": 1.0}
    once, twice = (GreedyMiserRegressor(**options).fit(X, y, np.full(40, weight)) for weight in (1.0, 2.0))
    assert sorted(leaf_sizes(once.forest_, X)) == [16, 24]
    assert sorted(leaf_sizes(twice.forest_, X)) == [8, 32]
