"""Figures of a curve of scores against mean spend.

A curve begins with the most frequent class at spend 0. It follows straight lines between points, and ends flat: two
models mixed at random reach every point on the line between them. This holds for all contenders alike.
`thrifty.metrics.area_under_cost_curve` measures steps instead, which would favour contenders with many points.

On small problems the points of a contender are those of settings that were chosen on training rows; see `choice`. Those
of the adaptive model are all operating points of one fit. On other problems the points are those that no other point of
the same contender dominates on the test rows, of which there are hundreds or thousands. This favours contenders with
many points a little; the adaptive model has 60, and others have up to 84.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.adaptive.choice import ADAPTIVE, FEW_ROWS
from benchmarks.adaptive.results import Result
from thrifty.metrics import CostCurve

QUARTER = 0.25  # of the cost of all columns


@dataclass(frozen=True, eq=False)
class Curve:
    """Corners of a curve: mean spends, ascending, and scores; and the cost of all columns."""

    spend: np.ndarray
    score: np.ndarray
    total: float

    @classmethod
    def of(cls, result: Result, score: str = "accuracy", *, is_chosen: bool = True) -> "Curve":
        """Return the curve of a result; the points without the score are left out.

        On small problems the points are those whose settings were chosen on training rows, unless `is_chosen` is False.
        A run that ended early has no such choice, and keeps its best points on the test rows.
        """
        start = result["majority"] if score == "accuracy" else 0.5
        counts = _chosen(result) if is_chosen else None
        marks = [True] * len(result["points"]) if counts is None else counts
        points = [
            (point["spend"], point[score])
            for point, mark in zip(result["points"], marks, strict=True)
            if mark and score in point
        ]
        spends, scores = np.array(sorted([(0.0, start), *points])).T
        if counts is None:
            corners = CostCurve(spends, scores).frontier
            spends, scores = spends[corners], scores[corners]
        return cls(spends, scores, result["total"])

    def at(self, spend: float) -> float:
        """Return the score at a mean spend."""
        return float(np.interp(spend, self.spend, self.score))

    def area(self, share: float = 1.0) -> float:
        """Return the mean score over mean spends from 0 to a share of the cost of all columns."""
        end = share * self.total
        inside = self.spend < end
        spend = np.append(self.spend[inside], end)
        score = np.append(self.score[inside], self.at(end))
        return float(np.trapezoid(score, spend) / end)

    def spend_for(self, score: float) -> float:
        """Return the least mean spend that reaches a score; the cost of all columns if nothing does."""
        above = np.flatnonzero(self.score >= score)
        if not len(above):
            return self.total
        last = above[0]
        if last == 0:
            return float(self.spend[0])
        return float(np.interp(score, self.score[last - 1 : last + 1], self.spend[last - 1 : last + 1]))


def _chosen(result: Result) -> list[bool] | None:
    """Return which points count; None if those count that no other dominates on the test rows."""
    if result["n_train"] >= FEW_ROWS:
        return None
    if result["method"] == ADAPTIVE:
        return ["budget" not in setting for setting in result["settings"]]  # all operating points
    return result.get("chosen")


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error, which is NaN for a single value."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)
