"""Lines of text on a canvas: how they look, and how much room they take, in inches."""

from typing import NamedTuple

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from thrifty.plots.palette import INK, MUTED

POINTS_PER_INCH = 72
LINE_SPACING = 1.5
HINTING = 1.04


class TextStyle(NamedTuple):
    """How a line of text looks; size in points."""

    size: float
    weight: str
    color: str


TITLE = TextStyle(9.0, "bold", INK)
FACT = TextStyle(8.0, "normal", INK)
QUIET = TextStyle(8.0, "normal", MUTED)


def text_width(text: str, style: TextStyle) -> float:
    """Width of a line of text in inches, with room for the hinting of pixel fonts."""
    font = FontProperties(size=style.size, weight=style.weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return HINTING * width / POINTS_PER_INCH


def line_height(style: TextStyle) -> float:
    """Height of a line of text in inches, with the space between lines."""
    return style.size * LINE_SPACING / POINTS_PER_INCH
