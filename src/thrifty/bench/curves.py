"""Figures of a contender on a problem: its gain, the area under its curve, and what it spends for a good score.

A curve begins with the best constant answer at spend 0. It follows straight lines between the points of a run, because
two models mixed at random reach every point on the line between them, and ends flat. Both axes are normalised:

    spend    in shares of the mean cost of all columns on the test rows
    score    (score - floor) / (full - floor), where floor is the score of the constant answer, and full is that of
             LightGBM on all columns; both are means over the seeds, and their difference is at least `LEAST_RANGE`

The gain is the mean of score - floor between spend 0 and 1, in points: 100 times the score. Ranks compare gains. The
area is the mean height of the normalised curve, that is the gain divided by 100 (full - floor). It is shown only where
the full model is clearly better than the constant answer, on the n test rows of all seeds together:

    full - floor > CLEAR sqrt(full (1 - full) / n)

so that the error of the divisor is a small part of it. Over k seeds with mean m and standard deviation s, the
confidence interval of a figure is m +- t s / sqrt(k), where t is the 97.5% quantile of the t distribution with k - 1
degrees of freedom.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t

from thrifty.bench.contenders import FULL
from thrifty.bench.results import Result, Results

LEAST_RANGE = 0.01
ENOUGH = 0.99  # of the full model's score
CLEAR = 4.0  # standard errors of the full model's score that lie between it and the floor
POINTS = 100.0  # of a score of 1
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5)  # of the cost of all columns: budgets at which curves are read
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Curve:
    """Corners of a curve: spends in shares of the total, ascending from 0, and scores."""

    spend: np.ndarray
    score: np.ndarray

    @classmethod
    def of(cls, values: Any) -> "Curve":
        """Return the curve of the values of a run.

        >>> values = {"points": [{"spend": 5.0, "score": 0.9}], "floor": 0.5, "total": 10.0}
        >>> Curve.of(values).area(), round(Curve.of(values).spend_for(0.7), 2)
        (0.8, 0.25)
        """
        points = sorted((point["spend"] / (values["total"] or 1.0), point["score"]) for point in values["points"])
        spend, score = np.array([(0.0, values["floor"]), *points]).T
        return cls(spend, score)

    def at(self, spend: Any) -> Any:
        """Return the score at spends."""
        return np.interp(spend, self.spend, self.score)

    def area(self) -> float:
        """Return the mean score between spend 0 and 1."""
        inside = self.spend < 1.0
        spend = np.append(self.spend[inside], 1.0)
        return float(np.trapezoid(np.append(self.score[inside], self.at(1.0)), spend))

    def spend_for(self, score: float) -> float:
        """Return the least spend that reaches a score; NaN if no spend does."""
        above = np.flatnonzero(self.score >= score)
        if not len(above):
            return float("nan")
        last = above[0]
        if last == 0:
            return 0.0
        return float(np.interp(score, self.score[last - 1 : last + 1], self.spend[last - 1 : last + 1]))


@dataclass(frozen=True)
class Scale:
    """The scores that are 0 and 1 on the normalised scale, the full score of each seed, and the number of test rows."""

    floor: float
    full: float
    full_by_seed: dict[int, float]
    n_test: int

    @classmethod
    def of(cls, results: list[Result]) -> "Scale | None":
        """Return the scale from the results of a problem; None without results of the full model."""
        found = [each for each in results if each.key.setting == FULL]
        if not found:
            return None
        full = {each.key.seed: _best_held_out(each.values) for each in found}
        floor = float(np.mean([each.values["floor"] for each in found]))
        return cls(floor, float(np.mean(list(full.values()))), full, sum(each.values["n_test"] for each in found))

    @property
    def range(self) -> float:
        """What separates 0 and 1."""
        return max(self.full - self.floor, LEAST_RANGE)

    @property
    def is_clear(self) -> bool:
        """Whether the full model is so much better than the constant answer that areas mean something."""
        error = np.sqrt(max(self.full * (1.0 - self.full), 0.0) / self.n_test)
        return bool(self.full - self.floor > max(CLEAR * error, LEAST_RANGE))

    def points(self, score: Any) -> Any:
        """Return how far scores are above the floor, in points."""
        return POINTS * (score - self.floor)

    def normalised(self, score: Any) -> Any:
        """Return scores on the normalised scale."""
        return (score - self.floor) / self.range


def _best_held_out(values: Any) -> float:
    """Return the test score of the point that was best on held-out training rows."""
    return max(values["points"], key=lambda point: point["held_out"][1])["score"]


@dataclass(frozen=True)
class Standing:
    """How a contender stands on a problem.

    Attributes
    ----------
    contender : str
    gains, enough : dict
        By seed: the gain in points, and the share of the total that reaches 99% of the full model's score, NaN if no
        spend does.
    fit_seconds, seconds : float
        CPU time of one fit on all training rows, and of tuning and one fit; means over the seeds.
    scale : Scale
        That of the problem.
    heights : dict
        By seed: how far the curve is above the floor at each of `SHARES`, in points.
    failures : tuple of str
        Errors of runs without values.
    """

    contender: str
    gains: dict[int, float]
    enough: dict[int, float]
    fit_seconds: float
    seconds: float
    scale: Scale
    heights: dict[int, tuple[float, ...]]
    failures: tuple[str, ...] = ()

    @property
    def gain(self) -> float:
        """The mean gain over the seeds, in points."""
        return float(np.mean(list(self.gains.values())))

    @property
    def gain_interval(self) -> float:
        """Half the width of the confidence interval of the gain; NaN for a single seed."""
        return half_width(list(self.gains.values()))

    @property
    def areas(self) -> dict[int, float]:
        """The normalised area by seed."""
        return {seed: gain / (POINTS * self.scale.range) for seed, gain in self.gains.items()}

    @property
    def area(self) -> float:
        """The mean area over the seeds; NaN where the full model is not clearly better than the constant answer."""
        return float(np.mean(list(self.areas.values()))) if self.scale.is_clear else float("nan")

    @property
    def interval(self) -> float:
        """Half the width of the confidence interval of the area; NaN for a single seed."""
        return half_width(list(self.areas.values())) if self.scale.is_clear else float("nan")

    def on(self, seeds: set[int]) -> "Standing":
        """Return the standing on some seeds."""
        kept = {
            name: {seed: figures[seed] for seed in sorted(seeds) if seed in figures}
            for name, figures in (("gains", self.gains), ("enough", self.enough), ("heights", self.heights))
        }
        return replace(self, **kept)  # type: ignore[arg-type]

    @property
    def points_at(self) -> dict[float, float]:
        """The mean height of the curve at each of `SHARES`, in points above the floor."""
        means = np.mean(list(self.heights.values()), axis=0).tolist()
        return dict(zip(SHARES, means, strict=True))

    @property
    def n_enough(self) -> int:
        """The number of seeds that reach 99% of the full model's score."""
        return int(np.isfinite(list(self.enough.values())).sum())

    @property
    def spend_for_enough(self) -> float:
        """The mean share of the total that reaches 99% of the full model's score; NaN if some seed never does."""
        return _mean(list(self.enough.values()))

    @property
    def spend_interval(self) -> float:
        """Half the width of the confidence interval of `spend_for_enough`; NaN for a single seed."""
        return half_width(list(self.enough.values()))


