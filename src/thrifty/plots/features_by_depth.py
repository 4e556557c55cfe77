"""Plot of the share of cheap and of expensive features that a tree has acquired, by depth.

Such plots are Figures 8 and 9 of Xu et al. (2014), JMLR 15.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from thrifty.costs import Ledger
from thrifty.plots.axes import new_axes, style_axes
from thrifty.plots.fitted import purchases_of
from thrifty.plots.palette import TEXT_COLOR

CHEAP_TO_EXPENSIVE = LinearSegmentedColormap.from_list("thrifty_prices", ["#8fb8d6", "#2f6690", "#6b4a78", "#c8641f"])
MARKERS = "osD^vP*X"
MAX_GROUPS = len(MARKERS)  # one group per price up to this number of prices
N_QUANTILE_GROUPS = 6  # otherwise groups of about equal size
LEGEND_WIDTH = 18  # characters


@dataclass(frozen=True, eq=False)
class FeaturesByDepth:
    """Share of the features of each price group that are acquired at a depth or above it.

    Attributes
    ----------
    groups : tuple of str
        Price or range of prices of each group.
    sizes : tuple of int
        Number of features of each group.
    share : ndarray of shape (n_groups, n_depths)
        Share of the features of each group that are acquired at each depth or above it. The root is the first column.
    unit : str
        Unit of the prices.
    """

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    share: NDArray[np.float64]
    unit: str


def features_by_depth(
    estimator: Any, price_groups: Sequence[float] | None = None, *, learned: bool = False
) -> FeaturesByDepth:
    """Compute the share of the features that a fitted tree has acquired, by depth and by price.

    Parameters
    ----------
    estimator : fitted tree estimator
        Object with ``tree_``, ``cost_model_`` and ``node_purchases``.
    price_groups : sequence of float, default=None
        Highest price of each group, in increasing order. None makes one group per price, or six groups of about
        equal size if there are more than eight prices.
    learned : bool, default=False
        Whether nodes acquire the features that they weigh as learned, before fine-tuning.

    Returns
    -------
    FeaturesByDepth
        Groups, their sizes and their shares.
    """
    purchases = purchases_of(estimator, learned)
    prices, depth = Ledger(estimator.cost_model_).prices, estimator.tree_.depth
    bought = [purchases[depth == d].any(axis=0) for d in range(depth.max() + 1)]
    acquired = np.logical_or.accumulate(bought)
    group_of = np.searchsorted(_upper_bounds(prices, price_groups), prices)
    members = [group_of == g for g in np.unique(group_of)]
    return FeaturesByDepth(
        groups=tuple(_price_range(prices[group]) for group in members),
        sizes=tuple(int(group.sum()) for group in members),
        share=np.array([acquired[:, group].mean(axis=1) for group in members]),
        unit=estimator.cost_model_.unit,
    )


class FeaturesByDepthDisplay:
    """Plot of the share of features that a tree has acquired at each depth, one line per price group.

    A feature counts as acquired from the first depth at which any node buys it, no matter how many rows reach that
    node. The root is at depth 1.

    Parameters
    ----------
    content : FeaturesByDepth
        Groups and shares to plot. `from_estimator` computes them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot. Set by `plot`.
    figure_ : matplotlib Figure
        Figure of the plot. Set by `plot`.
    lines_ : list of matplotlib Line2D
        One line per group, from the cheapest to the most expensive. Set by `plot`.

    Examples
    --------
    The tree buys the two cheap features in the first two levels and the four expensive features in the third level:

    >>> from matplotlib.figure import Figure
    >>> from thrifty import ASTCRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> from thrifty.plots import FeaturesByDepthDisplay
    >>> data = make_quadrants(2000, random_state=0)
    >>> model = ASTCRegressor(costs=data.costs, max_depth=3, node_budget=[1, 1, 10]).fit(data.X, data.y)
    >>> display = FeaturesByDepthDisplay.from_estimator(model, ax=Figure().subplots())
    >>> display.content.groups, display.content.sizes
    (('1', '10'), (2, 4))
    >>> display.content.share
    array([[0.5, 1. , 1. ],
           [0. , 0. , 1. ]])
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, content: FeaturesByDepth):
        self.content = content

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        price_groups: Sequence[float] | None = None,
        learned: bool = False,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "FeaturesByDepthDisplay":
        """Plot the features that a fitted tree acquires, by depth and by price.

        Parameters
        ----------
        estimator : fitted tree estimator
            Object with ``tree_``, ``cost_model_`` and ``node_purchases``.
        price_groups : sequence of float, default=None
            Highest price of each group, in increasing order. The price of a feature is its cost if it is acquired
            alone, including its bundles. None makes one group per price, or six groups of about equal size if
            there are more than eight prices.
        learned : bool, default=False
            Whether to show the features that nodes weigh as learned, before fine-tuning, as the paper does. Only for
            CSTC, CSCC, Cronus and AND-OR cascades.
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the lines, such as ``linewidth``, passed to matplotlib's ``plot``.

        Returns
        -------
        FeaturesByDepthDisplay
            The display, already plotted.
        """
        return cls(features_by_depth(estimator, price_groups, learned=learned)).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "FeaturesByDepthDisplay":
        """Plot the shares.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. None creates a new figure.
        **kwargs
            Style of the lines, such as ``linewidth``, passed to matplotlib's ``plot``.

        Returns
        -------
        FeaturesByDepthDisplay
            The display itself.
        """
        self.ax_ = ax = new_axes() if ax is None else ax
        self.figure_ = ax.figure
        style_axes(ax)
        self._draw_lines(kwargs)
        ax.set(xlabel="depth", ylabel="share of features acquired", ylim=(-0.03, 1.03))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1))
        self._draw_legend()
        return self

    def _draw_lines(self, style: dict[str, Any]) -> None:
        """Draw one line per group. Later lines are thinner, so lines at the same place are all visible."""
        content = self.content
        depths, n_groups = np.arange(content.share.shape[1]) + 1, len(content.groups)
        colors = CHEAP_TO_EXPENSIVE(np.linspace(0, 1, n_groups))
        widths, sizes = np.linspace(3, 1.2, n_groups), np.linspace(9.5, 4.5, n_groups)
        self.lines_ = []
        for g, share in enumerate(content.share):
            default = {"color": colors[g], "marker": MARKERS[g % len(MARKERS)], "lw": widths[g], "ms": sizes[g]}
            label = f"{content.groups[g]} ({content.sizes[g]})"
            self.lines_ += self.ax_.plot(depths, share, label=label, clip_on=False, **default | style)

    def _draw_legend(self) -> None:
        unit = f" in {self.content.unit}" if self.content.unit else ""
        title = fill(f"price{unit} (features)", LEGEND_WIDTH, break_on_hyphens=False)
        style: dict[str, Any] = {"labelcolor": TEXT_COLOR, "fontsize": 9, "title_fontsize": 9, "frameon": False}
        legend = self.ax_.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5), alignment="left", **style)
        legend.get_title().set_color(TEXT_COLOR)


def _upper_bounds(prices: NDArray[np.float64], price_groups: Sequence[float] | None) -> NDArray[np.float64]:
    """Return the highest price of each group, in increasing order."""
    if price_groups is None:
        distinct = np.unique(prices)
        if len(distinct) <= MAX_GROUPS:
            return distinct
        return np.unique(np.quantile(prices, np.arange(1, N_QUANTILE_GROUPS + 1) / N_QUANTILE_GROUPS, method="higher"))
    bounds = np.asarray(price_groups, dtype=float)
    if bounds.ndim != 1 or not (np.diff(bounds) > 0).all() or not (bounds >= prices.max()).any():
        raise ValueError(
            f"price_groups is {price_groups!r}; expected the highest price of each group in increasing order, "
            f"the last at least {prices.max():g}, the price of the most expensive feature."
        )
    return bounds


def _price_range(prices: NDArray[np.float64]) -> str:
    low, high = f"{prices.min():.4g}", f"{prices.max():.4g}"
    return low if low == high else f"{low} to {high}"
