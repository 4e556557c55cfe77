"""Plot of the learning curve of a policy: reward, score or cost on held-out rows, by iteration."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from thrifty.plots.axes import new_axes, show_legend, style_axes
from thrifty.plots.fitted import check_fitted

AXIS_LABELS = {
    "reward": "mean reward of held-out rows",
    "score": "score (accuracy or R²) on held-out rows",
    "cost": "mean cost of held-out rows, share of all",
}
MEASURES = tuple(AXIS_LABELS)


class LearningCurveDisplay:
    """Plot of the reward, score or cost of the policy of each iteration.

    A larger dot marks the iteration whose policy the model uses: the one with the largest reward. To draw several
    curves into one plot, pass ``ax_`` of the first display as ``ax`` of the next one.

    Parameters
    ----------
    curve : LearningCurve
        The attribute ``learning_curve_`` of a fitted `thrifty.DynamicSelectionClassifier` or
        `thrifty.DynamicSelectionRegressor`.
    measure : {"reward", "score", "cost"}, default="reward"
        The measure to plot, on held-out rows: the mean reward, the accuracy or R², or the mean cost as a share of the
        cost of all features.
    name : str, default=None
        Name of the curve in the legend. None shows no entry.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot. Set by `plot`.
    figure_ : matplotlib Figure
        Figure of the plot. Set by `plot`.
    line_ : matplotlib Line2D
        The curve. Set by `plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from thrifty import DynamicSelectionClassifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.plots import LearningCurveDisplay
    >>> heart = load_heart()
    >>> model = DynamicSelectionClassifier(costs=heart.costs, n_iterations=3, random_state=0).fit(heart.X, heart.y)
    >>> display = LearningCurveDisplay.from_estimator(model, name="coaching", ax=Figure().subplots())
    >>> display.ax_.get_ylabel()
    'mean reward of held-out rows'
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, curve: Any, *, measure: str = "reward", name: str | None = None):
        if measure not in MEASURES:
            raise ValueError(f"measure is {measure!r}; expected one of {', '.join(map(repr, MEASURES))}.")
        self.curve = curve
        self.measure = measure
        self.name = name

    @classmethod
    def from_estimator(
        cls, model: Any, *, measure: str = "reward", name: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> "LearningCurveDisplay":
        """Plot the learning curve of a fitted model.

        Parameters
        ----------
        model : DynamicSelectionClassifier or DynamicSelectionRegressor
            A fitted model.
        measure : {"reward", "score", "cost"}, default="reward"
            The measure to plot.
        name : str, default=None
            Name of the curve in the legend. None shows no entry.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the line, such as ``color`` or ``linestyle``, passed to matplotlib's ``plot``.

        Returns
        -------
        LearningCurveDisplay
            The display, already plotted.
        """
        check_fitted(model)
        if not hasattr(model, "learning_curve_"):
            raise TypeError(
                f"{type(model).__name__} has no learning_curve_; expected a fitted DynamicSelectionClassifier or "
                "DynamicSelectionRegressor."
            )
        return cls(model.learning_curve_, measure=measure, name=name).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "LearningCurveDisplay":
        """Plot the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the line, such as ``color`` or ``linestyle``, passed to matplotlib's ``plot``.

        Returns
        -------
        LearningCurveDisplay
            The display itself.
        """
        self.ax_ = ax = new_axes() if ax is None else ax
        self.figure_ = ax.figure
        if not ax.has_data():
            style_axes(ax)
        values, best = getattr(self.curve, self.measure), self.curve.best
        iterations = np.arange(1, len(values) + 1)
        style: dict[str, Any] = {"linewidth": 1.8, "marker": "o", "ms": 4, "label": self.name} | kwargs
        (self.line_,) = ax.plot(iterations, values, **style)
        ax.plot(iterations[best], values[best], marker="o", ms=9, color=self.line_.get_color(), markeredgecolor="white")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="iteration", ylabel=AXIS_LABELS[self.measure])
        show_legend(ax)
        return self
