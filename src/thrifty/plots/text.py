"""Styles of text on a canvas, and the width and height of a line of text in inches."""

from typing import NamedTuple

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from thrifty.plots.palette import MUTED_COLOR, TEXT_COLOR

POINTS_PER_INCH = 72
LINE_SPACING = 1.5  # line height / font size
HINTING_MARGIN = 1.04  # a rasterised font can be wider than its outlines


class TextStyle(NamedTuple):
    """Size in points, weight and colour of a line of text."""

    size: float
    weight: str
    color: str


TITLE_STYLE = TextStyle(9.0, "bold", TEXT_COLOR)
BODY_STYLE = TextStyle(8.0, "normal", TEXT_COLOR)
MUTED_STYLE = TextStyle(8.0, "normal", MUTED_COLOR)


def text_width(text: str, style: TextStyle) -> float:
    """Return the width of a line of text in inches, with a margin for font hinting."""
    font = FontProperties(size=style.size, weight=style.weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return HINTING_MARGIN * width / POINTS_PER_INCH


def line_height(style: TextStyle) -> float:
    """Return the height of a line of text in inches, including the space between lines."""
    return style.size * LINE_SPACING / POINTS_PER_INCH