def half_width(values: list[float]) -> float:
    """Return half the width of the confidence interval of a mean; NaN for a single value.

    >>> round(half_width([1.0, 2.0, 3.0]), 3)
    2.484
    """
    if len(values) < 2:
        return float("nan")
    quantile = t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
    return float(quantile * np.std(values, ddof=1) / np.sqrt(len(values)))


def standings(results: Results, problem: str) -> list[Standing]:
    """Return the standing of each contender on a problem, the largest gain first.

    A seed whose run was given up or failed counts as the constant answer. Contenders without any run are missing.
    While runs are missing, only the seeds count that all contenders have, if there is one.
    """
    found = results.of(problem)
    scale = Scale.of(found)
    if scale is None:
        return []
    failed = _failures(results, problem, found[0].key.full)
    names = {each.key.setting for each in found} | set(failed)
    each = [_standing(name, found, failed.get(name, {}), scale) for name in names]
    common = set.intersection(*(set(standing.gains) for standing in each))
    return sorted((standing.on(common) if common else standing for standing in each), key=lambda one: -one.gain)


def _standing(name: str, found: list[Result], failed: dict[int, str], scale: Scale) -> Standing:
    runs = {each.key.seed: each for each in found if each.key.setting == name}
    curves = {seed: Curve.of(run.values) for seed, run in runs.items()}
    gains = {seed: float(scale.points(curve.area())) for seed, curve in curves.items()} | dict.fromkeys(failed, 0.0)
    enough = {
        seed: curve.spend_for(ENOUGH * scale.full_by_seed[seed])
        for seed, curve in curves.items()
        if seed in scale.full_by_seed
    } | dict.fromkeys(failed, float("nan"))
    return Standing(
        name,
        gains,
        enough,
        _mean([run.values["fit_seconds"] for run in runs.values()]),
        _mean([run.values["tuning_seconds"] + run.values["fit_seconds"] for run in runs.values()]),
        scale,
        {seed: tuple(scale.points(curve.at(SHARES)).tolist()) for seed, curve in curves.items()}
        | dict.fromkeys(failed, (0.0,) * len(SHARES)),
        tuple(failed.values()),
    )


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _failures(results: Results, problem: str, full: bool) -> dict[str, dict[int, str]]:
    """Return the errors of runs by contender and seed."""
    failed: dict[str, dict[int, str]] = {}
    for result in results:
        key = result.key
        if (key.name, key.full) == (problem, full) and result.error:
            failed.setdefault(key.setting, {})[key.seed] = result.error
    return failed
