import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from thrifty import ASTCClassifier
from thrifty.costs import CostModel
from thrifty.plots import PixelsDisplay
from thrifty.plots.node_pixels import BOUGHT, HELD, NOT_ACQUIRED, node_pixels
from thrifty.plots.pixels import STATE_COLORS

SHAPES = [(2, 2), (2, 3)]
BUYS = [[0, 9], [1], [2, 3], [4], [], [5], [6, 7]]


@pytest.fixture
def model(make_tree_estimator):
    """Complete binary tree. Rows go to the upper child 2k + 1 if the sum of the pixels that node k buys is positive."""
    return make_tree_estimator([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], BUYS, costs=CostModel(np.ones(10)))


def row(*, root, below):
    values = np.zeros(10)
    values[0], values[1:4] = root, below
    return values


def images(display):
    return [image.get_array() for image in display.ax_.get_images()]


def test_pixels_are_bought_by_the_node_or_held_from_its_ancestors(model):
    nodes = node_pixels(model)
    assert [node.node for node in nodes] == list(range(7))
    for node, path in zip(nodes, [[], [0], [0], [0, 1], [0, 1], [0, 2], [0, 2]], strict=True):
        expected = np.full(10, NOT_ACQUIRED)
        expected[[j for k in path for j in BUYS[k]]] = HELD
        expected[BUYS[node.node]] = BOUGHT
        np.testing.assert_array_equal(node.pixels, expected)
    assert nodes[0].caption == "buys 2"
    assert nodes[4].caption == "buys nothing, holds 3"
    assert nodes[6].caption == "buys 2, holds 4"


def test_leaves_have_whole_slots_and_other_nodes_the_mean_of_their_children(model):
    assert [node.slot for node in node_pixels(model)] == [1.5, 0.5, 2.5, 0, 1, 2, 3]


def test_only_nodes_that_the_given_rows_reach(model):
    X = np.array([row(root=1, below=-1), row(root=-1, below=1), row(root=1, below=-2)])
    nodes = node_pixels(model, X)
    assert [node.node for node in nodes] == [0, 1, 2, 4, 5]
    assert [node.slot for node in nodes] == [0.5, 0, 1, 0, 1]
    assert [node.exits for node in nodes] == [(), (), (), (0, 2), (1,)]
    assert [node.caption for node in nodes][3:] == [
        "buys nothing, holds 3, rows 0 and 2 exit",
        "buys 1, holds 4, row 1 exits",
    ]
    many = node_pixels(model, np.repeat(X[:1], 1200, axis=0))
    assert many[-1].caption.endswith("1,200 rows exit")


def test_each_resolution_is_a_separate_image(model):
    display = PixelsDisplay.from_estimator(model, SHAPES)
    drawn = images(display)
    assert [image.shape for image in drawn] == SHAPES * 7
    np.testing.assert_array_equal(drawn[0], [[BOUGHT, 0], [0, 0]])
    np.testing.assert_array_equal(drawn[1], [[0, 0, 0], [0, 0, BOUGHT]])
    np.testing.assert_array_equal(drawn[3], [[0, 0, 0], [0, 0, HELD]])


def test_images_are_drawn_from_the_upper_left(model):
    display = PixelsDisplay.from_estimator(model, SHAPES)
    display.figure_.canvas.draw()
    rendered = np.asarray(display.figure_.canvas.buffer_rgba())
    extent = display.ax_.get_images()[0].get_window_extent()  # of the root, which buys the first of 2 x 2 pixels
    columns, lines = (np.array([0.25, 0.75]) * side for side in (extent.width, extent.height))
    from_top = len(rendered) - extent.y1 + lines
    seen = rendered[np.ix_(from_top.astype(int), (extent.x0 + columns).astype(int))][..., :3] / 255
    expected = np.array([[to_rgb(STATE_COLORS[state]) for state in line] for line in [[BOUGHT, 0], [0, 0]]])
    np.testing.assert_allclose(seen, expected, atol=0.01)


def test_nothing_overlaps_and_the_colours_are_explained(model):
    display = PixelsDisplay.from_estimator(model, SHAPES)
    display.figure_.canvas.draw()
    texts = display.ax_.texts
    extents = [text.get_window_extent() for text in texts] + [i.get_window_extent() for i in display.ax_.get_images()]
    for one, other in itertools.combinations(extents, 2):
        assert not one.overlaps(other)
    frame = display.figure_.bbox
    assert all(frame.x0 <= e.x0 <= e.x1 <= frame.x1 and frame.y0 <= e.y0 <= e.y1 <= frame.y1 for e in extents)
    words = [text.get_text().strip().replace("\N{MULTIPLICATION SIGN}", "x") for text in texts]
    assert words[:2] == ["node 0", "buys 2"]
    assert words[-4:] == ["bought here", "held from before", "not acquired", "pixels: 2 x 2, 2 x 3"]


def test_a_tree_of_digits_shows_what_a_row_acquires():
    X, y = load_digits(return_X_y=True)
    model = ASTCClassifier(max_depth=3, node_budget=6).fit(X, y)
    display = PixelsDisplay.from_estimator(model, [(8, 8)], X[[5]])
    acquired = model.acquire(X[[5]])
    assert display.nodes[-1].exits == (0,)
    assert display.nodes[-1].node == acquired.exit[0]
    np.testing.assert_array_equal(display.nodes[-1].pixels != NOT_ACQUIRED, acquired.acquired[0])
    assert len(display.nodes) == 3


def test_given_axes_do_not_change_pyplot(model):
    ax = Figure(figsize=(3, 2)).subplots()
    display = PixelsDisplay.from_estimator(model, SHAPES, ax=ax)
    ax.figure.canvas.draw()
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert display.ax_.texts[0].get_fontsize() < 6
    assert plt.get_fignums() == []


def test_shapes_with_the_wrong_number_of_pixels_are_rejected(model):
    with pytest.raises(ValueError, match=r"shapes is \[\(2, 2\)\], which makes 4 pixels, but the tree has 10 features"):
        PixelsDisplay.from_estimator(model, [(2, 2)])


def test_a_model_that_is_not_fitted_is_rejected():
    with pytest.raises(NotFittedError, match="This ASTCClassifier instance is not fitted yet"):
        PixelsDisplay.from_estimator(ASTCClassifier(), SHAPES)
