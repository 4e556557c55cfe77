import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from sklearn.exceptions import NotFittedError

import thrifty
from thrifty.costs import CostModel
from thrifty.datasets import load_heart
from thrifty.plots import TreeDisplay
from thrifty.plots.tree_cards import tree_cards
from thrifty.plots.tree_layout import lay_out


def rendered_extents(display, dpi):
    """Return the extents of the cards and of all texts, in pixels of the rendered figure."""
    figure = display.ax_.get_figure(root=True)
    figure.set_dpi(dpi)
    figure.canvas.draw()
    cards = [p.get_window_extent() for p in display.ax_.patches if isinstance(p, FancyBboxPatch)]
    return cards, [text.get_window_extent() for text in display.ax_.texts]


def assert_nothing_overlaps(display, dpi=100):
    cards, texts = rendered_extents(display, dpi)
    n_card_texts = sum(len(box.lines) for box in display.layout.boxes)
    for one, other in itertools.chain(itertools.combinations(cards, 2), itertools.combinations(texts, 2)):
        assert not one.overlaps(other)
    for text in texts[:n_card_texts]:
        assert any(
            card.x0 < text.x0 and text.x1 < card.x1 and card.y0 < text.y0 and text.y1 < card.y1 for card in cards
        )
    frame = display.ax_.get_window_extent()
    for extent in texts + cards:
        assert frame.x0 <= extent.x0 <= extent.x1 <= frame.x1
        assert frame.y0 <= extent.y0 <= extent.y1 <= frame.y1


@pytest.mark.parametrize("dpi", [72, 150])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_nothing_overlaps(full_tree, depth, dpi):
    estimator, X = full_tree(depth, n_bought=6)
    display = TreeDisplay.from_estimator(estimator, X, (X[:, 0] > 0).astype(int))
    assert len(display.layout.boxes) == 2**depth - 1
    assert_nothing_overlaps(display, dpi)


def test_unusual_names_are_inside_their_cards(full_tree):
    names = [
        "W" * 80,
        "$x^2$ and $",
        "line\nbreak",
        "two words",
        "naïve_ünïcode",
        "i",
        "\\frac{",
        "_",
        "%s{0}",
    ]
    estimator, X = full_tree(2, n_bought=3, names=names)
    assert_nothing_overlaps(TreeDisplay.from_estimator(estimator, X))


def test_text_is_smaller_in_small_axes(full_tree):
    estimator, X = full_tree(3)
    small = Figure(figsize=(3, 2)).subplots()
    assert_nothing_overlaps(TreeDisplay.from_estimator(estimator, X, ax=small), dpi=300)


def test_cards_have_the_number_of_rows_and_their_mean_label(full_tree):
    estimator, X = full_tree(3, classes=None)
    y = np.random.default_rng(0).normal(size=len(X))
    cards = tree_cards(estimator, X, y).cards
    reached = np.zeros((len(X), 7), dtype=bool)
    node = np.zeros(len(X), dtype=int)
    for _ in range(3):
        reached[np.arange(len(X)), node] = True
        node = np.where(node < 3, 2 * node + 1 + (X[np.arange(len(X)), node] <= 0), node)
    for card in cards:
        assert card.n_rows == reached[:, card.node].sum()
        assert card.n_exits == (card.n_rows if card.node > 2 else 0)
        assert card.label == pytest.approx((y[reached[:, card.node]].mean(),))
    assert [card.children for card in cards[:4]] == [(1, 2), (3, 4), (5, 6), ()]


def test_card_texts(full_tree):
    estimator, X = full_tree(2, n_bought=6)
    y = np.where(X[:, :6].sum(axis=1) > 0, 1, 0)
    tree = tree_cards(estimator, X, y)
    root, upper, lower = tree.cards
    n_upper = int(y.sum())
    assert (root.buys, root.more) == (("feature0", "feature1", "feature2", "feature3"), 2)
    assert (root.cost, root.route) == ("15 CAD", "up if projection > 0")
    assert root.rows == f"400 rows · {n_upper / 400:.0%} class 1"
    assert (upper.cost, upper.route) == ("15 CAD · 30 so far", "")
    assert upper.rows == f"{n_upper} rows exit · 100% class 1"
    assert lower.rows == f"{400 - n_upper} rows exit · 0% class 1"
    assert tree.summary == "400 rows · mean spend 30 CAD per row"
    assert lay_out(tree.cards).boxes[0].lines[0][0].startswith("feature0, feature1,")


def test_several_classes_show_the_most_frequent(make_tree_estimator):
    estimator = make_tree_estimator([-1], [-1], [[0]], costs=CostModel([1.0]), classes=["ant", "bee", "cat"])
    display = TreeDisplay.from_estimator(estimator, np.zeros((4, 1)), ["bee", "cat", "bee", "ant"])
    assert display.cards[0].rows == "4 rows exit · 50% bee"
    assert display.cards[0].label == (0.25, 0.5, 0.25)
    assert display.cards[0].cost == "cost 1"
    texts = [text.get_text().strip() for text in display.ax_.texts]
    assert texts[-3:] == ["ant", "bee", "cat"]
    assert_nothing_overlaps(display)


CHAIN = {"buys": [[0], [1], []], "costs": CostModel([1.0, 2.0], unit="ms")}
GO_ON, STOP = [1, 2, -1], [-1, -1, -1]


