"""The picture of how policies were learned: what they earn on held-out rows, iteration by iteration."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from thrifty.plots.axes import dress, new_axes
from thrifty.plots.palette import INK

MEASURES = ("reward", "accuracy", "cost")


class LearningCurveDisplay:
    """Reward, accuracy or cost of the policy of each iteration, the one that was kept marked.

    Draw several curves into one picture by handing ``ax_`` of the first to the next.

    Parameters
    ----------
    curve : LearningCurve
        As a fitted `DynamicSelectionClassifier` keeps it in ``learning_curve_``.
    measure : {"reward", "accuracy", "cost"}, default="reward"
        What is drawn.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture, once plotted.
    figure_ : matplotlib Figure
        Figure of the picture, once plotted.
    line_ : matplotlib Line2D
        The curve, once plotted.

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
        """Draw the learning curve of a fitted model; ``kwargs`` style the line as in `plot`."""
        if not hasattr(model, "learning_curve_"):
            raise TypeError(
                f"{type(model).__name__} has no learning_curve_; expected a fitted DynamicSelectionClassifier."
            )
        return cls(model.learning_curve_, measure=measure, name=name).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "LearningCurveDisplay":
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs
            Style of the line, such as ``color`` or ``linestyle``.

        Returns
        -------
        LearningCurveDisplay
            The display itself.
        """
        self.ax_ = ax = new_axes() if ax is None else ax
        self.figure_ = ax.figure
        if not ax.has_data():
            dress(ax)
        values, best = getattr(self.curve, self.measure), self.curve.best
        iterations = np.arange(1, len(values) + 1)
        style: dict[str, Any] = {"linewidth": 1.8, "marker": "o", "ms": 4, "label": self.name} | kwargs
        (self.line_,) = ax.plot(iterations, values, **style)
        ax.plot(iterations[best], values[best], marker="o", ms=9, color=self.line_.get_color(), markeredgecolor="white")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="iteration", ylabel=_described(self.measure))
        if ax.get_legend_handles_labels()[0]:
            ax.legend(labelcolor=INK, fontsize=9, facecolor="white", edgecolor="none", framealpha=0.9)
        return self


def _described(measure: str) -> str:
    if measure == "cost":
        return "mean cost of held-out rows, share of all"
    return "accuracy on held-out rows" if measure == "accuracy" else "mean reward of held-out rows"
