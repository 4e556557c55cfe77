"""The points of a search in the plot of a cost curve: a colour and a shape for each method, the choice, the anchors."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from thrifty.plots.palette import COLOR_CYCLE, MUTED_COLOR, TEXT_COLOR
from thrifty.tuning.comparisons import Point, best_same_for_all, is_complete

MARKERS = "os^"  # circle, square, triangle
CONSTANT, EVERYTHING = "constant answer, for nothing", "everything for everyone"
FILLED = "filled: no other point scores as much for less"
HOLLOW = "hollow: another point does"
FAINT = "faint: not measured on all folds"


def method_styles(points: Sequence[Point]) -> dict[str, tuple[str, str]]:
    """Return a colour and a marker for each method; methods with the best scores come first."""
    best: dict[str, float] = {}
    for point in points:
        best[point["method"]] = max(point["score"], best.get(point["method"], -float("inf")))
    methods = sorted(best, key=lambda method: -best[method])
    n = len(COLOR_CYCLE)
    return {method: (COLOR_CYCLE[i % n], MARKERS[i // n % len(MARKERS)]) for i, method in enumerate(methods)}


def draw_points(ax: Axes, points: Sequence[Point]) -> None:
    """Draw all points, and explain the difference between filled, hollow and faint ones."""
    kinds = set()
    for method, (color, marker) in method_styles(points).items():
        ax.plot([], [], label=method, **_style("filled", color, marker))
        for point in (each for each in points if each["method"] == method):
            kind = kind_of(point)
            kinds.add(kind)
            ax.plot([point["spend"]], [point["score"]], **_style(kind, color, marker))
    for kind, text in (("filled", FILLED), ("hollow", HOLLOW), ("faint", FAINT)):
        if kind in kinds:
            ax.plot([], [], label=text, **_style(kind, MUTED_COLOR, "o"))


def kind_of(point: Point) -> str:
    """Return how a point is drawn: filled, hollow or faint."""
    if not is_complete(point):
        return "faint"
    return "hollow" if point["dominated"] else "filled"


def _style(kind: str, color: str, marker: str) -> dict[str, Any]:
    style = {"color": color, "marker": marker, "linestyle": ""}
    if kind == "filled":
        return style | {"ms": 7.5, "markeredgecolor": "white", "zorder": 2.5}
    return style | {"ms": 4.5, "markerfacecolor": "none", "alpha": 0.25 if kind == "faint" else 0.8}


def draw_same_for_all(ax: Axes, points: Sequence[Point], spend: float) -> None:
    """Mark the best point that buys the same columns for every row and spends no more."""
    if (best := best_same_for_all(points, spend)) is not None:
        style: dict[str, Any] = {"marker": "o", "ms": 13, "markerfacecolor": "none", "linestyle": "", "zorder": 3}
        ax.plot([best["spend"]], [best["score"]], color=TEXT_COLOR, label="best of the same for everyone", **style)


def draw_anchors(ax: Axes, anchors: Mapping[str, Mapping[str, Any]]) -> None:
    """Mark the constant answer and everything for everyone."""
    for name, label, marker in (("constant", CONSTANT, "v"), ("everything", EVERYTHING, "D")):
        anchor = anchors.get(name)
        if anchor is not None and anchor["score"] is not None and anchor["score"] == anchor["score"]:
            style: dict[str, Any] = {"marker": marker, "ms": 7, "color": MUTED_COLOR, "linestyle": "", "zorder": 2.6}
            ax.plot([anchor["spend"]], [anchor["score"]], label=label, markeredgecolor="white", **style)
