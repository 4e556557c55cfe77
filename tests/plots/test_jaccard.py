import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from thrifty import ASTCRegressor
from thrifty.costs import CostModel
from thrifty.datasets import make_ltr
from thrifty.models.expected_cost.criterion import CSTCCriterion
from thrifty.plots import JaccardDisplay
from thrifty.plots.tree_order import top_to_bottom

MATRIX = [[1, 0.5, 0.2], [0.5, 1, 0.9], [0.2, 0.9, 1]]
CRITERION = CSTCCriterion(((0, 1), (1, 2), (2, 3)), np.eye(3, dtype=bool), np.array(MATRIX))


@pytest.fixture
def ax():
    return Figure().subplots()


def texts_of(display):
    return [text.get_text() for text in display.ax_.texts]


def test_a_criterion_has_one_row_per_pair_of_labels(ax):
    display = JaccardDisplay.from_criterion(CRITERION, ax=ax)
    assert display.names == ["0 vs 1", "1 vs 2", "2 vs 3"]
    np.testing.assert_array_equal(display.image_.get_array(), MATRIX)
    assert texts_of(display) == ["1.00", "0.50", "0.20", "0.50", "1.00", "0.90", "0.20", "0.90", "1.00"]
    assert [label.get_text() for label in ax.get_xticklabels()] == display.names
    assert [label.get_text() for label in ax.get_yticklabels()] == display.names


def test_leaves_are_ordered_from_top_to_bottom(make_tree_estimator, ax):
    """The upper and lower children of node 0 are 2 and 1; those of node 1 are 4 and 3."""
    upper, lower = [2, 4, -1, -1, -1], [1, 3, -1, -1, -1]
    buys = [[0], [1], [2, 3], [3, 4], [4, 5]]
    model = make_tree_estimator(upper, lower, buys, costs=CostModel(np.ones(6)))
    assert top_to_bottom(model.tree_) == [2, 0, 4, 1, 3]
    display = JaccardDisplay.from_estimator(model, ax=ax)
    assert display.names == ["node 2", "node 4", "node 3"]
    np.testing.assert_allclose(display.jaccard, [[1, 0, 1 / 3], [0, 1, 1 / 3], [1 / 3, 1 / 3, 1]])


def test_exit_nodes_of_a_cascade_and_of_a_chain(make_tree_estimator):
    costs = {"buys": [[0], [1], [2]], "costs": CostModel(np.ones(3))}
    cascade = make_tree_estimator([1, 2, -1], [-1, -1, -1], **costs)
    assert JaccardDisplay.from_estimator(cascade).names == ["node 2", "node 1", "node 0"]
    chain = make_tree_estimator([1, 2, -1], [1, 2, -1], **costs)
    assert JaccardDisplay.from_estimator(chain).names == ["node 2"]


def test_mean_labels_are_shown_below_the_names(full_tree, ax):
    model, X = full_tree(2, classes=None)
    y = np.where(X[:, 0] > 0, 2.0, -1.5)
    display = JaccardDisplay.from_estimator(model, X, y, ax=ax)
    assert display.notes == ["mean 2", "mean -1.5"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["node 1\nmean 2", "node 2\nmean -1.5"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["node 1", "node 2"]


def test_coefficients_of_a_fitted_tree():
    data = make_ltr(n_queries=60, n_features=40, random_state=0)
    model = ASTCRegressor(costs=data.costs, max_depth=3, node_budget=[100, 200, 200]).fit(data.X, data.y)
    display = JaccardDisplay.from_estimator(model)
    leaves = [set(np.flatnonzero(model.node_supports()[int(name.split()[1])])) for name in display.names]
    expected = [[len(one & other) / len(one | other) for other in leaves] for one in leaves]
    np.testing.assert_allclose(display.jaccard, expected)
    assert len(leaves) > 2


@pytest.mark.parametrize("names", [["a", "b", "c"], ["$x$ and a rather long name", "b", "_"], ["-1.5 to 3 vs > 3"] * 3])
def test_all_texts_are_inside_a_new_figure(names):
    display = JaccardDisplay(MATRIX, names, notes=["mean 1", "", "mean 2.25"]).plot()
    display.figure_.canvas.draw()
    frame, ax = display.figure_.bbox, display.ax_
    for text in [*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts]:
        extent = text.get_window_extent()
        assert frame.x0 <= extent.x0 <= extent.x1 <= frame.x1
        assert frame.y0 <= extent.y0 <= extent.y1 <= frame.y1
    is_rotated = max(map(len, names)) > 8
    assert (ax.get_xticklabels()[0].get_rotation() > 0) == is_rotated


def test_coefficients_have_smaller_text_in_small_axes_and_are_left_out_of_tiny_axes():
    small = Figure(figsize=(1.2, 1.2)).subplots()
    assert JaccardDisplay(MATRIX, "abc").plot(small).ax_.texts[0].get_fontsize() < 8
    tiny = Figure(figsize=(0.5, 0.5)).subplots()
    assert texts_of(JaccardDisplay(MATRIX, "abc").plot(tiny)) == []


def test_given_axes_do_not_change_pyplot(ax):
    display = JaccardDisplay.from_criterion(CRITERION, ax=ax, cmap="Greens")
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert display.image_.get_cmap().name == "Greens"
    assert plt.get_fignums() == []


def test_names_of_the_wrong_number_are_rejected():
    with pytest.raises(ValueError, match=r"jaccard has shape \(3, 3\) but there are 2 names and 2 notes"):
        JaccardDisplay(MATRIX, ["a", "b"])


def test_a_model_that_is_not_fitted_is_rejected():
    with pytest.raises(NotFittedError, match="This ASTCRegressor instance is not fitted yet"):
        JaccardDisplay.from_estimator(ASTCRegressor())
