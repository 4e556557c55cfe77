"""The points of a search as SVG: a step line, a mark for each point, the anchors, the budget and the choice.

The page has the chart twice, for wide and for narrow screens, and shows one of them. So text keeps its size.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from thrifty.cli.search_report import SearchReport
from thrifty.costs.amounts import amount
from thrifty.metrics import CostCurve
from thrifty.metrics.curves import score_name
from thrifty.tuning.comparisons import Point, best_same_for_all, complete, is_complete

N_COLORS = 6
TICK_GAP = 36  # pixels
TOP, RIGHT, BOTTOM, LEFT = 26, 16, 44, 52  # margins
SHAPES = (  # circle, square, triangle; around the origin
    "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z",
    "M-4.5 -4.5H4.5V4.5H-4.5Z",
    "M0 -5.6L5.2 4.2H-5.2Z",
)
DIAMOND = "M0 -6.4L6.4 0L0 6.4L-6.4 0Z"
STAR = "M0 -9L2.6 -3L9 -2.6L4.2 1.6L5.7 8L0 4.5L-5.7 8L-4.2 1.6L-9 -2.6L-2.6 -3Z"


@dataclass(frozen=True)
class Size:
    """The size of a chart in CSS pixels, and the class of its element."""

    name: str
    width: int
    height: int


WIDE, NARROW = Size("wide-chart", 800, 400), Size("narrow-chart", 380, 340)


@dataclass(frozen=True)
class Scale:
    """From spends and scores to positions in a chart.

    Positions grow with the square root of the spend, so that small spends, which most points have, get more room.
    """

    size: Size
    most: float
    low: float
    high: float

    @classmethod
    def of(cls, spends: Sequence[float], scores: Sequence[float], size: Size) -> "Scale":
        """Return the scale that shows all of these."""
        pad = 0.06 * (max(scores) - min(scores)) or 0.01
        return cls(size, max(spends) or 1.0, min(scores) - pad, max(scores) + pad)

    def x(self, spend: float) -> str:
        """Return the horizontal position of a spend."""
        return f"{LEFT + (self.size.width - LEFT - RIGHT) * math.sqrt(spend / self.most):.1f}"

    def y(self, score: float) -> str:
        """Return the vertical position of a score."""
        share = (score - self.low) / (self.high - self.low)
        return f"{self.size.height - BOTTOM - (self.size.height - TOP - BOTTOM) * share:.1f}"


def draw(report: SearchReport, points: Sequence[Point], size: Size) -> str:
    """Return the chart of some points as SVG."""
    known = {name: each for name, each in (report.anchors or {}).items() if _is_number(each.get("score"))}
    spends = [point["spend"] for point in points] + [each["spend"] for each in known.values()]
    scores = [point["score"] for point in points] + [each["score"] for each in known.values()]
    scale = Scale.of([*spends, report.budget or 0.0], scores, size)
    description = f"{score_name(report.scoring)} against mean spend per row. Arrow keys move from point to point."
    return "".join(
        [
            f'<svg class="chart {size.name}" viewBox="0 0 {size.width} {size.height}" role="group" '
            f'aria-label="{escape(description)}">',
            *_axes(scale, report),
            *_budget(scale, report),
            f'<path class="steps" d="{_steps(scale, points)}"/>',
            '<g role="listbox" aria-label="Points of the search, from cheap to expensive" class="points">',
            _marks(scale, report, points),
            "</g>",
            *_anchors(scale, known),
            *_ring(scale, report, points),
            "</svg>",
        ]
    )


def legend(points: Sequence[Point]) -> str:
    """Return the legend as HTML: methods, then what filled, hollow and faint marks mean."""
    entries = [(each, f"mark m{i % N_COLORS} kept", SHAPES[i // N_COLORS % 3]) for each, i in numbered(points).items()]
    kinds = [
        ("filled: no other point scores as much for less", "mark plain kept", SHAPES[0]),
        ("hollow: another point does", "mark plain beaten", SHAPES[0]),
        ("faint: not measured on all folds", "mark plain dropped", SHAPES[0]),
        ("chosen", "mark plain chosen", STAR),
        ("best of the same columns for everyone", "ring", "M8 0A8 8 0 1 1 -8 0A8 8 0 1 1 8 0Z"),
        ("constant answer, and everything for everyone", "anchor", DIAMOND),
    ]
    return "".join(
        f'<li><svg viewBox="-10 -10 20 20" width="20" height="20" aria-hidden="true"><path class="{look}" d="{shape}"/>'
        f"</svg> {escape(text)}</li>"
        for text, look, shape in [*entries, *kinds]
    )


def numbered(points: Sequence[Point]) -> dict[str, int]:
    """Return the methods with numbers that give their colours and shapes, those with the best scores first."""
    best: dict[str, float] = {}
    for point in points:
        best[point["method"]] = max(point["score"], best.get(point["method"], -math.inf))
    return {method: i for i, method in enumerate(sorted(best, key=lambda method: -best[method]))}


def _marks(scale: Scale, report: SearchReport, points: Sequence[Point]) -> str:
    """Return a mark for each point; those on the frontier are drawn last, and read by their position in the list."""
    numbers = numbered(points)

    def mark(i: int) -> str:
        point, chosen = points[i], report.is_chosen(points[i])
        kind = "dropped" if not is_complete(point) else "beaten" if point["dominated"] else "kept"
        number = numbers[point["method"]]
        look = f"mark m{number % N_COLORS} {kind}{' chosen' if chosen else ''}"
        shape = STAR if chosen else SHAPES[number // N_COLORS % len(SHAPES)]
        label = f"{point['method']}: {amount(point['spend'], report.unit)}, score {point['score']:.3f}"
        place = f"translate({scale.x(point['spend'])} {scale.y(point['score'])})"
        return (
            f'<g role="option" aria-selected="false" tabindex="{0 if i == 0 else -1}" data-point="{i}" '
            f'transform="{place}" aria-label="{escape(label)}"><circle class="target" r="11"/>'
            f'<path class="{look}" d="{shape}"/></g>'
        )

    order = sorted(range(len(points)), key=lambda i: (report.is_chosen(points[i]), not points[i]["dominated"]))
    return "".join(map(mark, order))


def _steps(scale: Scale, points: Sequence[Point]) -> str:
    measured = complete(points)
    if not measured:
        return ""
    curve = CostCurve([p["spend"] for p in measured], [p["score"] for p in measured])  # type: ignore[arg-type]
    path = ""
    for k in curve.frontier:
        x, y = scale.x(curve.spend[k]), scale.y(curve.score[k])
        path += f"H{x}V{y}" if path else f"M{x} {y}"
    return f"{path}H{scale.x(scale.most)}"


def _axes(scale: Scale, report: SearchReport) -> Iterator[str]:
    bottom, right = scale.size.height - BOTTOM, scale.size.width - RIGHT
    for score in ticks(scale.low, scale.high, 5):
        y = scale.y(score)
        yield f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end">{score:.6g}</text>'
    for spend in spend_ticks(scale):
        yield f'<text x="{scale.x(spend)}" y="{bottom + 18}" text-anchor="middle">{spend:.6g}</text>'
    unit = f" ({report.unit})" if report.unit else ""
    yield f'<text x="{right}" y="{bottom + 38}" text-anchor="end">{escape(f"mean spend per row{unit}")}</text>'
    yield f'<text x="4" y="14">{escape(score_name(report.scoring))}</text>'


def _budget(scale: Scale, report: SearchReport) -> Iterator[str]:
    if report.budget is not None:
        x, bottom = scale.x(report.budget), scale.size.height - BOTTOM
        yield f'<line class="budget" x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{bottom}"/>'
        end = "end" if report.budget > scale.most / 2 else "start"
        yield f'<text x="{x}" dx="{-5 if end == "end" else 5}" y="{TOP - 2}" text-anchor="{end}">budget</text>'


def _anchors(scale: Scale, known: Any) -> Iterator[str]:
    for anchor in known.values():
        place = f"translate({scale.x(anchor['spend'])} {scale.y(anchor['score'])})"
        yield f'<path class="anchor" transform="{place}" d="{DIAMOND}"/>'


def _ring(scale: Scale, report: SearchReport, points: Sequence[Point]) -> Iterator[str]:
    chosen = report.chosen
    best = None if chosen is None else best_same_for_all(points, chosen["spend"])
    if best is not None:
        yield f'<circle class="ring" cx="{scale.x(best["spend"])}" cy="{scale.y(best["score"])}" r="11"/>'


def spend_ticks(scale: Scale) -> list[float]:
    """Return 0 and round spends (1, 2, 5, 10, ...) whose labels do not touch.

    >>> spend_ticks(Scale(NARROW, 324.0, 0.0, 1.0))
    [0.0, 5.0, 20.0, 50.0, 100.0, 200.0]
    """
    largest, kept = math.floor(math.log10(scale.most)), [0.0]
    for spend in (step * 10.0**power for power in range(largest - 3, largest + 1) for step in (1, 2, 5)):
        if spend <= scale.most and float(scale.x(spend)) - float(scale.x(kept[-1])) > TICK_GAP:
            kept.append(spend)
    return kept


def ticks(low: float, high: float, count: int) -> list[float]:
    """Return about `count` round numbers between two bounds.

    >>> ticks(0.54, 0.87, 4)
    [0.6, 0.7, 0.8]
    """
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _is_number(value: Any) -> bool:
    return value is not None and math.isfinite(value)
