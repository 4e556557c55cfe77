"""The picture of which classifiers weigh the same features: leaves of a tree, or pairs of neighbouring labels.

Figures 10 (right) and 14 of Xu et al. (2014), JMLR 15.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from thrifty.models.trees.criterion import CSTCCriterion, jaccard_matrix
from thrifty.plots.axes import LARGEST_FIGURE
from thrifty.plots.palette import CYCLE, INK
from thrifty.plots.text import FACT, POINTS_PER_INCH, line_height, text_width
from thrifty.plots.tree_cards import tree_cards
from thrifty.plots.tree_order import top_to_bottom

OVERLAP = LinearSegmentedColormap.from_list("thrifty_overlap", ["#f3f6f9", "#bcd3e4", CYCLE[0]])
CELL, MARGIN = 0.62, 0.1  # inches
LARGEST_TEXT, SMALLEST_TEXT = 10.0, 4.0  # points
DARK_CELL = 0.82
WIDEST_NAME = 0.9  # of a cell
TURNED_HEIGHT = 0.75  # of a name's width


class JaccardDisplay:
    """Jaccard coefficients between classifiers: the share of features that each two have in common.

    Parameters
    ----------
    jaccard : array-like of shape (n, n)
        The coefficients.
    names : sequence of str
        What the classifiers are called.
    notes : sequence of str, default=None
        What else to say of each, at the left.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture, once plotted.
    figure_ : matplotlib Figure
        Figure of the picture, once plotted.
    image_ : matplotlib AxesImage
        The matrix, once plotted.

    Examples
    --------
    Each leaf of the quadrants answers with a feature of its own:

    >>> from matplotlib.figure import Figure
    >>> from thrifty import ASTCRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> from thrifty.plots import JaccardDisplay
    >>> data = make_quadrants(2000, random_state=0)
    >>> model = ASTCRegressor(costs=data.costs, max_depth=3, node_budget=[1, 1, 10]).fit(data.X, data.y)
    >>> display = JaccardDisplay.from_estimator(model, ax=Figure().subplots())
    >>> display.names
    ['node 3', 'node 4', 'node 5', 'node 6']
    >>> display.jaccard[0]
    array([1., 0., 0., 0.])
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, jaccard: ArrayLike, names: Sequence[str], *, notes: Sequence[str] | None = None):
        self.jaccard = np.asarray(jaccard, dtype=float)
        self.names = list(names)
        self.notes = [""] * len(self.names) if notes is None else list(notes)
        n_names, n_notes = len(self.names), len(self.notes)
        if self.jaccard.shape != (n_names, n_names) or n_notes != n_names:
            raise ValueError(
                f"jaccard has shape {self.jaccard.shape} but there are {n_names} names and {n_notes} notes; "
                "expected a row, a column, a name and a note for each classifier."
            )

    @classmethod
    def from_criterion(cls, criterion: CSTCCriterion, *, ax: Axes | None = None, **kwargs: Any) -> "JaccardDisplay":
        """Draw what `thrifty.cstc_criterion` found; ``kwargs`` style the matrix as in `plot`."""
        names = [f"{lower} vs {upper}" for lower, upper in criterion.pairs]
        return cls(criterion.jaccard, names).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: ArrayLike | None = None, *, ax: Axes | None = None, **kwargs: Any
    ) -> "JaccardDisplay":
        """Compare the nodes where rows may end, from top to bottom as `TreeDisplay` shows them.

        Parameters
        ----------
        estimator : fitted tree estimator
            Anything with ``tree_`` and ``node_supports``.
        X : array-like of shape (n, d), default=None
            Rows to send through the tree, so that the mean label at each node can be told.
        y : array-like of shape (n,), default=None
            Their labels.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure of a fitting size when None.
        **kwargs
            Style of the matrix, as in `plot`.

        Returns
        -------
        JaccardDisplay
            The display, plotted.
        """
        nodes = [k for k in top_to_bottom(estimator.tree_) if estimator.tree_.terminal[k]]
        jaccard = jaccard_matrix(estimator.node_supports()[nodes])
        notes = None if X is None else _mean_labels(estimator, nodes, X, y)
        return cls(jaccard, [f"node {k}" for k in nodes], notes=notes).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "JaccardDisplay":
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure of a fitting size when None.
        **kwargs
            Style of the matrix, such as ``cmap``, as for matplotlib's imshow.

        Returns
        -------
        JaccardDisplay
            The display itself.
        """
        self.ax_ = ax = self._new_axes() if ax is None else ax
        self.figure_ = ax.figure
        look: dict[str, Any] = {"cmap": OVERLAP, "vmin": 0, "vmax": 1} | kwargs
        self.image_ = ax.imshow(self.jaccard, **look)
        cell = _inches(ax) / len(self.names)
        self._draw_ticks(cell)
        self._write_coefficients(cell)
        return self

    def _new_axes(self) -> Axes:
        """Axes of a new figure, with room for the names on the left and below."""
        import matplotlib.pyplot as plt  # only here: axes handed in must never touch pyplot's state

        side, name = min(CELL * len(self.names), LARGEST_FIGURE), _widest(self.names)
        left = max(name, _widest(self.notes)) + 2 * MARGIN
        below = (line_height(FACT) if name <= WIDEST_NAME * CELL else TURNED_HEIGHT * name) + 2 * MARGIN
        width, height = left + side + MARGIN, below + side + MARGIN
        figure = plt.figure(figsize=(width, height))
        return figure.add_axes((left / width, below / height, side / width, side / height))

    def _draw_ticks(self, cell: float) -> None:
        ax, places = self.ax_, np.arange(len(self.names))
        fits = _widest(self.names) <= WIDEST_NAME * cell
        turned: dict[str, Any] = {} if fits else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        lines = [f"{name}\n{note}".rstrip() for name, note in zip(self.names, self.notes, strict=True)]
        ax.set_xticks(places, self.names, parse_math=False, **turned)
        ax.set_yticks(places, lines, parse_math=False)
        ax.tick_params(length=0, labelcolor=INK, labelsize=FACT.size)
        ax.spines[:].set_visible(False)
        ax.set_xticks(places[1:] - 0.5, minor=True)
        ax.set_yticks(places[1:] - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)

    def _write_coefficients(self, cell: float) -> None:
        """Write each coefficient into its cell, in a size that fits; where none would be legible, none."""
        size = cell * POINTS_PER_INCH / 3.5
        if size < SMALLEST_TEXT:
            return
        for (i, j), value in np.ndenumerate(self.jaccard):
            color = "white" if value > DARK_CELL else INK
            self.ax_.text(j, i, f"{value:.2f}", ha="center", va="center", color=color, fontsize=min(size, LARGEST_TEXT))


def _inches(ax: Axes) -> float:
    drawn = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return min(drawn.width, drawn.height)


def _widest(lines: Sequence[str]) -> float:
    return max(text_width(line, FACT) for line in lines)


def _mean_labels(estimator: Any, nodes: Sequence[int], X: Any, y: ArrayLike | None) -> list[str]:
    tree = tree_cards(estimator, X, y)
    return [tree.labels.describe(tree.cards[k].label) for k in nodes]
