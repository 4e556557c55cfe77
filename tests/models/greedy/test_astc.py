"""ASTC compared with a plain transcription of its paper, and behaviour that the paper does not specify."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split

from reference import astc as reference
from thrifty import ASTCClassifier, ASTCRegressor, BoostedFeatureMap, CostModel
from thrifty.datasets import load_heart, make_ltr, make_quadrants
from thrifty.metrics import cost_curve
from thrifty.models.greedy.astc import growth_rules
from thrifty.models.greedy.order_statistics import OrderStatistics, ordered
from thrifty.models.greedy.splits import median_split
from thrifty.models.homes import Here
from thrifty.models.least_squares.node_rows import Members


def regression(seed, n=400, d=14, noise=2.0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) @ (np.eye(d) + 0.4 * random.normal(size=(d, d)))
    X = X * random.uniform(0.1, 30, d) + random.uniform(-50, 50, d)
    y = (X - X.mean(0)) / X.std(0) @ random.normal(size=d)
    return X, y + 1.5 * np.abs(X[:, 0] - X[:, 0].mean()) / X[:, 0].std() + noise * random.normal(size=n)


def bundled(d, seed):
    random = np.random.default_rng(seed)
    prices = np.round(random.uniform(0, 4, d), 1)
    return CostModel(prices, bundles={"a": (range(3), 3.0), "b": (range(2, 7), 5.5), "c": ([9], 1.0)})


def compare(model, nodes, X, costs):
    """Compare a fitted regressor with the reference tree, node by node and row by row."""
    places = sorted(nodes)
    assert model.tree_.n_nodes == len(places)
    path_cost = {}
    for k, place in enumerate(places):
        node, report = nodes[place], model.nodes_[k]
        assert list(report.features) == node["selected"]
        assert list(report.bought) == node["bought"]
        path_cost[place] = model.tree_.path_cost[k]
        if "theta" in node:
            assert model.tree_.threshold[k] == pytest.approx(node["theta"], rel=1e-6)
    acquisition = model.acquire(X)
    for i, x in enumerate(X[:100]):
        if is_on_a_threshold(x, nodes):
            continue  # rounding decides where it goes
        place, score = reference.predict_row(x, nodes, path_cost)
        assert acquisition.exit[i] == places.index(place)
        assert acquisition.score[i] == pytest.approx(score[0], rel=1e-6, abs=1e-6)


def is_on_a_threshold(x, nodes):
    """Tell whether the score of a row at any node is its threshold up to rounding, as a median may be."""
    splits = [node for node in nodes.values() if "theta" in node]
    scores = [(x[node["selected"]] @ node["beta"] + node["intercept"])[0] for node in splits]
    return np.isclose(scores, [node["theta"] for node in splits], rtol=1e-9, atol=1e-9).any()


@pytest.mark.parametrize("overflow", ["stop", "skip"])
@pytest.mark.parametrize("budget", [2.0, 6.0, [9.0, 1.0, 4.0], list(range(7))])
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_paper(seed, budget, overflow):
    X, y = regression(seed)
    costs = bundled(X.shape[1], seed)
    model = ASTCRegressor(costs=costs, max_depth=3, node_budget=budget, overflow=overflow, min_samples_leaf=5).fit(X, y)
    nodes = reference.grow(
        X,
        y[:, None],
        np.ones(len(X)),
        costs.requirement,
        costs.unit_costs,
        [growth_rules(model, costs).node_budget_at(place) for place in range(7)],
        overflow=overflow,
        min_rows=5,
    )
    compare(model, nodes, X, costs)


@pytest.mark.parametrize("seed", range(3))
def test_soft_trees_equal_the_paper(seed):
    X, y = regression(seed, n=200, d=8)
    costs = CostModel(np.arange(1.0, 9.0))
    model = ASTCRegressor(costs=costs, max_depth=3, node_budget=4, soft=True).fit(X, y)
    budgets = np.full(7, 4.0)
    weight = np.ones(len(X))
    nodes = reference.grow(X, y[:, None], weight, costs.requirement, costs.unit_costs, budgets, min_rows=20, soft=True)
    compare(model, nodes, X, costs)


@pytest.mark.parametrize("evaluation_costs", [0.0, 0.4])
def test_boosted_features_equal_the_paper_on_the_outputs_of_the_trees(evaluation_costs):
    X, y = regression(3)
    forest = GradientBoostingRegressor(n_estimators=12, max_depth=2, random_state=0).fit(X, y)
    trees = BoostedFeatureMap(forest, evaluation_costs=evaluation_costs)
    raw = bundled(X.shape[1], 3)
    model = ASTCRegressor(costs=raw, max_depth=3, node_budget=12, min_samples_leaf=5, feature_map=trees).fit(X, y)
    costs, outputs = trees.cost_model(raw), trees.transform(X)
    weight, budgets = np.ones(len(X)), np.full(7, 12.0)
    nodes = reference.grow(outputs, y[:, None], weight, costs.requirement, costs.unit_costs, budgets, min_rows=5)
    assert len(nodes) == 7
    for k, place in enumerate(sorted(nodes)):
        assert list(model.nodes_[k].features) == nodes[place]["selected"]
        columns = trees.reads[nodes[place]["selected"]].any(axis=0)
        np.testing.assert_array_equal(model.node_supports()[k], columns)
    bought = raw.of(model.acquire(X).acquired)
    n_trees = np.array([len(model.tree_.holds(node)) for node in model.acquire(X).exit])
    np.testing.assert_allclose(model.spend(X), bought + evaluation_costs * n_trees)


def test_weighted_fits_equal_the_paper():
    X, y = regression(7)
    weight = np.random.default_rng(0).integers(1, 5, len(X)).astype(float)
    costs = bundled(X.shape[1], 7)
    model = ASTCRegressor(costs=costs, max_depth=3, node_budget=5, min_samples_leaf=5).fit(X, y, weight)
    nodes = reference.grow(X, y[:, None], weight, costs.requirement, costs.unit_costs, np.full(7, 5.0), min_rows=5)
    compare(model, nodes, X, costs)


@pytest.mark.parametrize("n_features", [30, 400])
def test_single_columns_and_full_products_select_the_same_features(n_features, monkeypatch):
    X, y = regression(1, n=3500, d=n_features)
    fits = []
    for passes in (0, 24, 10_000):  # never the full product, the usual mix, always
        monkeypatch.setattr("thrifty.models.least_squares.moments.PASSES_PER_PRODUCT", passes)
        fits.append(ASTCRegressor(max_depth=4, node_budget=7).fit(X, y))
    for other in fits[1:]:
        assert [n.features for n in other.nodes_] == [n.features for n in fits[0].nodes_]
        np.testing.assert_allclose(other.predict(X), fits[0].predict(X), rtol=1e-6, atol=1e-6)


def test_shared_selection_over_classes_equals_the_reference():
    X, digits = load_digits(return_X_y=True)
    X, digits = X[:500], digits[:500]
    model = ASTCClassifier(max_depth=1, node_budget=6).fit(X, digits)
    Y = np.eye(10)[digits]
    selected, *_ = reference.node_features(
        X, Y, np.ones(len(X)), [], (), np.eye(64, dtype=bool), np.ones(64), 6, "stop", 1e-4
    )
    assert list(model.nodes_[0].features) == selected


def test_single_precision_gives_the_same_tree():
    X, y = regression(2, n=1000)
    X = X.astype(np.float32)
    single, double = (ASTCRegressor(max_depth=3, node_budget=3).fit(Z, y) for Z in (X, X.astype(float)))
    assert [n.features for n in single.nodes_] == [n.features for n in double.nodes_]
    np.testing.assert_array_equal(single.predict(X), double.predict(X.astype(float)))


def test_quadrants_are_predicted_perfectly_at_the_least_possible_cost():
    data = make_quadrants(4000, random_state=0)
    model = ASTCRegressor(costs=data.costs, max_depth=3, node_budget=[1, 1, 10]).fit(data.X, data.y)
    acquisition = model.acquire(data.X)
    np.testing.assert_array_equal(acquisition.spend, 12)
    np.testing.assert_allclose(acquisition.prediction, data.y, atol=1e-8)


def test_a_paid_bundle_serves_its_other_members_for_free():
    X, y = regression(3, d=6)
    costs = CostModel([None] * 6, bundles={"panel": (range(6), 7.0)})
    model = ASTCRegressor(costs=costs, max_depth=1, node_budget=7, min_gain=0).fit(X, y)
    assert model.nodes_[0].spend == 7
    assert len(model.nodes_[0].features) == 6
    larger_min_gain = ASTCRegressor(costs=costs, max_depth=1, node_budget=7, min_gain=0.05).fit(X, y)
    assert 1 <= len(larger_min_gain.nodes_[0].features) < 6


def test_ties_go_to_the_lowest_index_and_copies_are_skipped():
    X, y = regression(4, d=3)
    model = ASTCRegressor(max_depth=1, node_budget=9).fit(np.column_stack([X, X]), y)
    assert sorted(model.nodes_[0].features) == [0, 1, 2]
    combined = ASTCRegressor(max_depth=1, node_budget=9).fit(np.column_stack([X, X @ [1, 2, 3]]), y)
    assert len(combined.nodes_[0].features) == 3
    first = ASTCRegressor(max_depth=1, node_budget=1).fit(np.column_stack([X[:, 0]] * 5), y)
    assert first.nodes_[0].features == (0,)


def test_scaling_and_shifting_columns_changes_nothing():
    X, y = regression(5)
    plain = ASTCRegressor(max_depth=3, node_budget=2).fit(X, y)
    moved = ASTCRegressor(max_depth=3, node_budget=2).fit(X * 1e-3 + 1e3, y)
    assert [n.features for n in moved.nodes_] == [n.features for n in plain.nodes_]
    np.testing.assert_allclose(moved.predict(X * 1e-3 + 1e3), plain.predict(X), rtol=1e-5, atol=1e-5)


def test_two_valued_scores_move_the_threshold_to_where_it_splits():
    x = np.repeat([0.0, 1.0], [60, 40])
    y = x + np.random.default_rng(0).normal(scale=0.1, size=100)
    model = ASTCRegressor(max_depth=2).fit(x[:, None], y)
    assert [n.n_samples for n in model.nodes_] == [100, 40, 60]
    assert ASTCRegressor(max_depth=2, min_samples_leaf=41).fit(x[:, None], y).tree_.n_nodes == 1


def test_rounding_does_not_divide_rows_with_equal_projections():
    """Column 0 is a function of the class, so the weights of column 1 cancel out in the projection."""
    classes = np.repeat(np.arange(5), 60)
    X = np.column_stack([np.array([0.0, 3.0, 7.0, 9.0, 250.0])[classes], np.random.default_rng(1).normal(size=300)])
    model = ASTCClassifier(max_depth=2, node_budget=2).fit(X, classes)
    assert model.nodes_[0].features == (0, 1)
    assert [node.n_samples for node in model.nodes_] == [300, 120, 180]


def test_children_get_half_of_the_rows():
    X, y = regression(6, n=800)
    model = ASTCRegressor(max_depth=4, node_budget=2).fit(X, y)
    assert [n.n_samples for n in model.nodes_] == [800, *[400] * 2, *[200] * 4, *[100] * 8]


def test_an_unlimited_single_node_is_ordinary_least_squares():
    X, y = regression(8)
    model = ASTCRegressor(max_depth=1, node_budget=1e9).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-8)
    flat = ASTCRegressor(max_depth=1, node_budget=1e9, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(
        flat.predict(X), LinearRegression(fit_intercept=False).fit(X, y).predict(X), rtol=1e-6, atol=1e-6
    )


def test_node_reports_describe_the_nodes():
    X, y = regression(9)
    model = ASTCRegressor(max_depth=2, node_budget=4).fit(X, y)
    root = model.nodes_[0]
    selected = X[:, root.features]
    assert root.r2 == pytest.approx(LinearRegression().fit(selected, y).score(selected, y))
    assert (root.spend, root.depth, root.n_samples) == (4, 0, 400)


def test_probabilities_are_calibrated():
    """Better than the prior, and better than reading the least-squares score as a probability."""
    heart = load_heart()
    losses = {"calibrated": [], "raw": [], "prior": []}
    for seed in range(10):
        X, X_test, y, y_test = train_test_split(heart.X, heart.y, test_size=0.4, random_state=seed, stratify=heart.y)
        model = ASTCClassifier(costs=heart.costs, max_depth=3, node_budget=20).fit(X, y)
        raw = ASTCRegressor(costs=heart.costs, max_depth=3, node_budget=20).fit(X, 2.0 * y - 1)
        losses["calibrated"].append(log_loss(y_test, model.predict_proba(X_test)))
        losses["raw"].append(log_loss(y_test, np.clip((1 + raw.predict(X_test)) / 2, 1e-3, 1 - 1e-3)))
        losses["prior"].append(log_loss(y_test, np.full(len(y_test), y.mean())))
    means = {name: np.mean(values) for name, values in losses.items()}
    assert means["calibrated"] < means["raw"]
    assert means["calibrated"] < 0.85 * means["prior"]


def test_a_capped_classifier_stays_calibrated():
    heart = load_heart()
    model = ASTCClassifier(costs=heart.costs, max_depth=4, node_budget=20).fit(heart.X, heart.y)
    for cap in (0, 1, 3, 20, 50):
        assert brier_score_loss(heart.y, model.predict_proba(heart.X, cap)[:, 1]) < 0.25


def test_missing_values_are_filled_with_the_mean_at_fit_and_at_predict():
    X, y = regression(10)
    missing = np.random.default_rng(0).random(X.shape) < 0.1
    incomplete = np.where(missing, np.nan, X)
    filled = np.where(missing, np.nanmean(incomplete, axis=0), incomplete)
    first, second = (ASTCRegressor(max_depth=3, node_budget=3).fit(Z, y) for Z in (incomplete, filled))
    np.testing.assert_allclose(first.predict(incomplete), second.predict(filled), rtol=1e-9)


def test_infinity_is_refused_where_it_is_acquired_and_only_there():
    X, y = regression(11)
    model = ASTCRegressor(max_depth=1, node_budget=2).fit(X, y)
    bought = list(model.nodes_[0].features)
    assert np.isfinite(model.predict(np.where(np.isin(np.arange(X.shape[1]), bought), X, np.inf))).all()
    X[3, bought[1]] = np.inf
    with pytest.raises(ValueError, match=rf"ASTCRegressor: row 3 acquires {bought[1]}, which is inf"):
        model.predict(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": 0}, "max_depth is 0; expected a whole number of levels, at least 1"),
        ({"max_depth": 2.5}, "max_depth is 2.5"),
        ({"max_depth": True}, "max_depth is True"),
        ({"soft": "no"}, "soft is 'no'; expected True or False"),
        ({"compute_guarantee": 1}, "compute_guarantee is 1; expected True or False"),
        ({"overflow": "pad"}, "overflow is 'pad'; expected 'stop' or 'skip'"),
        ({"min_gain": -1}, "min_gain is -1; expected a number of at least 0"),
        ({"min_samples_leaf": "few"}, "min_samples_leaf is 'few'"),
        ({"node_budget": -2}, "node_budget is -2"),
        (
            {"node_budget": [1, 2]},
            r"node_budget is \[1, 2\]; .* one per depth \(5\), or one per node .* \(31\)",
        ),
        ({"node_budget": "lots"}, "node_budget is 'lots'"),
        ({"costs": [1, 2]}, "ASTCRegressor: costs has 2 entries but X has 14 features"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        ASTCRegressor(**parameters).fit(*regression(0))


@pytest.mark.parametrize(
    ("cap", "message"),
    [
        ([1.0, 2.0], r"cap has shape \(2,\); expected one number, or one for each of the 400 rows"),
        ("all", "cap is 'all'; expected a limit of at least 0"),
        (np.r_[np.ones(399), -2.0], "cap is -2.0; expected a limit of at least 0"),
        (float("nan"), "cap is .*nan.*; expected a limit"),
    ],
)
def test_bad_caps_are_named(cap, message):
    X, y = regression(0)
    with pytest.raises(ValueError, match=f"ASTCRegressor: {message}"):
        ASTCRegressor().fit(X, y).predict(X, cap=cap)


def test_a_cap_in_single_precision_is_read_as_its_decimal_value():
    X, y = regression(0, d=2)
    model = ASTCRegressor(costs=[0.7, 5.0], max_depth=1, node_budget=0.7).fit(X, y)
    np.testing.assert_array_equal(model.spend(X, cap=np.float32(0.7)), 0.7)


def test_rows_of_distant_groups_are_fitted_accurately():
    random = np.random.default_rng(0)
    group = random.integers(0, 2, 2000)
    within = random.normal(size=2000)
    X = np.column_stack([group, 1e6 * group + within])
    y = np.where(group, 5 + within, -5 - within) + 0.1 * random.normal(size=2000)
    model = ASTCRegressor(max_depth=2, node_budget=1).fit(X, y)
    assert min(report.r2 for report in model.nodes_[1:]) > 0.7


def test_neighbouring_floats_are_split():
    low = np.nextafter(1.0, 2.0)
    values = np.array([low, np.nextafter(low, 2.0)])
    threshold = median_split(OrderStatistics(Here(ordered(Members(np.arange(2), np.ones(2)), values))), 1)
    assert low <= threshold < np.nextafter(low, 2.0)


def test_weights_equal_repetition_for_several_classes():
    for seed in range(12):
        random = np.random.default_rng(seed)
        X = random.normal(size=(150, 4))
        y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
        count = random.integers(1, 4, 150)
        weighted = ASTCClassifier().fit(X, y, count).acquire(X)
        repeated = ASTCClassifier().fit(np.repeat(X, count, axis=0), np.repeat(y, count)).acquire(X)
        np.testing.assert_allclose(weighted.score, repeated.score, rtol=1e-6, atol=1e-6)


def test_a_failed_fit_leaves_no_half_fitted_model():
    X, y = regression(0)
    model = ASTCClassifier()
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(400))
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y > 0)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(400))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("max_depth", [1, 3])
def test_queries_are_scored_as_a_cost_curve_scores_them(max_depth):
    train, test = (make_ltr(60, 12, 30, random_state=seed) for seed in (0, 1))
    model = ASTCRegressor(costs=train.costs, max_depth=max_depth, node_budget=60.0).fit(train.X, train.y, qid=train.qid)
    curve = cost_curve(model, test.X, test.y, scoring="ndcg@5", qid=test.qid)
    assert model.score(test.X, test.y, qid=test.qid) == curve.score[0]
    assert model.spend(test.X, qid=test.qid).mean() == curve.spend[0] > 0
    assert model.score(test.X, test.y) != curve.score[0]  # R² without queries
