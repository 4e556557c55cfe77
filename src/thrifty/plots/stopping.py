"""Plot of early stopping: share of changed answers against the mean number of evaluated terms."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import PercentFormatter

from thrifty.models.stopping.curves import StopErrorCurve, attentive_curve, truncated_curve
from thrifty.plots.axes import new_axes, show_legend, style_axes
from thrifty.plots.fitted import check_fitted

MAX_STOP_ERROR = 0.3  # upper end of the axis; models with larger stop-errors are not useful


class StopErrorDisplay:
    """Plot of the stop-error against the mean number of evaluated terms.

    The stop-error is the share of rows whose answer differs from the answer of the full predictor. A solid line shows
    a model that stops each row when its answer is decided. A dashed line of the same colour shows truncation: all
    rows stop at the same term. To draw several models into one plot, pass ``ax_`` of the first display as ``ax`` of
    the next one.

    Parameters
    ----------
    curves : dict of str to StopErrorCurve
        Names in the legend, and curves. A curve whose name ends with "truncated" gets the dashed line, in the colour
        of the curve before it.
    n_terms : int
        Number of terms of the full predictor.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot. Set by `plot`.
    figure_ : matplotlib Figure
        Figure of the plot. Set by `plot`.
    lines_ : list of matplotlib Line2D
        One line per curve. Set by `plot`.

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
        """Measure a fitted model and the truncation of its terms on rows, and plot both curves.

        Parameters
        ----------
        model : AttentiveClassifier
            A fitted model.
        X : array-like or sparse matrix of shape (n, n_features)
            Rows to measure on.
        name : str, default=None
            Name of the model in the legend. None stands for "attentive".
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the lines, such as ``linewidth``, passed to matplotlib's ``plot``.

        Returns
        -------
        StopErrorDisplay
            The display, already plotted.
        """
        check_fitted(model)
        name = name or "attentive"
        curves = {name: attentive_curve(model, X), f"{name}, truncated": truncated_curve(model, X)}
        return cls(curves, n_terms=int(model.checkpoints_[-1])).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "StopErrorDisplay":
        """Plot the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the lines, such as ``linewidth``, passed to matplotlib's ``plot``.

        Returns
        -------
        StopErrorDisplay
            The display itself.
        """
        self.ax_ = ax = new_axes() if ax is None else ax
        self.figure_ = ax.figure
        if not ax.has_data():
            style_axes(ax)
            ax.set_xscale("log")
        self._draw_curves(kwargs)
        ax.set(xlabel=f"mean terms evaluated per row, of {self.n_terms}", ylabel="stop-error", ylim=(0, MAX_STOP_ERROR))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.xaxis.set_major_formatter("{x:g}")
        show_legend(ax)
        return self

    def _draw_curves(self, style: dict[str, Any]) -> None:
        self.lines_: list[Any] = []
        for name, curve in self.curves.items():
            default: dict[str, Any] = {"linewidth": 1.8, "label": name}
            if self.lines_ and name.endswith("truncated"):
                default |= {"linestyle": (0, (4, 2)), "color": self.lines_[-1].get_color()}
            self.lines_ += self.ax_.plot(curve.mean_terms, curve.stop_error, **default | style)
