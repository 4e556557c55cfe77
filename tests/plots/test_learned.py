"""Displays of trees as learned, before fine-tuning."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from thrifty import ASTCRegressor, CSTCRegressor
from thrifty.datasets import make_ltr
from thrifty.models.expected_cost.criterion import jaccard_matrix
from thrifty.plots import FeaturesByDepthDisplay, JaccardDisplay, PixelsDisplay
from thrifty.plots.node_pixels import BOUGHT, HELD, NOT_ACQUIRED

DATA = make_ltr(30, n_features=20, random_state=0)


@pytest.fixture(scope="module")
def model():
    return CSTCRegressor(costs=DATA.costs, cost_weight=0.003, fine_tune="support").fit(DATA.X, DATA.y)


def draw(display, model, *shapes, learned):
    return display.from_estimator(model, *shapes, learned=learned, ax=Figure().subplots())


def test_jaccard_coefficients_of_the_leaves_as_learned(model):
    served, learned = (draw(JaccardDisplay, model, learned=each) for each in (False, True))
    nodes = [int(name.split()[1]) for name in learned.names]
    np.testing.assert_array_equal(learned.jaccard, jaccard_matrix(model.learned_support_[nodes]))
    assert not np.array_equal(learned.jaccard, served.jaccard)


def test_features_by_depth_as_learned(model):
    content = draw(FeaturesByDepthDisplay, model, learned=True).content
    prices, depth = DATA.costs.unit_costs, model.tree_.depth
    for d in range(depth.max() + 1):
        acquired = model.learned_support_[depth <= d].any(axis=0)
        shares = [acquired[prices == price].mean() for price in np.unique(prices)]
        np.testing.assert_allclose(content.share[:, d], shares)


def test_pixels_as_learned(model):
    nodes = draw(PixelsDisplay, model, [(4, 5)], learned=True).nodes
    for node in nodes:
        before = np.zeros(20, dtype=bool)
        parent = node.parent
        while parent != -1:
            before |= model.learned_support_[parent]
            parent = model.tree_.parent[parent]
        own = model.learned_support_[node.node]
        np.testing.assert_array_equal(node.pixels == BOUGHT, own & ~before)
        np.testing.assert_array_equal(node.pixels == HELD, before)
        np.testing.assert_array_equal(node.pixels == NOT_ACQUIRED, ~own & ~before)


def test_trees_without_fine_tuning_have_nothing_else_to_show():
    model = ASTCRegressor(costs=DATA.costs, max_depth=2, node_budget=50).fit(DATA.X, DATA.y)
    for display, shapes in ((JaccardDisplay, ()), (FeaturesByDepthDisplay, ()), (PixelsDisplay, ([(4, 5)],))):
        with pytest.raises(ValueError, match="learned is True, but ASTCRegressor has no fine-tuning"):
            draw(display, model, *shapes, learned=True)
