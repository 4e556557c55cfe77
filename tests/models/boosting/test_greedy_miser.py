"""The Greedy Miser is compared with an exhaustive search, and its documented properties are tested."""

import numpy as np
import pytest

from reference import greedy_miser as reference
from thrifty import CostModel, CSTCRegressor
from thrifty.datasets import make_ltr, make_quadrants
from thrifty.metrics import ndcg_at_k
from thrifty.models.boosting.greedy_miser import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor

PRICES = (1.0, 2.5, 0.0, 4.0, 0.7, 3.0)
BUNDLES = {"panel": ((1, 3), 2.0), "scan": ((4, 5), 6.0)}


def problem(seed, n=60, missing=0.0, classes=None):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(n, 6)), 2)
    y = X[:, 0] + np.sign(X[:, 1]) * X[:, 3] + 0.5 * X[:, 4] + random.normal(scale=0.3, size=n)
    X[random.random(X.shape) < missing] = np.nan
    weight = random.integers(1, 4, size=n).astype(float)
    return X, (y > 0).astype(int) if classes else y, weight


def nodes(forest, node=0):
    """Return the tree below a node of a forest in the nested form of the reference."""
    if forest.feature[node] < 0:
        return "leaf", forest.value[node, 0]
    split = int(forest.feature[node]), forest.threshold[node], bool(forest.missing_left[node])
    return "split", *split, nodes(forest, forest.left[node]), nodes(forest, forest.right[node])


def same_tree(ours, theirs, learning_rate):
    if theirs[0] == "leaf":
        return ours[0] == "leaf" and np.isclose(ours[1], learning_rate * theirs[1], rtol=1e-9, atol=1e-12)
    return (
        ours[0] == "split"
        and ours[1] == theirs[1]
        and np.isclose(ours[2], theirs[2])
        and ours[3] == theirs[3]
        and all(same_tree(a, b, learning_rate) for a, b in zip(ours[4:], theirs[4:], strict=True))
    )


