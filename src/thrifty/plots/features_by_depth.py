"""The picture of what is bought how deep in a tree: the share of cheap and of dear features that it has acquired.

Figures 8 and 9 of Xu et al. (2014), JMLR 15.
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
from thrifty.plots.axes import dress, new_axes
from thrifty.plots.palette import INK

CHEAP_TO_DEAR = LinearSegmentedColormap.from_list("thrifty_prices", ["#8fb8d6", "#2f6690", "#6b4a78", "#c8641f"])
MARKERS = "osD^vP*X"
MOST_GROUPS = len(MARKERS)
LEGEND_WIDTH = 18  # characters


@dataclass(frozen=True, eq=False)
class FeaturesByDepth:
    """How much of each group of features is acquired at each depth or above it.

    ``share`` has a row per group and a column per depth, the root first; ``groups`` names the groups by their
    prices, and ``sizes`` counts their features.
    """

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    share: NDArray[np.float64]
    unit: str


def features_by_depth(estimator: Any, price_groups: Sequence[float] | None = None) -> FeaturesByDepth:
    """Count what the nodes of a fitted tree buy, by depth and by price; parameters as in `FeaturesByDepthDisplay`."""
    prices, depth = Ledger(estimator.cost_model_).prices, estimator.tree_.depth
    purchases = estimator.node_purchases()
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
    """Share of the features of each price that a tree has acquired by each depth.

    A feature counts from the first depth on at which some node buys it, whichever rows get there. The root is at
    depth 1.

    Parameters
    ----------
    content : FeaturesByDepth
        What the picture says; `from_estimator` finds it out.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture, once plotted.
    figure_ : matplotlib Figure
        Figure of the picture, once plotted.
    lines_ : list of matplotlib Line2D
        One line per group, from the cheapest to the dearest, once plotted.

    Examples
    --------
    The cheap signs of the quadrants are bought in the first two levels, the four dear features in the third:

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
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "FeaturesByDepthDisplay":
        """Draw what a fitted tree buys, by depth and by price.

        Parameters
        ----------
        estimator : fitted tree estimator
            Anything with ``tree_``, ``cost_model_`` and ``node_purchases``.
        price_groups : sequence of float, default=None
            Highest price of each group, in increasing order; a feature is priced as if bought on its own. None
            makes a group of each price, or where there are more than eight, groups of about equal size.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs
            Style of the lines, as in `plot`.

        Returns
        -------
        FeaturesByDepthDisplay
            The display, plotted.
        """
        return cls(features_by_depth(estimator, price_groups)).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "FeaturesByDepthDisplay":
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure when None.
        **kwargs
            Style of the lines, such as ``linewidth``.

        Returns
        -------
        FeaturesByDepthDisplay
            The display itself.
        """
        self.ax_ = ax = new_axes() if ax is None else ax
        self.figure_ = ax.figure
        dress(ax)
        self._draw_lines(kwargs)
        ax.set(xlabel="depth", ylabel="share of features acquired", ylim=(-0.03, 1.03))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1))
        self._draw_legend()
        return self

    def _draw_lines(self, style: dict[str, Any]) -> None:
        """Draw later lines thinner, so that lines in one place can all be seen."""
        content = self.content
        depths, n_groups = np.arange(content.share.shape[1]) + 1, len(content.groups)
        colors = CHEAP_TO_DEAR(np.linspace(0, 1, n_groups))
        widths, sizes = np.linspace(3, 1.2, n_groups), np.linspace(9.5, 4.5, n_groups)
        self.lines_ = []
        for g, share in enumerate(content.share):
            look = {"color": colors[g], "marker": MARKERS[g % len(MARKERS)], "lw": widths[g], "ms": sizes[g]}
            label = f"{content.groups[g]} ({content.sizes[g]})"
            self.lines_ += self.ax_.plot(depths, share, label=label, clip_on=False, **look | style)

    def _draw_legend(self) -> None:
        unit = f" in {self.content.unit}" if self.content.unit else ""
        title = fill(f"price{unit} (features)", LEGEND_WIDTH, break_on_hyphens=False)
        look: dict[str, Any] = {"labelcolor": INK, "fontsize": 9, "title_fontsize": 9, "frameon": False}
        legend = self.ax_.legend(title=title, loc="center left", bbox_to_anchor=(1.0, 0.5), alignment="left", **look)
        legend.get_title().set_color(INK)


def _upper_bounds(prices: NDArray[np.float64], price_groups: Sequence[float] | None) -> NDArray[np.float64]:
    """Highest price of each group, in increasing order."""
    if price_groups is None:
        distinct = np.unique(prices)
        if len(distinct) <= MOST_GROUPS:
            return distinct
        return np.unique(np.quantile(prices, np.arange(1, 7) / 6, method="higher"))
    bounds = np.asarray(price_groups, dtype=float)
    if bounds.ndim != 1 or not (np.diff(bounds) > 0).all() or not (bounds >= prices.max()).any():
        raise ValueError(
            f"price_groups is {price_groups!r}; expected the highest price of each group in increasing order, the "
            f"last at least {prices.max():g}, the dearest feature's."
        )
    return bounds


def _price_range(prices: NDArray[np.float64]) -> str:
    low, high = f"{prices.min():.4g}", f"{prices.max():.4g}"
    return low if low == high else f"{low} to {high}"
