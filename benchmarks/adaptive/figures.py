"""Figures of a method on a problem, by seed."""

from collections.abc import Callable

import numpy as np

from benchmarks.adaptive.choice import identities
from benchmarks.adaptive.contenders import FULL
from benchmarks.adaptive.measure import QUARTER, Curve
from benchmarks.adaptive.points import Point
from benchmarks.adaptive.results import Result, Results

ENOUGH = 0.99  # of the accuracy of the full model


def areas(results: Results, problem: str, method: str, share: float = 1.0) -> dict[int, float]:
    """Return the area under the curve of each seed, up to a share of the cost of all columns."""
    return _by_seed(results, problem, method, lambda curve: curve.area(share))


def first_quarters(results: Results, problem: str, method: str) -> dict[int, float]:
    """Return the area over the first quarter of the cost of all columns, for each seed."""
    return areas(results, problem, method, QUARTER)


def pooled_area(results: Results, problem: str, method: str) -> float:
    """Return the area under the curve of points that are means over the seeds, one per setting.

    A curve keeps the best of its points on the test rows. With few test rows and many points, the best is often best by
    chance. Means over the seeds reduce this advantage of contenders with many points.
    """
    found = list(results.of(problem, method).values())
    points = [
        {name: float(np.mean([each[name] for each in same])) for name in ("spend", "accuracy")}
        for same in _matched_points(found)
    ]
    majority = float(np.mean([result["majority"] for result in found]))
    pooled = {**found[0], "points": points, "majority": majority}
    return Curve.of(pooled, is_chosen=False).area()


def _matched_points(found: list[Result]) -> list[tuple[Point, ...]]:
    """Return the points of all seeds by position if all have as many, else those whose settings all seeds have."""
    if len({len(result["points"]) for result in found}) == 1:
        return list(zip(*(result["points"] for result in found), strict=True))
    by_setting = [dict(zip(identities(each["settings"]), each["points"], strict=True)) for each in found]
    common = [setting for setting in by_setting[0] if all(setting in each for each in by_setting)]
    return [tuple(each[setting] for each in by_setting) for setting in common]


def scores_at(results: Results, problem: str, method: str, spend: float, score: str = "accuracy") -> dict[int, float]:
    """Return the score at a mean spend, for each seed."""
    return _by_seed(results, problem, method, lambda curve: curve.at(spend), score)


def spends_for_enough(results: Results, problem: str, method: str) -> dict[int, float]:
    """Return the mean spend that reaches 99% of the full model's accuracy, for each seed of both models."""
    full = {seed: result["points"][0]["accuracy"] for seed, result in results.of(problem, FULL).items()}
    found = results.of(problem, method)
    return {seed: Curve.of(found[seed]).spend_for(ENOUGH * full[seed]) for seed in found if seed in full}


def _by_seed(
    results: Results, problem: str, method: str, figure: Callable[[Curve], float], score: str = "accuracy"
) -> dict[int, float]:
    return {seed: figure(Curve.of(result, score)) for seed, result in results.of(problem, method).items()}
