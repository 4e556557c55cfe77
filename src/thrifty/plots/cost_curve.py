"""Plot of a cost curve: all measured points, and the best score within each budget as a step line."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike, NDArray

from thrifty.metrics import CostCurve, cost_curve
from thrifty.metrics.curves import score_name
from thrifty.plots.axes import new_axes, show_legend, style_axes
from thrifty.plots.fitted import check_fitted
from thrifty.plots.palette import LINE_COLOR, MUTED_COLOR, TEXT_COLOR
from thrifty.plots.search_points import draw_anchors, draw_points, draw_same_for_all
from thrifty.tuning.comparisons import complete, succeeded

Reference = tuple[float | None, float, str]
LINE_OF_SEARCH = LINE_COLOR  # the points have the colours
SEARCH_SIZE = (9.6, 4.8)  # inches, with room for the legend at the right


class CostCurveDisplay:
    """Plot of the score against the mean spend per row.

    The step line shows, for each budget b, the best measured score among the points whose mean spend is at most b.
    Points on the frontier are filled. Dominated points are hollow. To draw several curves into one plot, pass
    ``ax_`` of the first display as ``ax`` of the next one.

    Parameters
    ----------
    curve : CostCurve
        Points of the curve.
    name : str, default=None
        Name of the curve in the legend. None shows no entry.
    reference : (float or None, float, str), default=None
        Mean spend, score and name of a model to compare with, such as a model that acquires all features. If the
        spend is None, only a horizontal line at the score is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot. Set by `plot`.
    figure_ : matplotlib Figure
        Figure of the plot. Set by `plot`.
    line_ : matplotlib Line2D
        The step line. Set by `plot`.

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
        """Plot a curve that is already measured.

        Parameters
        ----------
        curve : CostCurve
            Points of the curve.
        name : str, default=None
            Name of the curve in the legend. None shows no entry.
        reference : (float or None, float, str), default=None
            Mean spend, score and name of a model to compare with. If the spend is None, only a horizontal line at
            the score is drawn.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the step line, such as ``color`` or ``linestyle``, passed to matplotlib's ``plot``.

        Returns
        -------
        CostCurveDisplay
            The display, already plotted.
        """
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
        spend: str = "all",
        name: str | None = None,
        reference: Reference | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "CostCurveDisplay":
        """Measure fitted models with `thrifty.metrics.cost_curve` and plot the curve.

        Parameters
        ----------
        models : estimator, sequence of estimators, or dict of str to estimator
            Fitted estimators with a method ``spend``.
        X : array-like of shape (n, d)
            Rows to measure on. Use rows on which no model was fitted.
        y : array-like of shape (n,)
            True labels of the rows.
        scoring : str or callable, default=None
            Name of a scikit-learn scorer, or a callable ``scorer(estimator, X, y)``. Larger is better. None takes
            accuracy for classifiers and R² for regressors.
        caps : iterable of float or None, default=None
            Hard limits on the spend of each row, for a single model: one point per cap. A cap of None means no limit.
        labels : sequence of str, default=None
            Name of each point. None takes the keys of the dict, the caps, or the class names of the models.
        spend : {"all", "features"}, default="all"
            The spend to measure: all that rows are charged, or only what they are charged for features.
        name : str, default=None
            Name of the curve in the legend. None shows no entry.
        reference : (float or None, float, str), default=None
            Mean spend, score and name of a model to compare with. If the spend is None, only a horizontal line at
            the score is drawn.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the step line, such as ``color`` or ``linestyle``, passed to matplotlib's ``plot``.

        Returns
        -------
        CostCurveDisplay
            The display, already plotted.
        """
        curve = cost_curve(models, X, y, scoring=scoring, caps=caps, labels=labels, spend=spend)
        return cls.from_curve(curve, name=name, reference=reference, ax=ax, **kwargs)

    @classmethod
    def from_search(
        cls, search: Any, *, name: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> "CostCurveDisplay":
        """Plot all points of a fitted `thrifty.BudgetSearchCV`, its anchors, its budget, and the chosen point.

        Each method has its colour. Points on the frontier are filled, dominated ones are hollow, and points that were
        dropped before the last fold are faint. A horizontal error bar shows the upper bound on the mean spend of the
        chosen point, and a ring marks the best point within its spend that buys the same columns for every row.
        Candidates whose fit failed are left out.

        Parameters
        ----------
        search : BudgetSearchCV
            A fitted search.
        name : str, default=None
            Name of the step line in the legend. None shows no entry.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the step line, such as ``color`` or ``linestyle``, passed to matplotlib's ``plot``.

        Returns
        -------
        CostCurveDisplay
            The display, already plotted.
        """
        check_fitted(search)
        points = succeeded(search.frontier_.to_dict("records"))
        measured = complete(points)
        curve = CostCurve(
            np.array([point["spend"] for point in measured]),
            np.array([point["score"] for point in measured]),
            labels=tuple(point["method"] for point in measured),
            unit=search.cost_model_.unit,
            score_name=score_name(search.scoring_),
        )
        ax = new_axes(*SEARCH_SIZE) if ax is None else ax
        display = cls(curve, name=name)
        display._plot_search(search, points, ax, {"color": LINE_OF_SEARCH} | kwargs)
        return display

    def _plot_search(self, search: Any, points: Sequence[Any], ax: Axes, style: dict[str, Any]) -> None:
        self._begin(ax)
        self._draw_line(style)
        draw_points(ax, points)
        if (anchors := getattr(search, "anchors_", None)) is not None:
            draw_anchors(ax, anchors.to_dict("index"))
        self._mark_choice(search)
        if (promise := getattr(search, "promise_", None)) is not None:
            draw_same_for_all(ax, points, promise.spend)
        self._end(loc="upper left", bbox_to_anchor=(1.01, 1.0))  # at the right of the axes

    def _mark_choice(self, search: Any) -> None:
        """Draw the budget as a vertical line, and the chosen point with the upper bound on its mean spend."""
        if search.budget is not None:
            self.ax_.axvline(search.budget, color=MUTED_COLOR, linewidth=1, linestyle=(0, (2, 2)), label="budget")
        promise = getattr(search, "promise_", None)
        if promise is not None:
            to_bound = [[0.0], [max(promise.spend_bound - promise.spend, 0.0)]]
            style: dict[str, Any] = {"marker": "*", "ms": 15, "color": TEXT_COLOR, "capsize": 3, "zorder": 4}
            label = f"chosen: {promise.method}"
            self.ax_.errorbar([promise.spend], [promise.score], xerr=to_bound, linestyle="", label=label, **style)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "CostCurveDisplay":
        """Plot the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the step line, such as ``color`` or ``linestyle``, passed to matplotlib's ``plot``. The points have
            the colour of the line.

        Returns
        -------
        CostCurveDisplay
            The display itself.
        """
        self._begin(new_axes() if ax is None else ax)
        self._draw_line(kwargs)
        self._draw_dots()
        if self.reference is not None:
            _draw_reference(self.ax_, *self.reference)
        self._end()
        return self

    def _begin(self, ax: Axes) -> None:
        self.ax_, self.figure_ = ax, ax.figure
        if not ax.has_data():
            style_axes(ax)

    def _draw_line(self, style: dict[str, Any]) -> None:
        line: dict[str, Any] = {"linewidth": 1.8, "solid_joinstyle": "miter", "label": self.name} | style
        (self.line_,) = self.ax_.plot(*step_line(self.curve), **line)

    def _draw_dots(self) -> None:
        curve, ax = self.curve, self.ax_
        dot: dict[str, Any] = {"color": self.line_.get_color(), "linestyle": "", "marker": "o"}
        best, dominated = curve.frontier, np.setdiff1d(np.arange(len(curve)), curve.frontier)
        ax.plot(curve.spend[dominated], curve.score[dominated], ms=4.5, markerfacecolor="white", alpha=0.6, **dot)
        ax.plot(curve.spend[best], curve.score[best], ms=7, markeredgecolor="white", **dot)

    def _end(self, **legend: Any) -> None:
        """Set the limits and the labels of the axes, and show the legend."""
        self.ax_.update_datalim([(0, self.curve.score.max())])  # the axis of the spend starts at 0
        self.ax_.autoscale_view()
        self.ax_.set(xlabel=_spend_label(self.curve), ylabel=self.curve.score_name)
        show_legend(self.ax_, **legend)


def step_line(curve: CostCurve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the spends and scores of the corners of the step line, up to the largest spend.

    The line has, at each budget b, the height of the best score among the points with a mean spend of at most b.
    """
    frontier = curve.frontier
    spend = np.append(curve.spend[frontier], curve.spend.max())
    score = curve.score[frontier]
    return np.repeat(spend, 2)[1:-1], np.repeat(score, 2)


def _draw_reference(ax: Axes, spend: float | None, score: float, name: str) -> None:
    style: dict[str, Any] = {"color": MUTED_COLOR, "linewidth": 1, "linestyle": (0, (2, 2)), "zorder": 1.5}
    if spend is None:
        ax.axhline(score, label=name, **style)
    else:
        ax.axhline(score, **style)
        ax.plot([spend], [score], label=name, marker="D", markeredgecolor="white", **style)


def _spend_label(curve: CostCurve) -> str:
    return f"mean {curve.spend_name} per row" + (f" ({curve.unit})" if curve.unit else "")
