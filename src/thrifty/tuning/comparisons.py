"""What the points of a search say about the value of money, for reports, pictures and pages.

A point is a line of ``BudgetSearchCV.frontier_`` as a dict. The points of a model file are such dicts too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Point = Mapping[str, Any]
SAME_FOR_ALL = ("l1", "static")  # methods that buy the same columns for every row


def succeeded(points: Iterable[Point]) -> list[Point]:
    """Return the points that have a spend and a score."""
    return [
        point for point in points if not point["error"] and _is_number(point["spend"]) and _is_number(point["score"])
    ]


def is_complete(point: Point, points: Sequence[Point]) -> bool:
    """Tell whether a point was measured on as many folds and rows as any point; others were dropped before."""
    return all(point.get(name) == max(each.get(name) or 0 for each in points) for name in _sizes(points))


def complete(points: Sequence[Point]) -> list[Point]:
    """Return the points that succeeded and were measured on all folds and rows."""
    measured = succeeded(points)
    return [point for point in measured if is_complete(point, measured)]


def best_same_for_all(points: Sequence[Point], spend: float) -> Point | None:
    """Return the best point that buys the same columns for every row and spends at most this much on average.

    Examples
    --------
    >>> line = {"error": "", "method": "l1"}
    >>> points = [{**line, "spend": 1.0, "score": 0.7}, {**line, "spend": 3.0, "score": 0.9}]
    >>> best_same_for_all(points, 2.0)["score"]
    0.7
    """
    static = [each for each in complete(points) if each["method"] in SAME_FOR_ALL and each["spend"] <= spend + 1e-9]
    return max(static, key=lambda point: (point["score"], -point["spend"]), default=None)


def best_beyond(points: Sequence[Point], chosen: Point) -> Point | None:
    """Return the best point that spends more than the chosen one and scores higher; None if more money buys nothing."""
    better = [p for p in complete(points) if p["spend"] > chosen["spend"] and p["score"] > chosen["score"]]
    return max(better, key=lambda point: (point["score"], -point["spend"]), default=None)


def best_of_all(points: Sequence[Point]) -> Point | None:
    """Return the point with the best score; the cheapest of them if there are several."""
    return max(complete(points), key=lambda point: (point["score"], -point["spend"]), default=None)


def notes(points: Sequence[Point]) -> list[tuple[str, list[str], int]]:
    """Return each note about points that do not compete: the note, the methods, and the number of points."""
    found: dict[str, list[str]] = {}
    for point in points:
        if note := point.get("note"):
            found.setdefault(note, []).append(point["method"])
    return [(note, list(dict.fromkeys(methods)), len(methods)) for note, methods in found.items()]


def _sizes(points: Sequence[Point]) -> list[str]:
    return [name for name in ("n_folds", "n_rows") if any(each.get(name) for each in points)]


def _is_number(value: Any) -> bool:
    return value is not None and math.isfinite(value)
