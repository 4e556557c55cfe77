"""Plot of a tree: what each node buys, how many rows reach it, their mean label, and where they go next."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike

from thrifty.plots.axes import LEGEND_HEIGHT, Canvas, LegendItem, legend_width
from thrifty.plots.text import line_height
from thrifty.plots.tree_cards import NodeCard, TreeCards, tree_cards
from thrifty.plots.tree_colors import LabelColors, mix_with_white
from thrifty.plots.tree_layout import PADDING, Box, lay_out

MARGIN = 0.15  # inches, like all lengths below
FOOTER = 0.5
MAX_BAND_THICKNESS = 0.46
MIN_BAND_THICKNESS = 0.012
CORNER_RADIUS = 0.06


class TreeDisplay:
    """Plot of a tree of linear nodes, with one card per node and the root at the left.

    A card shows the features that its node buys, their cost, the cost of the path from the root, the number of rows
    that reach the node and the number that exit there, their mean label, and the condition on which rows go to the
    upper child. The colour of a card shows the mean label. The thickness of a band between two cards is proportional
    to the number of rows.

    Parameters
    ----------
    tree : TreeCards
        Content of the cards. `from_estimator` computes it.

    Attributes
    ----------
    cards : tuple of NodeCard
        Content of the card of each node, in node order.
    layout : TreeLayout
        Positions of the cards, in inches.
    colors : LabelColors
        Colours of the mean labels.
    ax_ : matplotlib Axes
        Axes of the plot. Set by `plot`.
    figure_ : matplotlib Figure
        Figure of the plot. Set by `plot`.

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
        """Send rows through a fitted tree and plot it.

        Parameters
        ----------
        estimator : fitted tree estimator, TableModel or BudgetSearchCV
            A tree, a table model around one, or a search that has chosen one.
        X : array-like of shape (n, d)
            Rows to send through the tree.
        y : array-like of shape (n,), default=None
            Labels of the rows. None makes grey cards without a mean label.
        feature_names : sequence of str, default=None
            Names of the columns. None takes the names that the estimator or its cost model has, else "x0", "x1", ...
        max_features : int, default=4
            Number of features that a card names. It counts the others.
        ax : matplotlib Axes, default=None
            Axes to draw in; the text is scaled to their size. None creates a new figure of a suitable size.
        **kwargs
            Style of the cards, such as ``linewidth``, passed to a matplotlib patch.

        Returns
        -------
        TreeDisplay
            The display, already plotted.
        """
        tree = tree_cards(estimator, X, y, feature_names=feature_names, max_features=max_features)
        return cls(tree).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "TreeDisplay":
        """Plot the tree.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; the text is scaled to their size. None creates a new figure of a suitable size.
        **kwargs
            Style of the cards, such as ``linewidth``, passed to a matplotlib patch.

        Returns
        -------
        TreeDisplay
            The display itself.
        """
        canvas = Canvas(ax, corner=(-MARGIN, -MARGIN - FOOTER), size=self._frame())
        self.ax_, self.figure_ = canvas.ax, canvas.ax.figure
        for card, box in zip(self.cards, self.layout.boxes, strict=True):
            self._draw_bands(card, box)
            self._draw_card(card, box, canvas, kwargs)
        canvas.draw_legend(0.0, -FOOTER / 2 - LEGEND_HEIGHT, self._footer())
        return self

    def _frame(self) -> tuple[float, float]:
        """Return the width and height of the tree, the footer below it, and the margins."""
        width = max(self.layout.width, legend_width(self._footer()))
        return width + 2 * MARGIN, self.layout.height + FOOTER + 2 * MARGIN

    def _footer(self) -> list[LegendItem]:
        return [f"{self.tree.summary}     ", *self.colors.legend()]

    def _draw_bands(self, card: NodeCard, box: Box) -> None:
        """Draw a band to each child. At the card of the parent the bands lie one above the other."""
        thickness = [self._thickness(self.cards[child]) for child in card.children]
        top = box.middle + sum(thickness) / 2
        for child, thick in zip(card.children, thickness, strict=True):
            target, color = self.layout.boxes[child], self.colors.color_of(self.cards[child].label)
            start, end = (box.right, top - thick / 2), (target.left, target.middle)
            self.ax_.add_patch(PathPatch(_band(start, end, thick), facecolor=mix_with_white(color, 0.45), linewidth=0))
            top -= thick

    def _thickness(self, card: NodeCard) -> float:
        return max(MAX_BAND_THICKNESS * card.n_rows / max(self.cards[0].n_rows, 1), MIN_BAND_THICKNESS)

    def _draw_card(self, card: NodeCard, box: Box, canvas: Canvas, style: dict[str, Any]) -> None:
        color = self.colors.color_of(card.label)
        default: dict[str, Any] = {"facecolor": mix_with_white(color, 0.26), "edgecolor": color, "linewidth": 1.0}
        corner = (box.left + CORNER_RADIUS, box.bottom + CORNER_RADIUS)
        size = (box.width - 2 * CORNER_RADIUS, box.height - 2 * CORNER_RADIUS)
        self.ax_.add_patch(FancyBboxPatch(corner, *size, boxstyle=f"round,pad={CORNER_RADIUS}", **default | style))
        line_top = box.bottom + box.height - PADDING
        for text, text_style in box.lines:
            height = line_height(text_style)
            canvas.write(box.left + PADDING, line_top - height / 2, text, text_style)
            line_top -= height


def _band(start: tuple[float, float], end: tuple[float, float], thickness: float) -> Path:
    """Return the outline of a band that is horizontal at both ends."""
    (x0, y0), (x1, y1), half = start, end, thickness / 2
    middle = (x0 + x1) / 2
    upper = [(x0, y0 + half), (middle, y0 + half), (middle, y1 + half), (x1, y1 + half)]
    lower = [(x1, y1 - half), (middle, y1 - half), (middle, y0 - half), (x0, y0 - half)]
    curve = [Path.CURVE4] * 3
    return Path([*upper, *lower, upper[0]], [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY])
