"""Plot of what each purchase costs, and of what the score loses without it."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from thrifty.evaluation.purchases import purchases
from thrifty.metrics.curves import score_name
from thrifty.plots.axes import new_axes, style_axes
from thrifty.plots.palette import COLOR_CYCLE, MUTED_COLOR, TEXT_COLOR

WIDTH, BAR_HEIGHT, FRAME_HEIGHT = 8.6, 0.36, 1.1  # inches
MAX_BARS = 25


class PurchasesDisplay:
    """Plot of the mean spend on each column or bundle, beside the loss of score when it is not to be had.

    A line that is long at the left and short at the right costs much and earns little. The error bars are standard
    errors. Columns that no row buys are left out.

    Parameters
    ----------
    table : DataFrame
        What `thrifty.evaluation.purchases` returns.
    unit : str, default=""
        Unit of the spend.
    score_name : str, default="score"
        Name of the score.

    Attributes
    ----------
    shown : DataFrame
        The lines of the table that are drawn, the most expensive first.
    ax_ : matplotlib Axes
        Axes of the spend. Set by `plot`.
    figure_ : matplotlib Figure
        Figure of the plot. Set by `plot`.
    loss_ax_ : matplotlib Axes or None
        Axes of the loss; None if the table has no losses. Set by `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thrifty import CostWeightedL1Classifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.plots import PurchasesDisplay
    >>> heart = load_heart(as_frame=True)
    >>> model = CostWeightedL1Classifier(costs=heart.costs, cost_weight=0.05).fit(heart.X[:200], heart.y[:200])
    >>> display = PurchasesDisplay.from_estimator(model, heart.X[200:], heart.y[200:], ax=Figure().subplots())
    >>> display.shown.index.tolist()
    ['age', 'sex', 'cp', 'trestbps']
    """

    ax_: Axes
    figure_: Figure | SubFigure
    loss_ax_: Axes | None

    def __init__(self, table: Any, *, unit: str = "", score_name: str = "score"):
        self.table, self.unit, self.score_name = table, unit, score_name
        self.shown = table[table["bought"] > 0].head(MAX_BARS)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        cap: float | None = None,
        scoring: Any = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "PurchasesDisplay":
        """Measure what each purchase of a fitted model costs and earns, and plot it.

        Parameters
        ----------
        estimator : BudgetedEstimator or BudgetSearchCV
            A fitted model.
        X : frame or array-like of shape (n, n_features)
            Rows on which the model was not fitted.
        y : array-like of shape (n,), default=None
            Their targets. None plots the spend only.
        qid : array-like of shape (n,), default=None
            The query of each row.
        cap : float, default=None
            Hard limit on each row's spend.
        scoring : str or callable, default=None
            A score; see `thrifty.evaluation.purchases`.
        ax : matplotlib Axes, default=None
            Axes to draw in; they are divided if there are losses. None creates a new figure of a suitable size.
        **kwargs
            Style of the bars, such as ``height``, passed to matplotlib's ``barh``.

        Returns
        -------
        PurchasesDisplay
            The display, already plotted.
        """
        table = purchases(estimator, X, y, qid=qid, cap=cap, scoring=scoring)
        name = score_name(table.attrs["scoring"] or "score")
        return cls(table, unit=estimator.cost_model_.unit, score_name=name).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "PurchasesDisplay":
        """Plot the table.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; they are divided if there are losses. None creates a new figure of a suitable size.
        **kwargs
            Style of the bars, such as ``height``, passed to matplotlib's ``barh``.

        Returns
        -------
        PurchasesDisplay
            The display itself.
        """
        self.ax_ = ax = new_axes(WIDTH, FRAME_HEIGHT + BAR_HEIGHT * max(len(self.shown), 1)) if ax is None else ax
        self.figure_, self.loss_ax_ = ax.figure, None
        unit = f" ({self.unit})" if self.unit else ""
        self._bars(ax, "spend", f"mean spend per row{unit}", {"color": COLOR_CYCLE[0]} | kwargs)
        ax.set_yticks(range(len(self.shown)), [_label(*line) for line in self.shown["bought"].items()])
        if "loss" in self.table:
            self.loss_ax_ = self._second_axes()
            error = {"xerr": self.shown["loss_error"].fillna(0.0), "ecolor": MUTED_COLOR, "capsize": 2}
            self._bars(
                self.loss_ax_,
                "loss",
                f"loss of {self.score_name} without it",
                error | {"color": COLOR_CYCLE[1]} | kwargs,
            )
            self.loss_ax_.axvline(0.0, color=TEXT_COLOR, linewidth=0.8)
            self.loss_ax_.tick_params(axis="y", left=False, labelleft=False)
        return self

    def _second_axes(self) -> Axes:
        """Return new axes at the right of the first ones, which share the lines."""
        from mpl_toolkits.axes_grid1 import make_axes_locatable

        return make_axes_locatable(self.ax_).append_axes("right", size="100%", pad=0.25, sharey=self.ax_)

    def _bars(self, ax: Axes, column: str, label: str, style: dict[str, Any]) -> None:
        style_axes(ax)
        ax.grid(axis="y", visible=False)
        ax.grid(axis="x", linewidth=0.6, alpha=0.7)
        ax.barh(np.arange(len(self.shown)), self.shown[column], **{"height": 0.62} | style)
        ax.set_xlabel(label)
        ax.set_ylim(len(self.shown) - 0.4, -0.6)


def _label(name: str, bought: float) -> str:
    return f"{name} ({bought:.0%} of rows)"
