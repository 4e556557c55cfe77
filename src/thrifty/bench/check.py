"""Compare a small subset of the suite with the committed summary: ``thrifty bench --check``.

The subset needs no data that are not in the package, and takes less than a minute on two cores. It has two trials for
each contender, and the seeds 0, ..., k - 1.

Quality: with the committed areas a_s of a contender on a problem and the new ones b_s, the loss is the mean of
a_s - b_s. It is beyond noise if

    loss > max(0.05, 2 s / sqrt(k)),    s = standard deviation of the a_s

Time: the ratio of the CPU time of the default model to that of LightGBM CEGB (lazy), tuning and fits of all problems
together, is beyond noise if it exceeds three times the committed one.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from thrifty.bench.contenders import FLAGSHIP, FULL
from thrifty.bench.race import measure
from thrifty.bench.results import Results
from thrifty.bench.runner import compute
from thrifty.bench.runs import Key, Run

PROBLEMS = ("heart", "quadrants")
REFERENCE = "lightgbm-lazy"
CONTENDERS = (FLAGSHIP, FULL, REFERENCE, "greedy-miser", "l1")
SEEDS, TRIALS = range(2), 2
LEAST_LOSS, LARGEST_RATIO = 0.05, 3.0


@dataclass(frozen=True)
class Line:
    """A new figure beside the committed one, and how far apart they may be."""

    what: str
    committed: float
    new: float
    limit: float
    is_met: bool


def runs() -> list[Run]:
    """Return the runs of the subset; the slow ones first, so that several processes end together."""
    keys = [Key(problem, seed, name) for name in CONTENDERS for problem in PROBLEMS[::-1] for seed in SEEDS]
    return [Run(key, partial(measure, *key, TRIALS), {"n_trials": TRIALS}) for key in keys]


def computed(jobs: int, limit: float) -> Results:
    """Return the results of the subset."""
    results = Results()
    compute(runs(), results, jobs=jobs, limit=limit)
    return results


def compared(before: dict[str, Any], after: dict[str, Any]) -> list[Line]:
    """Return the comparison of two summaries of the subset, by problem and contender."""
    lines = [
        _quality(f"{problem}: area of {name}", figures["areas"], after.get(problem, {}).get(name, {}).get("areas", {}))
        for problem, contenders in before.items()
        for name, figures in contenders.items()
        if name != FULL
    ]
    return [*lines, _time(before, after)]


def _quality(what: str, before: dict[str, float], after: dict[str, float]) -> Line:
    old = np.array([before[seed] for seed in before])
    new = np.array([after.get(seed, 0.0) for seed in before])  # a run that is missing bought nothing
    error = np.std(old, ddof=1) / np.sqrt(len(old)) if len(old) > 1 else 0.0
    limit = old.mean() - max(LEAST_LOSS, 2.0 * error)
    return Line(what, float(old.mean()), float(new.mean()), float(limit), bool(new.mean() >= limit))


def _time(before: dict[str, Any], after: dict[str, Any]) -> Line:
    old, new = _ratio(before), _ratio(after)
    what = f"CPU time of {FLAGSHIP} / that of {REFERENCE}"
    return Line(what, old, new, LARGEST_RATIO * old, new <= LARGEST_RATIO * old)


def _ratio(figures: dict[str, Any]) -> float:
    """Return the ratio of CPU times; infinity if something is missing."""
    own, reference = (
        sum(contenders.get(name, {}).get("seconds") or np.inf for contenders in figures.values())
        for name in (FLAGSHIP, REFERENCE)
    )
    return float(own / reference) if np.isfinite(own) and np.isfinite(reference) and figures else float("inf")
