"""The picture of a cost curve: every point measured, and the staircase of what a budget can buy."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike, NDArray

from thrifty.metrics import CostCurve, cost_curve
from thrifty.metrics.curves import score_name
from thrifty.plots.axes import dress, new_axes
from thrifty.plots.palette import INK, MUTED

Reference = tuple[float | None, float, str]


class CostCurveDisplay:
    """Score against mean spend: points, and the frontier as a staircase.

    The staircase is the best score that was measured within a budget. Points below it are dominated and drawn
    hollow. Draw several curves into one picture by handing ``ax_`` of the first to the next.

    Parameters
    ----------
    curve : CostCurve
        The points.
    name : str, default=None
        Name in the legend.
    reference : (float or None, float, str), default=None
        Spend, score and name of something to compare with, such as a model that buys all features. With a
        spend of None only the height of its score is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture, once plotted.
    figure_ : matplotlib Figure
        Figure of the picture, once plotted.
    line_ : matplotlib Line2D
        The staircase, once plotted.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thrifty.metrics import CostCurve
    >>> from thrifty.plots import CostCurveDisplay
    >>> curve = CostCurve([1, 4, 9], [0.6, 0.8, 0.9], unit="ms", score_name="accuracy")
    >>> display = CostCurveDisplay.from_curve(curve, name="tree", ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'mean spend per row (ms)'
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, curve: CostCurve, *, name: str | None = None, reference: Reference | None = None):
        self.curve = curve
        self.name = name
        self.reference = reference

    @classmethod
    def from_curve(
        cls,
        curve: CostCurve,
        *,
        name: str | None = None,
        reference: Reference | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "CostCurveDisplay":
        """Draw a curve that was measured before; ``kwargs`` style the staircase as in `plot`."""
        return cls(curve, name=name, reference=reference).plot(ax, **kwargs)

    @classmethod
    def from_estimators(
        cls,
        models: Any,
        X: Any,
        y: ArrayLike,
        *,
        scoring: str | Callable[[Any, Any, Any], float] | None = None,
        caps: Iterable[float | None] | None = None,
        labels: Sequence[str] | None = None,
        name: str | None = None,
        reference: Reference | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "CostCurveDisplay":
        """Measure models as `thrifty.metrics.cost_curve` does, with its parameters, and draw the curve."""
        curve = cost_curve(models, X, y, scoring=scoring, caps=caps, labels=labels)
        return cls.from_curve(curve, name=name, reference=reference, ax=ax, **kwargs)

    @classmethod
    def from_search(
        cls, search: Any, *, name: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> "CostCurveDisplay":
        """Draw all points of a fitted `thrifty.BudgetSearchCV`, and mark its budget and the point it chose.

        Parameters
        ----------
        search : BudgetSearchCV
            A fitted search.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs
            Style of the staircase as in `plot`.
        """
        table = search.frontier_
        sound = table[table["error"] == ""]
        curve = CostCurve(
            sound["spend"].to_numpy(),
            sound["score"].to_numpy(),
            labels=tuple(sound["method"]),
            unit=search.cost_model_.unit,
            score_name=score_name(search.scoring_),
        )
        display = cls(curve, name=name).plot(ax, **kwargs)
        display._mark_choice(search)
        return display

    def _mark_choice(self, search: Any) -> None:
        """Draw the budget as a line, and what is promised as a point with its bound."""
        if search.budget is not None:
            self.ax_.axvline(search.budget, color=MUTED, linewidth=1, linestyle=(0, (2, 2)), label="budget")
        promise = getattr(search, "promise_", None)
        if promise is not None:
            reach = [[0.0], [promise.spend_bound - promise.spend]]
            look: dict[str, Any] = {"marker": "o", "ms": 9, "color": INK, "capsize": 3, "zorder": 3}
            label = f"chosen: {promise.method}"
            self.ax_.errorbar([promise.spend], [promise.score], xerr=reach, linestyle="", label=label, **look)
        if self.ax_.get_legend_handles_labels()[0]:
            _show_legend(self.ax_)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "CostCurveDisplay":
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs
            Style of the staircase, such as ``color`` or ``linestyle``; the points take its colour.

        Returns
        -------
        CostCurveDisplay
            The display itself.
        """
        self.ax_ = ax = new_axes() if ax is None else ax
        self.figure_ = ax.figure
        if not ax.has_data():
            dress(ax)
        self._draw_curve(kwargs)
        if self.reference is not None:
            _draw_reference(ax, *self.reference)
        ax.set(xlabel=_spend_axis(self.curve.unit), ylabel=self.curve.score_name)
        if ax.get_legend_handles_labels()[0]:
            _show_legend(ax)
        return self

    def _draw_curve(self, style: dict[str, Any]) -> None:
        curve, ax = self.curve, self.ax_
        line: dict[str, Any] = {"linewidth": 1.8, "solid_joinstyle": "miter", "label": self.name} | style
        (self.line_,) = ax.plot(*staircase(curve), **line)
        dot: dict[str, Any] = {"color": self.line_.get_color(), "linestyle": "", "marker": "o"}
        beaten, kept = np.setdiff1d(np.arange(len(curve)), curve.frontier), curve.frontier
        ax.plot(curve.spend[beaten], curve.score[beaten], ms=4.5, markerfacecolor="white", alpha=0.6, **dot)
        ax.plot(curve.spend[kept], curve.score[kept], ms=7, markeredgecolor="white", **dot)
        ax.update_datalim([(0, curve.score.max())])  # the axis begins at nothing spent
        ax.autoscale_view()


def staircase(curve: CostCurve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners of the line "best score to be had for a mean spend of at most b", up to the largest spend."""
    frontier = curve.frontier
    spend = np.append(curve.spend[frontier], curve.spend.max())
    score = curve.score[frontier]
    return np.repeat(spend, 2)[1:-1], np.repeat(score, 2)


def _draw_reference(ax: Axes, spend: float | None, score: float, name: str) -> None:
    look: dict[str, Any] = {"color": MUTED, "linewidth": 1, "linestyle": (0, (2, 2)), "zorder": 1.5}
    if spend is None:
        ax.axhline(score, label=name, **look)
    else:
        ax.axhline(score, **look)
        ax.plot([spend], [score], label=name, marker="D", markeredgecolor="white", **look)


def _show_legend(ax: Axes) -> None:
    ax.legend(labelcolor=INK, fontsize=9, facecolor="white", edgecolor="none", framealpha=0.9)


def _spend_axis(unit: str) -> str:
    return f"mean spend per row ({unit})" if unit else "mean spend per row"
