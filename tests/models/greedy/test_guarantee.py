"""The guarantee of a node, compared with the best set of features, which is found by trying all sets."""

from itertools import chain, combinations

import numpy as np
import pytest

from thrifty import ASTCClassifier, ASTCRegressor, CostModel


def explained(X, Y, features):
    """Return the share of the variance of the targets that a linear model of some features explains."""
    centred = Y - Y.mean(axis=0)
    if not len(features):
        return 0.0
    Z = X[:, features] - X[:, features].mean(axis=0)
    rest = centred - Z @ np.linalg.lstsq(Z, centred, rcond=None)[0]
    return 1 - (rest**2).sum() / (centred**2).sum()


def best_share(X, Y, prices, spend, held=()):
    """Return the largest explained share of the features held and further features that cost at most `spend`."""
    further = [j for j in range(X.shape[1]) if j not in held]
    subsets = chain.from_iterable(combinations(further, k) for k in range(len(further) + 1))
    affordable = (list(each) for each in subsets if prices[list(each)].sum() <= spend + 1e-9)
    return max(explained(X, Y, [*held, *each]) for each in affordable)


def problem(seed, d=5, n=60):
    """Return a problem whose columns are correlated to a random degree, with random prices and a random budget."""
    random = np.random.default_rng(seed)
    mixing = np.eye(d) + random.choice([0.0, 0.3, 1.0, 5.0]) * random.normal(size=(d, d))
    X = random.normal(size=(n, d)) @ mixing
    y = X @ (random.normal(size=d) * (random.random(d) < 0.7)) + random.choice([0.0, 1.0]) * random.normal(size=n)
    if random.random() < 0.2:
        X[:, 1] = X[:, 0] + 0.05 * y  # useful only together with the first column
    prices = random.integers(1, 6, size=d).astype(float)
    return X, y, prices, float(random.integers(1, 10))


@pytest.mark.parametrize("seed", range(0, 400, 40))
def test_no_set_of_the_same_cost_is_better_than_guaranteed(seed):
    shares = []
    for each in range(seed, seed + 40):
        X, y, prices, budget = problem(each)
        model = ASTCRegressor(costs=prices, max_depth=1, node_budget=budget, compute_guarantee=True).fit(X, y)
        root = model.nodes_[0]
        best = best_share(X, y[:, None], prices, root.spend)
        assert root.r2 >= root.guarantee * best - 1e-9
        shares.append(root.guarantee)
    assert 0 <= min(shares) < 0.1 < max(shares) < 1 - np.exp(-1) + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_children_are_compared_with_sets_that_contain_what_the_path_bought(seed):
    X, y, prices, budget = problem(seed, n=160)
    y = y + 3 * np.abs(X[:, 0])
    model = ASTCRegressor(costs=prices, max_depth=2, node_budget=budget, min_samples_leaf=30, compute_guarantee=True)
    exits = model.fit(X, y).acquire(X).exit
    for report in model.nodes_[1:]:
        here, held = exits == report.node, model.nodes_[0].bought
        best = best_share(X[here], y[here, None], prices, report.spend, held)
        before = explained(X[here], y[here, None], list(held))
        assert report.r2 - before >= report.guarantee * (best - before) - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_several_classes_share_one_guarantee(seed):
    X, y, prices, budget = problem(seed)
    classes = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    model = ASTCClassifier(costs=prices, max_depth=1, node_budget=budget, compute_guarantee=True).fit(X, classes)
    root = model.nodes_[0]
    assert root.r2 >= root.guarantee * best_share(X, np.eye(3)[classes], prices, root.spend) - 1e-9


def test_two_columns_that_are_useful_only_together():
    """Greedy selection buys two weak columns, although the difference of the other two is the target."""
    random = np.random.default_rng(0)
    y, u, *noise = random.normal(size=(4, 2000))
    X = np.column_stack([u + 0.05 * y, u, *(0.2 * y + each for each in noise)])
    root = ASTCRegressor(max_depth=1, node_budget=2, compute_guarantee=True).fit(X, y).nodes_[0]
    assert best_share(X, y[:, None], np.ones(4), 2) == pytest.approx(1.0)
    assert root.r2 < 0.1
    assert 0 < root.guarantee < root.r2


