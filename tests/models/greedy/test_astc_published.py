"""Published figures of Kusner et al. (2014), on data sets in the folder named by ``THRIFTY_DATA``."""

import numpy as np
import pytest

from thrifty import ASTCClassifier, CostWeightedL1Classifier
from thrifty.datasets import list_datasets, load_covtype
from thrifty.metrics import area_under_cost_curve, cost_curve

FOREST_ROWS = 36_603  # rows of the training set in the paper


@pytest.fixture(scope="module")
def forest():
    if not list_datasets()["covtype"]:
        pytest.skip("covtype is not in the folder named by THRIFTY_DATA")
    data = load_covtype(binary=True)
    order = np.random.default_rng(0).permutation(len(data.y))
    train, test = order[:FOREST_ROWS], order[FOREST_ROWS : 2 * FOREST_ROWS]
    return data.X[train], data.y[train], data.X[test], data.y[test]


@pytest.mark.slow
def test_forest_trees_beat_the_single_l1_classifier_at_every_cost(forest):
    """Figure 3, Forest: ASTC's error is below that of one cost-weighted l1 classifier over the whole range of cost."""
    X, y, X_test, y_test = forest
    trees = [ASTCClassifier(max_depth=5, node_budget=budget).fit(X, y) for budget in (1, 2, 3, 5, 8)]
    tree = cost_curve(trees, X_test, y_test)
    single = cost_curve(CostWeightedL1Classifier().path(X, y), X_test, y_test)
    limits = (tree.spend.min(), 40.0)
    assert area_under_cost_curve(tree, limits=limits) > area_under_cost_curve(single, limits=limits)
    for spend, score in zip(tree.spend, tree.score, strict=True):
        assert score > single.score[single.best(spend)]
