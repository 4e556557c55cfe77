"""Published figures of Xu et al. (2014), section 6, on data in the folder named by ``THRIFTY_DATA``."""

import numpy as np
import pytest

from thrifty import CostWeightedL1Classifier, CSTCClassifier, CSTCRegressor
from thrifty.datasets import list_datasets, load_mnist, load_thyroid, make_quadrants
from thrifty.metrics import area_under_cost_curve, cost_curve

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("means", [(27, 9, -9, -27), (27, 9, -27, -9), (20, 10, -20, -10)])
def test_quadrants_are_predicted_perfectly_at_the_optimal_cost(means):
    """Figure 5: one sign at the root, the other below it, one expensive feature at each leaf, at a total cost of 12."""
    train, test = (make_quadrants(2000, label_means=means, random_state=seed) for seed in (0, 1))
    sweep = CSTCRegressor(costs=train.costs, max_depth=3)
    models = sweep.path(train.X, train.y, cost_weights=np.geomspace(1e-5, 1e-1, 16))
    best = max((m for m in models if m.spend(test.X).mean() <= 12.5), key=lambda m: m.score(test.X, test.y))
    assert 1 - best.score(test.X, test.y) <= 0.002
    tree = best.tree_
    bought = [[set(tree.buys(k).tolist()) for k in np.flatnonzero(tree.depth == depth)] for depth in range(3)]
    (root,), below, leaves = bought
    assert len(root) == 1
    assert all(root | child == {0, 1} for child in below)
    assert sorted(leaf.pop() for leaf in leaves if len(leaf) == 1) == [2, 3, 4, 5]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_threes_and_eights_are_separated_with_few_pixels():
    """Section 6.7: Figure 12 runs from an error of about 0.12 at spend 20 to 0.035 at 450."""
    if not list_datasets()["mnist"]:
        pytest.skip("mnist is not in the folder named by THRIFTY_DATA")
    data = load_mnist(digits=(3, 8), resolutions=(4, 8, 16, 28))
    train, test = ~data.test, data.test
    models = CSTCClassifier(max_depth=3).path(data.X[train], data.y[train], cost_weights=(0.1, 0.3, 1.0, 1.5))
    curve = cost_curve(models, data.X[test], data.y[test])
    for budget, error in ((25, 0.043), (53, 0.035), (118, 0.030)):
        assert 1 - curve.score[curve.best(budget)] <= error


def test_thyroid_curve_is_above_the_single_l1_classifier():
    """With real prices, the tree is more accurate than a single model is at any spend."""
    if not list_datasets()["thyroid"]:
        pytest.skip("thyroid is not in the folder named by THRIFTY_DATA")
    data = load_thyroid()
    train, test = ~data.test, data.test
    models = CSTCClassifier(costs=data.costs, max_depth=3).path(
        data.X[train], data.y[train], cost_weights=np.geomspace(1e-4, 0.15, 12)
    )
    tree = cost_curve(models, data.X[test], data.y[test])
    single = cost_curve(
        CostWeightedL1Classifier(costs=data.costs).path(data.X[train], data.y[train]), data.X[test], data.y[test]
    )
    limits, nothing = (0.0, data.costs.total), single.score[single.spend == 0].max()
    areas = [area_under_cost_curve(curve, limits=limits, baseline=nothing) for curve in (tree, single)]
    assert areas[0] > areas[1]
    assert tree.score.max() > single.score.max() + 0.03
