"""The picture of a tree: who goes where, what each node buys, how many rows, and what they are like."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike

from thrifty.plots.axes import KEY_HEIGHT, Canvas, KeyItem, key_width
from thrifty.plots.text import line_height
from thrifty.plots.tree_cards import NodeCard, TreeCards, tree_cards
from thrifty.plots.tree_colors import LabelColors, mixed
from thrifty.plots.tree_layout import PADDING, Box, lay_out

MARGIN = 0.15
FOOTER = 0.5
WIDEST_FLOW = 0.46
THINNEST_FLOW = 0.012
ROUNDING = 0.06


class TreeDisplay:
    """A tree of linear nodes as cards, root at the left; bands between them are as thick as rows are many.

    A card says what its node buys, what that costs on top of its parent and in total, how many rows reach it
    and how many of them exit there, their mean label, and which of them go up. Its colour is the mean label.

    Parameters
    ----------
    tree : TreeCards
        What the picture says; `from_estimator` finds it out.

    Attributes
    ----------
    cards : tuple of NodeCard
        What is said of each node, in node order.
    layout : TreeLayout
        Where the cards are, in inches.
    ax_ : matplotlib Axes
        Axes of the picture, once plotted.
    figure_ : matplotlib Figure
        Figure of the picture, once plotted.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thrifty import ASTCClassifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.plots import TreeDisplay
    >>> heart = load_heart()
    >>> model = ASTCClassifier(costs=heart.costs, max_depth=2).fit(heart.X, heart.y)
    >>> display = TreeDisplay.from_estimator(model, heart.X, heart.y, ax=Figure().subplots())
    >>> display.cards[0].rows
    '270 rows · 44% class 1'
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, tree: TreeCards):
        self.tree = tree
        self.cards = tree.cards
        self.layout = lay_out(tree.cards)
        self.colors = LabelColors(tree.labels, [card.label for card in tree.cards])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        max_features: int = 4,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "TreeDisplay":
        """Draw a fitted tree as the rows of X pass through it.

        Parameters
        ----------
        estimator : fitted tree estimator
            Anything with ``tree_``, ``cost_model_``, ``node_purchases`` and ``acquire``.
        X : array-like of shape (n, d)
            Rows to send through the tree.
        y : array-like of shape (n,), default=None
            Their labels. Without them cards are grey.
        feature_names : sequence of str, default=None
            Names of the columns; by default those the estimator knows.
        max_features : int, default=4
            How many purchases a card names before it says how many more there are.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure of a fitting size when None.
        **kwargs
            Style of the cards, as in `plot`.

        Returns
        -------
        TreeDisplay
            The display, plotted.
        """
        tree = tree_cards(estimator, X, y, feature_names=feature_names, max_features=max_features)
        return cls(tree).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "TreeDisplay":
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; text shrinks and grows with it. A new figure of a fitting size when None.
        **kwargs
            Style of the cards, such as ``linewidth``, as for a matplotlib patch.

        Returns
        -------
        TreeDisplay
            The display itself.
        """
        canvas = Canvas(ax, corner=(-MARGIN, -MARGIN - FOOTER), size=self._frame())
        self.ax_, self.figure_ = canvas.ax, canvas.ax.figure
        for card, box in zip(self.cards, self.layout.boxes, strict=True):
            self._draw_flows(card, box)
            self._draw_card(card, box, canvas, kwargs)
        canvas.draw_key(0.0, -FOOTER / 2 - KEY_HEIGHT, self._footer())
        return self

    def _frame(self) -> tuple[float, float]:
        """Width and height of the picture: the tree, the footer below it, and margins."""
        return max(self.layout.width, key_width(self._footer())) + 2 * MARGIN, self.layout.height + FOOTER + 2 * MARGIN

    def _footer(self) -> list[KeyItem]:
        return [f"{self.tree.summary}     ", *self.colors.key()]

    def _draw_flows(self, card: NodeCard, box: Box) -> None:
        """Draw a band to each child, stacked where they leave the card in the order they arrive."""
        thickness = [self._thickness(self.cards[child]) for child in card.children]
        top = box.middle + sum(thickness) / 2
        for child, thick in zip(card.children, thickness, strict=True):
            target, color = self.layout.boxes[child], self.colors.of(self.cards[child].label)
            start, end = (box.right, top - thick / 2), (target.left, target.middle)
            self.ax_.add_patch(PathPatch(_band(start, end, thick), facecolor=mixed(color, 0.45), linewidth=0))
            top -= thick

    def _thickness(self, card: NodeCard) -> float:
        return max(WIDEST_FLOW * card.n_rows / max(self.cards[0].n_rows, 1), THINNEST_FLOW)

    def _draw_card(self, card: NodeCard, box: Box, canvas: Canvas, style: dict[str, Any]) -> None:
        color = self.colors.of(card.label)
        look: dict[str, Any] = {"facecolor": mixed(color, 0.26), "edgecolor": color, "linewidth": 1.0} | style
        corner = (box.left + ROUNDING, box.bottom + ROUNDING)
        size = (box.width - 2 * ROUNDING, box.height - 2 * ROUNDING)
        self.ax_.add_patch(FancyBboxPatch(corner, *size, boxstyle=f"round,pad={ROUNDING}", **look))
        line_top = box.bottom + box.height - PADDING
        for text, text_style in box.lines:
            height = line_height(text_style)
            canvas.write(box.left + PADDING, line_top - height / 2, text, text_style)
            line_top -= height


def _band(start: tuple[float, float], end: tuple[float, float], thickness: float) -> Path:
    """Outline of a band that leaves and arrives level."""
    (x0, y0), (x1, y1), half = start, end, thickness / 2
    bend = (x0 + x1) / 2
    over = [(x0, y0 + half), (bend, y0 + half), (bend, y1 + half), (x1, y1 + half)]
    back = [(x1, y1 - half), (bend, y1 - half), (bend, y0 - half), (x0, y0 - half)]
    curve = [Path.CURVE4] * 3
    return Path([*over, *back, over[0]], [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY])
