"""What the points of a search say about the value of money, for reports, pictures and pages.

A point is a line of ``BudgetSearchCV.frontier_`` as a dict. The points of a model file are such dicts too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from thrifty.tuning.choice import smoothed_scores

DROPPED, AGAIN = "dropped", "measured again"  # beginnings of notes
MIN_GAIN = 5e-4  # a difference of scores that three decimals show
Point = Mapping[str, Any]
SAME_FOR_ALL = ("l1", "static")  # methods that buy the same columns for every row


def succeeded(points: Iterable[Point]) -> list[Point]:
    """Return the points that have a spend and a score."""
    return [
        point for point in points if not point["error"] and _is_number(point["spend"]) and _is_number(point["score"])
    ]


def is_complete(point: Point) -> bool:
    """Tell whether a point was measured on all folds; only such points have a bound on their spend."""
    return _is_number(point["spend_bound"])


def is_measured_again(point: Point) -> bool:
    """Tell whether a point was measured again under another cap than the other points."""
    return str(point.get("note") or "").startswith(AGAIN)


def complete(points: Sequence[Point]) -> list[Point]:
    """Return the points that succeeded and were measured on all folds."""
    return [point for point in succeeded(points) if is_complete(point)]


def smoothed(points: Sequence[Point]) -> list[Point]:
    """Return the complete points with scores that are smoothed along the curve of each method.

    The best of many measured scores is too good on average; see `thrifty.tuning.choice`.
    """
    known = complete(points)
    scores = smoothed_scores(pd.DataFrame(known)).tolist() if known else []
    return [{**point, "score": score} for point, score in zip(known, scores, strict=True)]


def best_same_for_all(points: Sequence[Point], spend: float) -> Point | None:
    """Return the best point that buys the same columns for every row and spends at most this much on average.

    Examples
    --------
    >>> line = {"error": "", "method": "l1"}
    >>> points = [{**line, "spend": x, "spend_bound": x, "score": y} for x, y in ((1.0, 0.7), (3.0, 0.9))]
    >>> best_same_for_all(points, 2.0)["score"]
    0.7
    """
    static = [each for each in complete(points) if each["method"] in SAME_FOR_ALL and each["spend"] <= spend + 1e-9]
    return max(static, key=lambda point: (point["score"], -point["spend"]), default=None)


def best_within(points: Sequence[Point], spend: float) -> Point | None:
    """Return the best point that spends at most this much on average; the cheapest of them if there are several."""
    return best_of_all([point for point in points if point["spend"] <= spend])


def best_beyond(points: Sequence[Point], chosen: Point) -> Point | None:
    """Return the best point that spends more than the chosen one and scores higher; None if more money buys nothing."""
    better = [p for p in complete(points) if p["spend"] > chosen["spend"] and p["score"] > chosen["score"] + MIN_GAIN]
    return max(better, key=lambda point: (point["score"], -point["spend"]), default=None)


def best_of_all(points: Sequence[Point]) -> Point | None:
    """Return the point with the best score; the cheapest of them if there are several."""
    return max(complete(points), key=lambda point: (point["score"], -point["spend"]), default=None)


def notes(points: Sequence[Point]) -> list[tuple[str, list[str], int]]:
    """Return each note about points: the note, the methods, and the number of points.

    Notes of points that were dropped are shortened to when that was. Their reasons differ from point to point.
    """
    found: dict[str, list[str]] = {}
    for point in points:
        if note := point.get("note"):
            kind = note.split(":")[0] if note.startswith(DROPPED) else note
            found.setdefault(kind, []).append(point["method"])
    return [(note, list(dict.fromkeys(methods)), len(methods)) for note, methods in found.items()]


def _is_number(value: Any) -> bool:
    return value is not None and math.isfinite(value)
