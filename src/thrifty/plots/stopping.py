"""The picture of early stopping: how often the answer changes, against how many terms are evaluated."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import PercentFormatter

from thrifty.models.stopping.curves import StopErrorCurve, attentive_curve, truncated_curve
from thrifty.plots.axes import dress, new_axes
from thrifty.plots.palette import INK

HIGHEST = 0.3  # stop-error up to which curves are shown; nobody wants more


class StopErrorDisplay:
    """Stop-error against mean terms: rows stopped when they are decided, beside all rows stopped at the same term.

    Draw several models into one picture by handing ``ax_`` of the first to the next.

    Parameters
    ----------
    curves : dict of str to StopErrorCurve
        The curves and their names in the legend.
    n_terms : int
        How many terms the full predictor has.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture, once plotted.
    figure_ : matplotlib Figure
        Figure of the picture, once plotted.
    lines_ : list of matplotlib Line2D
        The curves, once plotted.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_breast_cancer
    >>> from thrifty import AttentiveClassifier
    >>> from thrifty.plots import StopErrorDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AttentiveClassifier().fit(X[::2], y[::2])
    >>> display = StopErrorDisplay.from_estimator(model, X[1::2], ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'mean terms evaluated per row, of 30'
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, curves: Mapping[str, StopErrorCurve], *, n_terms: int):
        self.curves = dict(curves)
        self.n_terms = n_terms

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, name: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> "StopErrorDisplay":
        """Measure a fitted AttentiveClassifier on rows, beside the truncation of its own terms, and draw both.

        Parameters
        ----------
        model : AttentiveClassifier
        X : array-like or sparse matrix of shape (n, n_features)
        name : str, optional
            What the model is called in the legend; "attentive" by default.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs
            Style of the lines, such as ``linewidth``.

        Returns
        -------
        StopErrorDisplay
        """
        name = name or "attentive"
        curves = {name: attentive_curve(model, X), f"{name}, truncated": truncated_curve(model, X)}
        return cls(curves, n_terms=int(model.checkpoints_[-1])).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "StopErrorDisplay":
        """Draw the curves, the truncated ones dashed in the colour of the one before.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs
            Style of the lines, such as ``linewidth``.

        Returns
        -------
        StopErrorDisplay
            The display itself.
        """
        self.ax_ = ax = new_axes() if ax is None else ax
        self.figure_ = ax.figure
        if not ax.has_data():
            dress(ax)
            ax.set_xscale("log")
        self._draw_curves(kwargs)
        ax.set(xlabel=f"mean terms evaluated per row, of {self.n_terms}", ylabel="stop-error", ylim=(0, HIGHEST))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.legend(labelcolor=INK, fontsize=9, facecolor="white", edgecolor="none", framealpha=0.9)
        return self

    def _draw_curves(self, style: dict[str, Any]) -> None:
        self.lines_: list[Any] = []
        for name, curve in self.curves.items():
            look: dict[str, Any] = {"linewidth": 1.8, "label": name}
            if self.lines_ and name.endswith("truncated"):
                look |= {"linestyle": (0, (4, 2)), "color": self.lines_[-1].get_color()}
            self.lines_ += self.ax_.plot(curve.mean_terms, curve.stop_error, **look | style)
