"""Axes that displays draw on: styled matplotlib axes, or a canvas whose data unit is one inch."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from thrifty.plots.palette import COLOR_CYCLE, LINE_COLOR, MUTED_COLOR, TEXT_COLOR
from thrifty.plots.text import MUTED_STYLE, TextStyle, text_width

MAX_FIGURE_SIZE = 40.0  # inches
LEGEND_HEIGHT, LEGEND_GAP = 0.11, 0.09  # inches
COLOR_STEP = 1.1 / 64  # inches per colour of a strip

Color = tuple[float, float, float]
LegendItem = str | list[Color]  # a text, or the colours of a strip


def new_axes(width: float = 6.4, height: float = 4.2) -> Axes:
    """Return the axes of a new figure, with room for their labels."""
    import matplotlib.pyplot as plt  # imported here because plots into given axes must not change pyplot's state

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def style_axes(ax: Axes) -> None:
    """Set the colours, the grid and the margins of the axes."""
    ax.set_prop_cycle(color=COLOR_CYCLE)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LINE_COLOR)
    ax.tick_params(color=LINE_COLOR, labelcolor=MUTED_COLOR, labelsize=9)
    ax.grid(axis="y", color=LINE_COLOR, linewidth=0.6, alpha=0.7)
    ax.set_axisbelow(True)
    ax.margins(x=0.03, y=0.06)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(color=TEXT_COLOR, fontsize=10)


def show_legend(ax: Axes, **place: Any) -> None:
    """Show the legend of the axes if anything in them has a label."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(labelcolor=TEXT_COLOR, fontsize=9, facecolor="white", edgecolor="none", framealpha=0.9, **place)


def size_in_inches(ax: Axes) -> tuple[float, float]:
    """Return the width and height of the axes in inches of the figure."""
    extent = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return extent.width, extent.height


class Canvas:
    """Axes whose data unit is one inch of a layout.

    If the axes are smaller or larger than the layout, the layout and its text are scaled by the same factor.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Axes to draw in. None creates a new figure of the size of the layout.
    corner : (float, float)
        Coordinates of the lower left corner of the layout.
    size : (float, float)
        Width and height of the layout in inches.
    """

    def __init__(self, ax: Axes | None, corner: tuple[float, float], size: tuple[float, float]):
        (left, bottom), (width, height) = corner, size
        self.ax = ax = _figure_of_size(width, height) if ax is None else ax
        ax.set(xlim=(left, left + width), ylim=(bottom, bottom + height), aspect="equal")
        ax.set_axis_off()
        drawn_width, drawn_height = size_in_inches(ax)
        self.scale = min(drawn_width / width, drawn_height / height)

    def write(self, left: float, middle: float, text: str, style: TextStyle) -> None:
        """Write a line of text as it is, without interpreting mathematical markup such as ``$``."""
        font: dict[str, Any] = {"fontsize": style.size * self.scale, "fontweight": style.weight, "color": style.color}
        self.ax.text(left, middle, text, va="center_baseline", ha="left", parse_math=False, **font)

    def draw_legend(self, left: float, middle: float, items: Sequence[LegendItem]) -> None:
        """Draw a legend in one line: texts and strips of colours, from left to right."""
        for item in items:
            if isinstance(item, str):
                self.write(left, middle, item, MUTED_STYLE)
            else:
                self._draw_strip(left, middle - LEGEND_HEIGHT / 2, _item_width(item) / len(item), item)
            left += _item_width(item) + LEGEND_GAP

    def _draw_strip(self, left: float, bottom: float, width: float, colors: list[Color]) -> None:
        for i, color in enumerate(colors):
            corner = (left + i * width, bottom)
            self.ax.add_patch(Rectangle(corner, width, LEGEND_HEIGHT, color=color, linewidth=0.3))


def legend_width(items: Sequence[LegendItem]) -> float:
    """Return the width of a legend in inches."""
    return sum(_item_width(item) + LEGEND_GAP for item in items)


def _item_width(item: LegendItem) -> float:
    return text_width(item, MUTED_STYLE) if isinstance(item, str) else max(LEGEND_HEIGHT, COLOR_STEP * len(item))


def _figure_of_size(width: float, height: float) -> Axes:
    import matplotlib.pyplot as plt  # imported here because plots into given axes must not change pyplot's state

    scale = min(1.0, MAX_FIGURE_SIZE / max(width, height))
    return plt.figure(figsize=(width * scale, height * scale)).add_axes((0, 0, 1, 1))