@pytest.mark.parametrize(
    ("upper", "lower", "routes", "exits"),
    [
        (GO_ON, GO_ON, ["all go on", "all go on", ""], [0, 0, 3]),
        (GO_ON, STOP, [f"on if projection > {t}, else exit" for t in "00"] + [""], [1, 1, 1]),
        (STOP, GO_ON, [f"on if projection ≤ {t}, else exit" for t in "00"] + [""], [1, 1, 1]),
    ],
    ids=["pass-through", "upper only", "lower only"],
)
def test_chains(make_tree_estimator, upper, lower, routes, exits):
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]]) * (1 if lower == STOP else -1)
    display = TreeDisplay.from_estimator(make_tree_estimator(upper, lower, **CHAIN), X, [1.0, 2.0, 3.0])
    assert [card.route for card in display.cards] == routes
    assert [card.n_exits for card in display.cards] == exits
    assert display.cards[2].buys == ()
    assert display.cards[2].cost == "3 ms so far"
    assert "buys nothing" in [text.get_text() for text in display.ax_.texts]
    middles = {box.middle for box in display.layout.boxes}
    assert len(middles) == 1
    assert_nothing_overlaps(display)


def test_nodes_without_rows_and_rows_that_do_not_reach_the_root(full_tree):
    estimator, X = full_tree(2)
    X = np.abs(X)
    cards = tree_cards(estimator, X, np.zeros(len(X), dtype=int)).cards
    assert (cards[2].rows, cards[2].n_rows, cards[2].label) == ("no rows", 0, ())
    assert_nothing_overlaps(TreeDisplay.from_estimator(estimator, X, np.zeros(len(X), dtype=int)))
    route = estimator.acquire
    estimator.acquire = lambda X: type("", (), {"exit": np.append(-1, route(X).exit[1:])})
    assert tree_cards(estimator, X).cards[0].n_rows == len(X) - 1


def test_given_axes_do_not_change_pyplot(full_tree):
    estimator, X = full_tree(2)
    ax = Figure().subplots()
    settings = dict(plt.rcParams)
    display = TreeDisplay.from_estimator(estimator, X, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == settings


def test_figures_of_deep_trees_have_a_maximum_size(full_tree):
    estimator, X = full_tree(7)
    assert max(TreeDisplay.from_estimator(estimator, X).figure_.get_size_inches()) <= 40


def test_names_come_from_the_caller_the_data_frame_or_the_costs(full_tree, make_tree_estimator):
    estimator, X = full_tree(2)
    assert tree_cards(estimator, X).cards[1].buys == ("feature1",)
    assert tree_cards(estimator, X, feature_names=["a", "b", "c"]).cards[1].buys == ("b",)
    estimator.feature_names_in_ = np.array(["u", "v", "w"], dtype=object)
    assert tree_cards(estimator, X).cards[1].buys == ("v",)
    without_names = make_tree_estimator([-1], [-1], [[0]], costs=CostModel([1.0]))
    assert tree_cards(without_names, np.zeros((1, 1))).cards[0].buys == ("x0",)


def test_invalid_input_is_rejected(full_tree):
    estimator, X = full_tree(2)
    with pytest.raises(ValueError, match=r"y has shape \(3,\) but X has 400 rows"):
        TreeDisplay.from_estimator(estimator, X, [0, 1, 0])
    with pytest.raises(ValueError, match="feature_names has 2 entries but the tree has 3 features"):
        TreeDisplay.from_estimator(estimator, X, feature_names=["a", "b"])
    with pytest.raises(ValueError, match=r"y holds 7; expected one of the classes \[0, 1\]"):
        TreeDisplay.from_estimator(estimator, X, np.full(len(X), 7))


def test_cards_of_a_fitted_tree_agree_with_acquire():
    heart = load_heart()
    model = thrifty.ASTCClassifier(costs=heart.costs, max_depth=4, node_budget=60).fit(heart.X, heart.y)
    display = TreeDisplay.from_estimator(model, heart.X, heart.y)
    acquired = model.acquire(heart.X)
    assert [card.n_exits for card in display.cards] == np.bincount(acquired.exit, minlength=len(display.cards)).tolist()
    assert display.tree.summary.startswith(f"270 rows · mean spend {acquired.spend.mean():.4g}")
    assert_nothing_overlaps(display)


def test_a_model_that_is_not_fitted_is_rejected():
    with pytest.raises(NotFittedError, match="This ASTCClassifier instance is not fitted yet"):
        TreeDisplay.from_estimator(thrifty.ASTCClassifier(), np.zeros((2, 3)))


def test_a_model_that_is_not_a_tree_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    forest = thrifty.GreedyMiserClassifier(n_estimators=2).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="GreedyMiserClassifier, which is not a tree of linear nodes"):
        TreeDisplay.from_estimator(forest, X)


def test_a_tree_in_a_table_model_names_raw_columns_once():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"size": random.normal(size=200), "town": random.choice(["Bern", "Ulm", "Graz"], 200)})
    y = (X["town"] == "Ulm") | (X["size"] > 1)
    tree = thrifty.TableModel(thrifty.ASTCClassifier(max_depth=3, node_budget=[1, 1, 9], overflow="skip")).fit(X, y)
    cards = TreeDisplay.from_estimator(tree, X, y, ax=Figure().subplots()).cards
    for card in cards:
        above, node = [], card
        while node.parent >= 0:
            node = cards[node.parent]
            above += node.buys
        assert not set(above) & set(card.buys)
    assert {name for card in cards for name in card.buys} <= {"size", "town"}
