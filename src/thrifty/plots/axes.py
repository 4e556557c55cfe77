"""What displays draw on: quiet plain axes, or a canvas measured in inches on which text keeps its proportions."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from thrifty.plots.palette import CYCLE, INK, MUTED, RULE
from thrifty.plots.text import QUIET, TextStyle, text_width

LARGEST_FIGURE = 40.0
KEY_HEIGHT, KEY_GAP, SCALE_STEP = 0.11, 0.09, 1.1 / 64

Color = tuple[float, float, float]
KeyItem = str | list[Color]  # words, or a strip of colours


def new_axes(width: float = 6.4, height: float = 4.2) -> Axes:
    """Axes of a new figure, with room for their labels."""
    import matplotlib.pyplot as plt  # only here: axes handed in must never touch pyplot's state

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def dress(ax: Axes) -> None:
    """Give axes the project's colours, and nothing that competes with the data."""
    ax.set_prop_cycle(color=CYCLE)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(RULE)
    ax.tick_params(color=RULE, labelcolor=MUTED, labelsize=9)
    ax.grid(axis="y", color=RULE, linewidth=0.6, alpha=0.7)
    ax.set_axisbelow(True)
    ax.margins(x=0.03, y=0.06)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(color=INK, fontsize=10)


class Canvas:
    """Axes whose unit is an inch of a layout, on which text is written in the size that then fits.

    Parameters
    ----------
    ax : matplotlib Axes or None
        Where to draw, scaled to fit; None makes a new figure of the layout's size.
    corner : (float, float)
        Where the lower left corner is in the layout.
    size : (float, float)
        Width and height of the layout.
    """

    def __init__(self, ax: Axes | None, corner: tuple[float, float], size: tuple[float, float]):
        (left, bottom), (width, height) = corner, size
        self.ax = ax = _figure_of_size(width, height) if ax is None else ax
        ax.set(xlim=(left, left + width), ylim=(bottom, bottom + height), aspect="equal")
        ax.set_axis_off()
        drawn = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        self.scale = min(drawn.width / width, drawn.height / height)

    def write(self, left: float, middle: float, text: str, style: TextStyle) -> None:
        """Write a line of text; no character has a special meaning."""
        size = style.size * self.scale
        look: dict[str, Any] = {"fontsize": size, "fontweight": style.weight, "color": style.color}
        self.ax.text(left, middle, text, va="center_baseline", ha="left", parse_math=False, **look)

    def draw_key(self, left: float, middle: float, items: Sequence[KeyItem]) -> None:
        """Explain colours in a line of words and strips of colour."""
        for item in items:
            if isinstance(item, str):
                self.write(left, middle, item, QUIET)
            else:
                self._draw_strip(left, middle - KEY_HEIGHT / 2, _item_width(item) / len(item), item)
            left += _item_width(item) + KEY_GAP

    def _draw_strip(self, left: float, bottom: float, width: float, colors: list[Color]) -> None:
        for i, color in enumerate(colors):
            corner = (left + i * width, bottom)
            self.ax.add_patch(Rectangle(corner, width, KEY_HEIGHT, color=color, linewidth=0.3))


def key_width(items: Sequence[KeyItem]) -> float:
    """Room that a key takes, in inches."""
    return sum(_item_width(item) + KEY_GAP for item in items)


def _item_width(item: KeyItem) -> float:
    return text_width(item, QUIET) if isinstance(item, str) else max(KEY_HEIGHT, SCALE_STEP * len(item))


def _figure_of_size(width: float, height: float) -> Axes:
    import matplotlib.pyplot as plt  # only here: axes handed in must never touch pyplot's state

    scale = min(1.0, LARGEST_FIGURE / max(width, height))
    return plt.figure(figsize=(width * scale, height * scale)).add_axes((0, 0, 1, 1))