def test_gamma_is_the_smallest_eigenvalue_over_the_columns_that_the_node_could_have_bought():
    X, y, *_ = problem(3)
    prices = np.array([1.0, 1.0, 2.0, 1.0, 9.0])
    root = ASTCRegressor(costs=prices, max_depth=1, node_budget=2, compute_guarantee=True).fit(X, y).nodes_[0]
    assert root.spend == 2
    assert root.gamma == pytest.approx(np.linalg.eigvalsh(np.corrcoef(X[:, :4].T))[0])
    assert root.guarantee == pytest.approx(1 - np.exp(-root.gamma))


def test_gamma_does_not_depend_on_the_unit_of_the_prices():
    """The path of a child has spent 0.1, and the child spends 0.2, which is more than 0.3 - 0.1 in floating point."""
    X, y, *_ = problem(3, n=200)
    y = y + 50 * X[:, 0]
    gammas = []
    for scale in (10, 1, 0.1):
        prices, budgets = scale * np.array([1, 2, 2, 2, 2]), [scale, 2 * scale]
        model = ASTCRegressor(costs=prices, max_depth=2, node_budget=budgets, compute_guarantee=True).fit(X, y)
        assert model.nodes_[0].bought == (0,)
        assert [report.spend for report in model.nodes_[1:]] == pytest.approx([2 * scale] * 2)
        gammas.append([report.gamma for report in model.nodes_])
    np.testing.assert_allclose(gammas[1:], [gammas[0]] * 2)


def test_without_correlation_the_guarantee_is_that_of_submodular_functions():
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 5)))[0]
    X = np.linalg.qr(X - X.mean(axis=0))[0]
    root = ASTCRegressor(max_depth=1, node_budget=2, compute_guarantee=True).fit(X, X @ np.arange(5)).nodes_[0]
    assert root.guarantee == pytest.approx(1 - np.exp(-1))


@pytest.mark.parametrize(
    "parameters",
    [
        {"overflow": "skip"},
        {"costs": CostModel([1.0] * 5, bundles={"panel": ([0, 1], 1.0)})},
        {"costs": CostModel([1.0] * 5, bundles={"label": ([0, 1], 1e-13)})},
        {"costs": [0.0, 1.0, 1.0, 1.0, 1.0]},
        {"compute_guarantee": False},
    ],
    ids=["skip", "bundle", "cheap bundle", "free column", "not asked for"],
)
def test_there_is_no_guarantee_where_the_theorem_does_not_apply(parameters):
    X, y, *_ = problem(0, n=200)
    model = ASTCRegressor(**{"compute_guarantee": True, "max_depth": 2, "node_budget": 2} | parameters).fit(X, y)
    assert all(report.gamma is None and report.guarantee is None for report in model.nodes_)


@pytest.mark.parametrize("seed", range(20))
def test_free_columns_are_covered_if_all_of_them_are_taken(seed):
    X, y, prices, budget = problem(seed)
    prices[:2] = 0.0
    options = {"max_depth": 1, "node_budget": budget, "min_gain": 0, "compute_guarantee": True}
    root = ASTCRegressor(costs=prices, **options).fit(X, y).nodes_[0]
    assert root.r2 >= root.guarantee * best_share(X, y[:, None], prices, root.spend) - 1e-9


def test_a_copied_column_leaves_no_guarantee_but_0():
    X, y, *_ = problem(0)
    doubled = np.column_stack([X, X[:, 0]])
    root = ASTCRegressor(max_depth=1, node_budget=2, compute_guarantee=True).fit(doubled, y).nodes_[0]
    assert root.guarantee == pytest.approx(0, abs=1e-9)
