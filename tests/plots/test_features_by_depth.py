import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from thrifty import ASTCClassifier
from thrifty.costs import CostModel
from thrifty.datasets import load_heart
from thrifty.plots import FeaturesByDepthDisplay
from thrifty.plots.features_by_depth import features_by_depth

PRICES = CostModel([1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 20.0], unit="ms")
BUYS = [[0], [1, 4], [1, 2], [6], [], [5], [4]]  # column 3 is never bought


@pytest.fixture
def model(make_tree_estimator):
    return make_tree_estimator([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], BUYS, costs=PRICES)


@pytest.fixture
def ax():
    return Figure().subplots()


def test_shares_are_cumulative_over_all_nodes_of_a_depth(model):
    content = features_by_depth(model)
    assert content.groups == ("1", "5", "20")
    assert content.sizes == (4, 2, 1)
    np.testing.assert_array_equal(content.share, [[0.25, 0.75, 0.75], [0, 0.5, 1], [0, 0, 1]])
    assert content.unit == "ms"


def test_given_price_groups(model):
    content = features_by_depth(model, price_groups=[5, 10, 30])
    assert content.groups == ("1 to 5", "20")  # no feature costs between 5 and 10
    assert content.sizes == (6, 1)
    np.testing.assert_allclose(content.share, [[1 / 6, 4 / 6, 5 / 6], [0, 0, 1]])


def test_the_price_of_a_feature_includes_its_bundles(make_tree_estimator):
    costs = CostModel([1.0, 1.0, 4.0], bundles={"panel": ([1, 2], 3.0)})
    content = features_by_depth(make_tree_estimator([-1], [-1], [[1]], costs=costs))
    assert content.groups == ("1", "4", "7")
    np.testing.assert_array_equal(content.share, [[0], [1], [0]])


def test_many_prices_are_grouped(make_tree_estimator):
    costs = CostModel(np.arange(1.0, 31.0))
    content = features_by_depth(make_tree_estimator([-1], [-1], [range(10)], costs=costs))
    assert len(content.groups) <= 8
    assert sum(content.sizes) == 30
    assert max(content.sizes) - min(content.sizes) <= 2
    assert content.groups[0].startswith("1 to ")
    assert content.groups[-1].endswith(" to 30")
    assert content.share[:, 0] @ content.sizes == pytest.approx(10)


def test_the_last_depth_counts_all_features_that_a_fitted_tree_buys():
    heart = load_heart()
    model = ASTCClassifier(costs=heart.costs, max_depth=4, node_budget=60).fit(heart.X, heart.y)
    content = features_by_depth(model)
    assert content.share[:, -1] @ content.sizes == pytest.approx(model.node_purchases().any(axis=0).sum())
    assert (np.diff(content.share, axis=1) >= 0).all()
    assert content.share.shape[1] == model.tree_.depth.max() + 1


def test_lines_start_at_depth_one_and_are_named_by_price_and_size(model, ax):
    display = FeaturesByDepthDisplay.from_estimator(model, ax=ax, linestyle="--")
    for line, share in zip(display.lines_, display.content.share, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3])
        np.testing.assert_array_equal(line.get_ydata(), share)
        assert line.get_linestyle() == "--"
    assert len({line.get_color().tobytes() for line in display.lines_}) == 3
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["1 (4)", "5 (2)", "20 (1)"]
    assert legend.get_title().get_text().split() == ["price", "in", "ms", "(features)"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth", "share of features acquired")


def test_a_tree_of_one_node_and_a_new_figure(make_tree_estimator):
    display = FeaturesByDepthDisplay.from_estimator(make_tree_estimator([-1], [-1], [[0]], costs=CostModel([0.0, 2.0])))
    assert display.content.groups == ("0", "2")
    assert plt.get_fignums() == [display.figure_.number]
    display.figure_.canvas.draw()
    extent = display.ax_.get_legend().get_window_extent()
    assert extent.x1 <= display.figure_.bbox.x1


def test_given_axes_do_not_change_pyplot(model, ax):
    display = FeaturesByDepthDisplay.from_estimator(model, ax=ax)
    ax.figure.canvas.draw()
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("price_groups", [[], [5, 10], [20, 5], [[5, 20]], [5, np.nan]])
def test_invalid_price_groups_are_rejected(model, price_groups):
    with pytest.raises(ValueError, match=r"price_groups is .* the last at least 20"):
        features_by_depth(model, price_groups=price_groups)


def test_a_model_that_is_not_fitted_is_rejected():
    with pytest.raises(NotFittedError, match="This ASTCClassifier instance is not fitted yet"):
        FeaturesByDepthDisplay.from_estimator(ASTCClassifier())
