"""Plot of the Jaccard coefficients between the feature sets of classifiers.

The classifiers are the leaves of a tree, or classifiers of pairs of neighbouring labels. Such plots are Figures 10
(right) and 14 of Xu et al. (2014), JMLR 15.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from thrifty.models.expected_cost.criterion import CSTCCriterion, jaccard_matrix
from thrifty.plots.axes import MAX_FIGURE_SIZE, size_in_inches
from thrifty.plots.fitted import supports_of
from thrifty.plots.palette import COLOR_CYCLE, TEXT_COLOR
from thrifty.plots.text import BODY_STYLE, POINTS_PER_INCH, line_height, text_width
from thrifty.plots.tree_cards import tree_cards
from thrifty.plots.tree_order import top_to_bottom

JACCARD_COLORS = LinearSegmentedColormap.from_list("thrifty_overlap", ["#f3f6f9", "#bcd3e4", COLOR_CYCLE[0]])
CELL_SIZE, MARGIN = 0.62, 0.1  # inches
MAX_TEXT_SIZE, MIN_TEXT_SIZE = 10.0, 4.0  # points
DARK_CELL_VALUE = 0.82  # text in cells with larger coefficients is white
MAX_NAME_WIDTH = 0.9  # share of a cell; wider names are rotated
ROTATED_HEIGHT = 0.75  # height of a rotated name / its width


class JaccardDisplay:
    """Plot of the Jaccard coefficients between the feature sets of classifiers.

    The coefficient of two classifiers with feature sets A and B is ``|A and B| / |A or B|``: the number of features
    that both use, divided by the number of features that at least one of them uses.

    Parameters
    ----------
    jaccard : array-like of shape (n, n)
        Coefficients between all pairs of classifiers.
    names : sequence of str
        Names of the classifiers.
    notes : sequence of str, default=None
        A second line of text for each classifier, shown at the left below its name. None shows only the names.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot. Set by `plot`.
    figure_ : matplotlib Figure
        Figure of the plot. Set by `plot`.
    image_ : matplotlib AxesImage
        The matrix. Set by `plot`.

    Examples
    --------
    In this tree no two leaves use the same feature:

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
        """Plot the coefficients between the classifiers of pairs of neighbouring labels.

        Parameters
        ----------
        criterion : CSTCCriterion
            Result of `thrifty.cstc_criterion`.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure of a suitable size.
        **kwargs
            Style of the matrix, such as ``cmap``, passed to matplotlib's ``imshow``.

        Returns
        -------
        JaccardDisplay
            The display, already plotted.
        """
        names = [f"{lower} vs {upper}" for lower, upper in criterion.pairs]
        return cls(criterion.jaccard, names).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        learned: bool = False,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "JaccardDisplay":
        """Plot the coefficients between the nodes of a tree at which rows can exit.

        The nodes have the same order, from top to bottom, as in `TreeDisplay`.

        Parameters
        ----------
        estimator : fitted tree estimator
            Object with ``tree_`` and ``node_supports``. If X is given, it also needs ``acquire``, ``cost_model_`` and
            ``node_purchases``.
        X : array-like of shape (n, d), default=None
            Rows to send through the tree. Pass X and y to show the mean label of the rows at each node.
        y : array-like of shape (n,), default=None
            Labels of the rows.
        learned : bool, default=False
            Whether to show the features that nodes weigh as learned, before fine-tuning, as the paper does. Only for
            CSTC, CSCC, Cronus and AND-OR cascades.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure of a suitable size.
        **kwargs
            Style of the matrix, such as ``cmap``, passed to matplotlib's ``imshow``.

        Returns
        -------
        JaccardDisplay
            The display, already plotted.
        """
        supports = supports_of(estimator, learned)
        nodes = [k for k in top_to_bottom(estimator.tree_) if estimator.tree_.terminal[k]]
        jaccard = jaccard_matrix(supports[nodes])
        notes = None if X is None else _mean_labels(estimator, nodes, X, y)
        return cls(jaccard, [f"node {k}" for k in nodes], notes=notes).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "JaccardDisplay":
        """Plot the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure of a suitable size.
        **kwargs
            Style of the matrix, such as ``cmap``, passed to matplotlib's ``imshow``.

        Returns
        -------
        JaccardDisplay
            The display itself.
        """
        self.ax_ = ax = self._new_axes() if ax is None else ax
        self.figure_ = ax.figure
        style: dict[str, Any] = {"cmap": JACCARD_COLORS, "vmin": 0, "vmax": 1} | kwargs
        self.image_ = ax.imshow(self.jaccard, **style)
        cell = min(size_in_inches(ax)) / len(self.names)
        self._draw_ticks(cell)
        self._write_coefficients(cell)
        return self

    def _new_axes(self) -> Axes:
        """Return the axes of a new figure, with room for the names at the left and below."""
        import matplotlib.pyplot as plt  # imported here because plots into given axes must not change pyplot's state

        side, name = min(CELL_SIZE * len(self.names), MAX_FIGURE_SIZE), _max_width(self.names)
        left = max(name, _max_width(self.notes)) + 2 * MARGIN
        below = (line_height(BODY_STYLE) if name <= MAX_NAME_WIDTH * CELL_SIZE else ROTATED_HEIGHT * name) + 2 * MARGIN
        width, height = left + side + MARGIN, below + side + MARGIN
        figure = plt.figure(figsize=(width, height))
        return figure.add_axes((left / width, below / height, side / width, side / height))

    def _draw_ticks(self, cell: float) -> None:
        ax, positions = self.ax_, np.arange(len(self.names))
        fits = _max_width(self.names) <= MAX_NAME_WIDTH * cell
        rotation: dict[str, Any] = {} if fits else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        labels = [f"{name}\n{note}".rstrip() for name, note in zip(self.names, self.notes, strict=True)]
        ax.set_xticks(positions, self.names, parse_math=False, **rotation)
        ax.set_yticks(positions, labels, parse_math=False)
        ax.tick_params(length=0, labelcolor=TEXT_COLOR, labelsize=BODY_STYLE.size)
        ax.spines[:].set_visible(False)
        ax.set_xticks(positions[1:] - 0.5, minor=True)
        ax.set_yticks(positions[1:] - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)

    def _write_coefficients(self, cell: float) -> None:
        """Write each coefficient into its cell, in a size that fits. Write nothing if the text would be illegible."""
        size = cell * POINTS_PER_INCH / 3.5
        if size < MIN_TEXT_SIZE:
            return
        for (i, j), value in np.ndenumerate(self.jaccard):
            color = "white" if value > DARK_CELL_VALUE else TEXT_COLOR
            self.ax_.text(
                j, i, f"{value:.2f}", ha="center", va="center", color=color, fontsize=min(size, MAX_TEXT_SIZE)
            )


def _max_width(lines: Sequence[str]) -> float:
    return max(text_width(line, BODY_STYLE) for line in lines)


def _mean_labels(estimator: Any, nodes: Sequence[int], X: Any, y: ArrayLike | None) -> list[str]:
    tree = tree_cards(estimator, X, y)
    return [tree.labels.describe(tree.cards[k].label) for k in nodes]
