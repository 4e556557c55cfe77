"""Which settings of a contender count: those that are best on training rows.

With few test rows, the best of many settings on the test rows is often best by chance. So on small problems a contender
first runs on `N_FOLDS` folds of the training rows. Only the settings that no other setting dominates there, by mean
spend and mean accuracy, count on the test rows. The adaptive model needs no such choice: every point is an operating
point of one fit.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.adaptive.points import Points
from benchmarks.adaptive.problems import Problem
from thrifty.metrics import CostCurve

ADAPTIVE = "thrifty"
FEW_ROWS = 2_000
N_FOLDS = 4


def identities(settings: list[dict[str, Any]]) -> list[str]:
    """Return what names each setting in all folds and seeds.

    It is the number of columns of a fixed set, and otherwise the place in the sweep: the numbers of a sweep depend on
    the data, because its first penalty is one that buys nothing.
    """
    if all("n_columns" in setting for setting in settings):
        return [str(setting["n_columns"]) for setting in settings]
    return [str(place) for place in range(len(settings))]


def is_small(problem: Problem) -> bool:
    """Tell whether the settings of contenders are chosen on training rows."""
    return len(problem.y) < FEW_ROWS


def chosen_settings(problem: Problem, contender: Callable[[Problem], Points]) -> set[str]:
    """Return the settings that no other setting dominates on held-out training rows; see `identities`."""
    found: dict[str, list[tuple[float, float]]] = {}
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=problem.seed)
    for train, held_out in folds.split(problem.X, problem.y):
        X, y = problem.X, problem.y
        part = replace(problem, X=X[train], y=y[train], X_test=X[held_out], y_test=y[held_out])
        points = list(contender(part))
        for name, point in zip(identities([each["setting"] for each in points]), points, strict=True):
            found.setdefault(name, []).append((point["spend"], point["accuracy"]))
    complete = {name: np.mean(points, axis=0) for name, points in found.items() if len(points) == N_FOLDS}
    if not complete:
        return set(found)
    curve = CostCurve(*np.array(list(complete.values())).T, labels=tuple(complete))
    return {curve.labels[at] for at in curve.frontier}