@pytest.mark.parametrize("charge", ["ensemble", "row"])
@pytest.mark.parametrize(("loss", "cost_weight"), [("squared", 0.0), ("squared", 2e-3), ("logistic", 2e-3)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_every_split_is_the_best_one(charge, loss, cost_weight, missing, seed):
    X, y, weight = problem(seed, missing=missing, classes=loss == "logistic")
    costs = CostModel(PRICES, bundles=BUNDLES)
    estimator = GreedyMiserRegressor if loss == "squared" else GreedyMiserClassifier
    model = estimator(
        costs=costs,
        cost_weight=cost_weight,
        charge=charge,
        n_estimators=3,
        learning_rate=0.5,
        max_depth=3,
        min_samples_leaf=12,
    ).fit(X, y, sample_weight=weight)
    requires = [set(np.flatnonzero(line).tolist()) for line in costs.requirement]
    trees, staged, spend, bought = reference.boost(
        X.tolist(),
        y.tolist(),
        weight.tolist(),
        costs.unit_costs.tolist(),
        requires,
        loss=loss,
        charge=charge,
        cost_weight=cost_weight,
        learning_rate=0.5,
        n_rounds=3,
        max_depth=3,
        min_leaf=12,
    )
    forest = model.forest_
    for start, tree in zip(forest.starts, trees, strict=True):
        assert same_tree(nodes(forest, start), tree, 0.5)
    np.testing.assert_allclose(model.acquire(X).score, staged[-1], rtol=1e-9)
    np.testing.assert_allclose(model.spend(X), spend, rtol=1e-12)
    assert {u for j in model.features_ for u in requires[j]} == bought
    np.testing.assert_allclose(model.history_["spend"][-1], np.average(spend, weights=weight))


def depends_on_region(n=4000, seed=0):
    """Return rows whose target depends on A alone in one half, and slightly more on B than on A in the other half."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    region, a, b = X.T
    return X, np.where(region > 0, 10 + 10 * np.sign(a), -10 + np.sign(a) + 1.1 * np.sign(b))


def uses(model, feature):
    return int((model.forest_.feature == feature).sum())


@pytest.mark.parametrize("n_estimators", [1, 10])
def test_a_feature_of_one_region_is_used_less_as_its_price_rises(n_estimators):
    X, y = depends_on_region()
    counts = [
        uses(GreedyMiserRegressor(costs=[0, price, 0], n_estimators=n_estimators, max_depth=2).fit(X, y), 1)
        for price in (0, 0.1, 1, 3, 10, 30, 100)
    ]
    assert counts[0] > 0 == counts[-1]
    assert np.diff(counts).max() <= 0


@pytest.mark.parametrize("charge", ["ensemble", "row"])
def test_four_copies_of_every_row_change_nothing(charge):
    X, y, _ = problem(1, n=300)
    options = {"cost_weight": 1e-3, "n_estimators": 20, "charge": charge}
    once = GreedyMiserRegressor(min_samples_leaf=10, **options).fit(X, y)
    four = GreedyMiserRegressor(min_samples_leaf=40, **options).fit(np.tile(X, (4, 1)), np.tile(y, 4))
    np.testing.assert_array_equal(four.forest_.feature, once.forest_.feature)
    np.testing.assert_allclose(four.predict(X), once.predict(X))


def test_subsampling_hardly_changes_the_spend():
    X, y, _ = problem(2, n=3000)

    def spend(subsample):
        options = {"charge": "row", "cost_weight": 5e-3, "subsample": subsample}
        fits = [GreedyMiserRegressor(random_state=seed, **options).fit(X, y) for seed in range(3)]
        return np.mean([model.spend(X).mean() for model in fits])

    np.testing.assert_allclose([spend(0.6), spend(0.3)], spend(1.0), rtol=0.2)


def test_charging_rows_reduces_the_mean_spend():
    data = make_quadrants(2000, random_state=0)
    by_row = GreedyMiserRegressor(costs=data.costs, cost_weight=1e-6, charge="row").fit(data.X, data.y)
    assert by_row.score(data.X, data.y) > 0.999
    assert by_row.spend(data.X).mean() < 0.5 * data.costs.total


def test_a_purchase_makes_the_other_features_of_its_bundle_cheaper():
    X, y, _ = problem(3, n=400)
    bundled = CostModel([0.0] * 6, bundles={"all": (range(6), 1.0)})
    model = GreedyMiserRegressor(costs=bundled, cost_weight=1e-4, n_estimators=20).fit(X, y)
    apart = GreedyMiserRegressor(costs=[1.0] * 6, cost_weight=1e-2, n_estimators=20).fit(X, y)
    assert len(model.features_) == 6 > len(apart.features_)
    assert model.spend(X).max() == 1.0


@pytest.mark.parametrize("charge", ["ensemble", "row"])
@pytest.mark.parametrize("budget", [0.0, 2.5, 6.0])
def test_a_budget_holds(charge, budget):
    X, y, _ = problem(4, n=400)
    costs = CostModel(PRICES, bundles=BUNDLES)
    model = GreedyMiserRegressor(costs=costs, cost_weight=1e-6, charge=charge, budget=budget, n_estimators=30).fit(X, y)
    assert model.spend(X).mean() <= budget + 1e-9
    if charge == "ensemble":
        assert costs.of(np.isin(np.arange(6), model.features_)) <= budget


def test_evaluation_costs_end_boosting_and_are_charged():
    X, y, _ = problem(5, n=400)
    free = GreedyMiserRegressor(cost_weight=1e-3).fit(X, y)
    paid = GreedyMiserRegressor(cost_weight=1e-3, evaluation_cost=0.1).fit(X, y)
    assert 0 < paid.n_iter_ < free.n_iter_
    bought = paid.cost_model_.of(paid.acquire(X).acquired)
    np.testing.assert_allclose(paid.spend(X), bought + 0.1 * paid.n_iter_)
    np.testing.assert_allclose(paid.history_["spend"][-1], paid.spend(X).mean())
    within = GreedyMiserRegressor(cost_weight=1e-3, evaluation_cost=0.1, budget=4.0).fit(X, y)
    assert within.spend(X).max() <= 4.0


def test_lookahead_finds_features_that_a_single_split_misses():
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 3))
    y = np.sign(X[:, 0]) * np.sign(X[:, 1])
    X[:, 2] = X[:, 2] + 0.8 * y
    costs = [0.0, 1.0, 1.0]  # the second column is useless alone, but with the first it determines the target
    options = {"costs": costs, "budget": 1.0, "cost_weight": 1e-3, "n_estimators": 30}
    by_split = GreedyMiserRegressor(**options).fit(X, y)
    by_tree = GreedyMiserRegressor(lookahead=True, **options).fit(X, y)
    assert by_tree.features_.tolist() == [0, 1]
    assert by_tree.score(X, y) > by_split.score(X, y)


def test_the_best_iteration_is_kept_and_the_history_is_complete():
    X, y, _ = problem(6, n=300, classes=2)
    held, y_held, _ = problem(7, n=300, classes=2)
    model = GreedyMiserClassifier(cost_weight=0, n_estimators=60, learning_rate=1.0).fit(
        X, y, validation=(held, y_held)
    )
    record = model.history_
    assert model.n_iter_ == len(record["loss"]) == len(record["validation_score"])
    assert model.best_iteration_ == record["validation_score"].argmax() + 1 < model.n_iter_
    assert model.forest_.n_trees == model.best_iteration_
    loss = -np.log(model.predict_proba(held)[np.arange(300), y_held]).mean()
    np.testing.assert_allclose(loss, -record["validation_score"].max())
    np.testing.assert_allclose(model.spend(held).mean(), record["validation_spend"][model.best_iteration_ - 1])


def test_early_stopping_stops():
    X, y, _ = problem(6, n=300, classes=2)
    model = GreedyMiserClassifier(
        cost_weight=0, n_estimators=500, learning_rate=1.0, early_stopping=True, n_iter_no_change=5, random_state=0
    ).fit(X, y)
    assert model.n_iter_ == model.best_iteration_ + 5


def test_a_path_without_cost_weights_has_the_prefixes_of_one_fit():
    X, y, _ = problem(8, n=300)
    model = GreedyMiserRegressor(cost_weight=1e-3, n_estimators=12)
    path, whole = model.path(X, y), model.fit(X, y)
    assert [each.forest_.n_trees for each in path] == list(range(1, 13))
    np.testing.assert_array_equal(path[-1].predict(X), whole.predict(X))
    np.testing.assert_allclose([each.spend(X).mean() for each in path], whole.history_["spend"])


def test_a_path_over_cost_weights_equals_single_fits():
    X, y, _ = problem(9, n=300)
    template = GreedyMiserRegressor(n_estimators=10)
    for model in template.path(X, y, cost_weights=[1e-4, 1e-2]):
        alone = GreedyMiserRegressor(n_estimators=10, cost_weight=model.cost_weight).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def test_categories_are_split_as_sets():
    random = np.random.default_rng(0)
    category = random.integers(0, 12, size=1500).astype(float)
    y = np.isin(category, [1, 4, 5, 9]) * 3.0 + random.normal(scale=0.1, size=1500)
    category[:50] = np.nan
    options = {"n_estimators": 1, "learning_rate": 1.0, "max_depth": 1, "cost_weight": 0}
    model = GreedyMiserRegressor(categorical_features=[0], **options).fit(category[:, None], y)
    sides = {tuple(codes) for codes in model.forest_.categories.values()}
    assert sides in ({(1, 4, 5, 9)}, {(0, 2, 3, 6, 7, 8, 10, 11)})
    assert model.predict([[4.0]])[0] > 2.5 > 0.5 > model.predict([[3.0]])[0]
    assert np.isfinite(model.predict([[99.0], [np.nan]])).all()  # an unknown category, and a missing value


def test_ranking():
    data = make_ltr(60, 20, 30, random_state=0)
    held = make_ltr(60, 20, 30, random_state=1)
    model = GreedyMiserRanker(costs=data.costs, cost_weight=0).fit(data.X, data.y, qid=data.qid)
    constant = ndcg_at_k(held.y, np.zeros(len(held.y)), qid=held.qid, k=5)
    assert model.score(held.X, held.y, qid=held.qid) > constant + 0.04


def test_many_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4))
    y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + X[:, 1], [-1, 1])]
    model = GreedyMiserClassifier(cost_weight=1e-4, n_estimators=40).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.forest_.n_trees == 3 * model.n_iter_
    loss = -np.log(model.predict_proba(X)[np.arange(600), np.searchsorted(model.classes_, y)]).mean()
    np.testing.assert_allclose(loss, model.history_["loss"][-1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost_weight": -1}, "cost_weight is -1; expected a number of at least 0"),
        ({"charge": "tree"}, "charge is 'tree'; expected 'ensemble' or 'row'"),
        ({"n_estimators": 0}, "n_estimators is 0; expected a whole number of at least 1"),
        ({"learning_rate": 2}, "learning_rate is 2; expected a number above 0, up to 1"),
        ({"max_bins": 256}, "max_bins is 256; expected a whole number from 2 to 254"),
        ({"max_depth": 0}, "max_depth is 0; expected a whole number of at least 1, or None"),
        ({"scoring": "roc_auc"}, "scoring is 'roc_auc'; expected None for the loss"),
        ({"lookahead": "yes"}, "lookahead is 'yes'; expected True or False"),
        ({"lookahead": True, "charge": "row"}, "lookahead is True; expected False with charge='row'"),
        ({"categorical_features": ["colour"]}, "categorical_features is .'colour'.; expected names or positions"),
        ({"categorical_features": [0]}, "categorical feature 0 holds"),
        ({"budget": -1}, "budget is -1; expected a number of at least 0, or None"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match=f"GreedyMiserRegressor: {message}"):
        GreedyMiserRegressor(**parameters).fit(X - 5, y)


def test_leaves_larger_than_any_table_leave_no_split():
    X, y, _ = problem(0)
    assert GreedyMiserRegressor(min_samples_leaf=10**30).fit(X, y).features_.size == 0


def test_bad_labels_and_queries_are_named():
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match=r"GreedyMiserRanker: y holds -.*; expected relevance labels"):
        GreedyMiserRanker().fit(X, y - 10)
    with pytest.raises(ValueError, match="GreedyMiserRanker: qid has shape"):
        GreedyMiserRanker().fit(X, np.abs(y), qid=[1, 2])
    with pytest.raises(ValueError, match="validation is 7; expected a tuple"):
        GreedyMiserRegressor().fit(X, y, validation=7)


def test_trees_serve_as_features():
    X, y, _ = problem(10, n=300)
    trees = GreedyMiserRegressor(n_estimators=10, max_depth=2, cost_weight=0)
    model = CSTCRegressor(feature_map=trees, max_depth=2, cost_weight=1e-3).fit(X, y)
    assert model.score(X, y) > 0.5
    np.testing.assert_array_equal(model.feature_map_.forest.feature, trees.fit(X, y).forest_.feature)
