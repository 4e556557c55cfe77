"""Positions of the cards of a tree: root at the left, upper children above, lower children below.

Every subtree has its own horizontal strip, which is high enough for its cards, so cards do not overlap. Font metrics
give the widths. Lengths are in inches, so text of a known size fits its card.

    +------+     +-------+
    |      | --- | upper |
    | root |     +-------+
    |      | --- +-------+
    +------+     | lower |
                 +-------+
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thrifty.plots.palette import MUTED_COLOR
from thrifty.plots.text import BODY_STYLE, MUTED_STYLE, TITLE_STYLE, TextStyle, line_height, text_width
from thrifty.plots.tree_cards import NodeCard

PADDING = 0.1
COLUMN_GAP = 0.62
ROW_GAP = 0.13
MAX_TEXT_WIDTH = 2.2

Line = tuple[str, TextStyle]
NO_PURCHASE: Line = ("buys nothing", TextStyle(9.0, "normal", MUTED_COLOR))


@dataclass(frozen=True)
class Box:
    """Position and size of a card, and its lines of text from top to bottom."""

    left: float
    middle: float
    width: float
    height: float
    lines: tuple[Line, ...]

    @property
    def right(self) -> float:
        """Right side of the card."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower side of the card."""
        return self.middle - self.height / 2


@dataclass(frozen=True)
class TreeLayout:
    """Boxes in node order, and the width and height of the frame around them; the origin is the lower left corner."""

    boxes: tuple[Box, ...]
    width: float
    height: float


def lay_out(cards: Sequence[NodeCard]) -> TreeLayout:
    """Compute the positions of the cards of a tree."""
    lines = [_lines(card) for card in cards]
    heights = [sum(line_height(style) for _, style in text) + 2 * PADDING for text in lines]
    strips = _strip_heights(cards, heights)
    middles = _middles(cards, strips)
    lefts, widths = _columns(cards, lines)
    boxes = map(Box, lefts, middles, widths, heights, lines)
    return TreeLayout(tuple(boxes), width=max(map(sum, zip(lefts, widths, strict=True))), height=strips[0])


def _lines(card: NodeCard) -> tuple[Line, ...]:
    names = [f"{name}," for name in card.buys[:-1]] + list(card.buys[-1:])
    more = [f"+{card.more} more"] if card.more else []
    title = [(line, TITLE_STYLE) for line in _wrapped(names + more, TITLE_STYLE)]
    facts = ((card.cost, MUTED_STYLE), (card.rows, BODY_STYLE), (card.route, MUTED_STYLE))
    return (*(title or [NO_PURCHASE]), *((_shortened(text, style), style) for text, style in facts if text))


def _wrapped(words: Iterable[str], style: TextStyle) -> list[str]:
    """Join words to lines of at most the maximum width; shorten words that are wider."""
    lines: list[str] = []
    for word in words:
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, style) <= MAX_TEXT_WIDTH:
            lines[-1] = longer
        else:
            lines.append(_shortened(word, style))
    return lines


def _shortened(text: str, style: TextStyle) -> str:
    if text_width(text, style) <= MAX_TEXT_WIDTH:
        return text
    while text_width(text + "…", style) > MAX_TEXT_WIDTH:
        text = text[:-1]
    return text + "…"


def _strip_heights(cards: Sequence[NodeCard], heights: Sequence[float]) -> list[float]:
    """Return the height of the strip of each subtree."""
    strips = list(heights)
    for card in reversed(cards):  # children have larger numbers than their parents
        strips[card.node] = max(heights[card.node], _stacked_height(strips[c] for c in card.children))
    return strips


def _middles(cards: Sequence[NodeCard], strips: Sequence[float]) -> list[float]:
    middles = [strips[0] / 2] * len(cards)
    for card in cards:
        top = middles[card.node] + _stacked_height(strips[c] for c in card.children) / 2
        for child in card.children:
            middles[child] = top - strips[child] / 2
            top -= strips[child] + ROW_GAP
    return middles


def _stacked_height(heights: Iterable[float]) -> float:
    heights = list(heights)
    return sum(heights) + ROW_GAP * (len(heights) - 1)


def _columns(cards: Sequence[NodeCard], lines: Sequence[tuple[Line, ...]]) -> tuple[list[float], list[float]]:
    """Return the left side and the width of every card.

    The cards of a depth form a column, which is as wide as the widest text in it.
    """
    depths: list[int] = []
    for card in cards:
        depths.append(depths[card.parent] + 1 if card.parent >= 0 else 0)
    column_widths = [2 * PADDING] * (max(depths) + 1)
    for depth, text in zip(depths, lines, strict=True):
        widest = max(text_width(*line) for line in text)
        column_widths[depth] = max(column_widths[depth], widest + 2 * PADDING)
    column_lefts = [sum(column_widths[:d]) + d * COLUMN_GAP for d in range(len(column_widths))]
    return [column_lefts[d] for d in depths], [column_widths[d] for d in depths]
