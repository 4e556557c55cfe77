"""Which settings of a contender count: those on the upper hull of score against spend, on held-out training rows.

Every contender gets the same number of trials. A trial is a setting. It is fitted on a part of the training rows, and
its models are measured on the others: on `FOLDS` parts in turn if there are few rows, else on one part. Two models that
are mixed at random reach every point on the line between them, so only the corners of the hull count. Test rows play no
part.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedKFold

from thrifty.bench.contenders.contender import Contender, Setting, Training
from thrifty.bench.problems.problem import Problem

FEW_ROWS = 900
FOLDS = 4


@dataclass(frozen=True)
class Trial:
    """A model of a setting, and what it spends and scores on held-out training rows."""

    setting: Setting
    model: str
    spend: float
    score: float


def tried(problem: Problem, contender: Contender, n_trials: int) -> list[Trial]:
    """Return all models of all settings; one that some fold does not have is left out."""
    found: list[Trial] = []
    folds = list(_folds(problem))
    for setting in contender.trials(n_trials):
        points: dict[str, list[tuple[float, float]]] = {}
        for fitted, held_out in folds:
            training = Training.of(problem, problem.train.take(fitted))
            rows = problem.train.take(held_out)
            for model in contender.fit(training, dict(setting)):
                answers = model.answer(rows)
                point = problem.spend(rows, answers.acquired), problem.score(rows, answers.prediction)
                points.setdefault(model.name, []).append(point)
        for name, each in points.items():
            if len(each) == len(folds):
                found.append(Trial(setting, name, *np.mean(each, axis=0).tolist()))
    return found


def hull(trials: list[Trial], floor: float) -> list[Trial]:
    """Return the corners of the upper hull of spend and score, from cheap to expensive.

    The hull begins with the constant answer, which costs nothing and scores `floor`, and rises.

    >>> points = [(1.0, 0.7), (2.0, 0.72), (3.0, 0.9), (4.0, 0.8)]
    >>> [each.spend for each in hull([Trial({}, "", *point) for point in points], 0.5)]
    [1.0, 3.0]
    """
    corners: list[tuple[float, float, Trial | None]] = [(0.0, floor, None)]
    for trial in sorted(trials, key=lambda each: (each.spend, -each.score)):
        if trial.score <= max(corner[1] for corner in corners):
            continue
        while len(corners) > 1 and _slope(corners[-2], trial) >= _slope(corners[-2], corners[-1]):
            corners.pop()
        if trial.spend == corners[-1][0]:
            corners.pop()
        corners.append((trial.spend, trial.score, trial))
    return [trial for *_, trial in corners if trial is not None]


def _slope(one: tuple[float, float, Trial | None], other: "tuple[float, float, Trial | None] | Trial") -> float:
    spend, score = (other.spend, other.score) if isinstance(other, Trial) else other[:2]
    return (score - one[1]) / (spend - one[0]) if spend > one[0] else np.inf


def _folds(problem: Problem) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield positions of fitted and held-out training rows."""
    rows = problem.train
    if rows.qid is not None:
        parts = GroupKFold(FOLDS).split(rows.X, groups=rows.qid)
    else:
        parts = StratifiedKFold(FOLDS, shuffle=True, random_state=problem.seed).split(rows.X, rows.y)
    for k, part in enumerate(parts):
        if k == 0 or len(rows) < FEW_ROWS:
            yield part
