"""Where the cards of a tree go: root at the left, upper children above, lower children below.

Every subtree gets a horizontal strip of its own, tall enough for its cards, so cards cannot overlap. Widths
come from font metrics. Lengths are in inches, so that text of a known size fits its card.

    +------+     +-------+
    |      | --- | upper |
    | root |     +-------+
    |      | --- +-------+
    +------+     | lower |
                 +-------+
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thrifty.plots.palette import MUTED
from thrifty.plots.text import FACT, QUIET, TITLE, TextStyle, line_height, text_width
from thrifty.plots.tree_cards import NodeCard

PADDING = 0.1
COLUMN_GAP = 0.62
ROW_GAP = 0.13
WIDEST_TEXT = 2.2

Line = tuple[str, TextStyle]
NO_PURCHASE: Line = ("buys nothing", TextStyle(9.0, "normal", MUTED))


@dataclass(frozen=True)
class Box:
    """A card's place and the lines on it, from top to bottom."""

    left: float
    middle: float
    width: float
    height: float
    lines: tuple[Line, ...]

    @property
    def right(self) -> float:
        """The side children are reached from."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower side."""
        return self.middle - self.height / 2


@dataclass(frozen=True)
class TreeLayout:
    """Boxes in node order within a frame of the given width and height; the origin is at the lower left."""

    boxes: tuple[Box, ...]
    width: float
    height: float


def lay_out(cards: Sequence[NodeCard]) -> TreeLayout:
    """Place the cards of a tree."""
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
    title = [(line, TITLE) for line in _wrapped(names + more, TITLE)]
    facts = ((card.cost, QUIET), (card.rows, FACT), (card.route, QUIET))
    return (*(title or [NO_PURCHASE]), *((_shortened(text, style), style) for text, style in facts if text))


def _wrapped(words: Iterable[str], style: TextStyle) -> list[str]:
    """Fill lines with words; a word wider than a line is cut."""
    lines: list[str] = []
    for word in words:
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, style) <= WIDEST_TEXT:
            lines[-1] = longer
        else:
            lines.append(_shortened(word, style))
    return lines


def _shortened(text: str, style: TextStyle) -> str:
    if text_width(text, style) <= WIDEST_TEXT:
        return text
    while text_width(text + "…", style) > WIDEST_TEXT:
        text = text[:-1]
    return text + "…"


def _strip_heights(cards: Sequence[NodeCard], heights: Sequence[float]) -> list[float]:
    """Height of each subtree; children have larger numbers than their parents."""
    strips = list(heights)
    for card in reversed(cards):
        strips[card.node] = max(heights[card.node], _stacked(strips[c] for c in card.children))
    return strips


def _middles(cards: Sequence[NodeCard], strips: Sequence[float]) -> list[float]:
    middles = [strips[0] / 2] * len(cards)
    for card in cards:
        top = middles[card.node] + _stacked(strips[c] for c in card.children) / 2
        for child in card.children:
            middles[child] = top - strips[child] / 2
            top -= strips[child] + ROW_GAP
    return middles


def _stacked(heights: Iterable[float]) -> float:
    heights = list(heights)
    return sum(heights) + ROW_GAP * (len(heights) - 1)


def _columns(cards: Sequence[NodeCard], lines: Sequence[tuple[Line, ...]]) -> tuple[list[float], list[float]]:
    """Left side and width of every card; the cards of a depth share a column as wide as their widest text."""
    depths: list[int] = []
    for card in cards:
        depths.append(depths[card.parent] + 1 if card.parent >= 0 else 0)
    column_widths = [2 * PADDING] * (max(depths) + 1)
    for depth, text in zip(depths, lines, strict=True):
        widest = max(text_width(*line) for line in text)
        column_widths[depth] = max(column_widths[depth], widest + 2 * PADDING)
    column_lefts = [sum(column_widths[:d]) + d * COLUMN_GAP for d in range(len(column_widths))]
    return [column_lefts[d] for d in depths], [column_widths[d] for d in depths]
