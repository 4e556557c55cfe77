"""Mixtures of two points of a frontier, one within the budget and one beyond it, which spend what the budget allows.

Of two models that spend a and b on average and score u and v, a mixture in which the share p of the rows gets the
second one spends (1 - p) a + p b. Its score is (1 - p) u + p v if scores are means over rows or queries. So the pair
with the best mixture is the one whose line is highest at the budget. The mixture itself is then fitted and measured on
all folds like any other candidate, because other scores, such as the area under the ROC curve, do not follow the line,
and because the bound on its spend counts that the spends of rows differ more.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

import thrifty
from thrifty.tuning.choice import competes, smoothed_scores
from thrifty.tuning.knobs import MEAN_SPEND, Setting
from thrifty.tuning.problem import Task
from thrifty.tuning.sweep import Sweep

BETWEEN = " + "  # between the names of two methods in that of their mixture
# Of the share at which the line between the bounds of two points reaches the budget.
SHARES = (1.0, 0.96, 0.92, 0.88, 0.84, 0.8, 0.75, 0.7, 0.6, 0.5)
LEAST_GAIN = 5e-4  # in the score
CLASSES = {
    Task.BINARY: "MixtureClassifier",
    Task.MULTICLASS: "MixtureClassifier",
    Task.REGRESSION: "MixtureRegressor",
    Task.RANKING: "MixtureRanker",
}


class Pair(NamedTuple):
    """Two points of a frontier, and what is expected of their mixture at a budget.

    Attributes
    ----------
    cheap, dear : int
        Lines of the frontier.
    share : float
        The share of the rows that get the second one, at which the line between their bounds reaches the budget.
    score : float
        The score on the line between their scores.
    """

    cheap: int
    dear: int
    share: float
    score: float


def best_pair(table: pd.DataFrame, budget: float, *, smooth: bool = True) -> Pair | None:
    """Return the two points whose mixture should score best at a budget.

    Parameters
    ----------
    table : DataFrame
        The frontier.
    budget : float
    smooth : bool, default=True
        Whether scores are expected to rise with the spend.

    Returns
    -------
    Pair or None
        None if no mixture should score better than the best point within the budget.
    """
    single = table[competes(table) & [not is_mixture(each) for each in table["parameters"]]]
    bound = single["spend_bound"].to_numpy()
    score = smoothed_scores(single) if smooth else single["score"].to_numpy(dtype=float)
    best = score[bound <= budget].max(initial=-np.inf)
    parts = np.array([MEAN_SPEND not in each for each in single["parameters"]], dtype=bool)  # others are for one budget
    single, bound, score = single[parts], bound[parts], score[parts]
    within, beyond = np.flatnonzero(bound <= budget), np.flatnonzero(bound > budget)
    if not len(within) or not len(beyond):
        return None
    share = (budget - bound[within])[:, None] / (bound[beyond] - bound[within][:, None])
    value = score[within][:, None] * (1.0 - share) + score[beyond] * share
    i, j = np.unravel_index(np.argmax(value), value.shape)
    if value[i, j] < best + LEAST_GAIN:
        return None
    return Pair(int(single.index[within[i]]), int(single.index[beyond[j]]), float(share[i, j]), float(value[i, j]))


def rise_at(table: pd.DataFrame, budget: float, point: int, *, smooth: bool = True) -> float:
    """Return by how much the frontier rises at a budget above a point that is within it.

    The frontier rises if a mixture of two points, one within the budget and one beyond it, should score better there
    than the point. Otherwise this is 0.

    Parameters
    ----------
    table : DataFrame
        The frontier.
    budget : float
    point : int
        A line of the table, such as the chosen one.
    smooth : bool, default=True
        Whether scores are expected to rise with the spend.
    """
    pair = best_pair(table, budget, smooth=smooth)
    if pair is None:
        return 0.0
    scores = smoothed_scores(table) if smooth else table["score"].to_numpy(dtype=float)
    return max(pair.score - float(scores[table.index.get_loc(point)]), 0.0)


def is_mixture(setting: Mapping[str, Any]) -> bool:
    """Tell whether a setting is that of a mixture."""
    return "share" in setting


def mixed(pair: Pair, places: Sequence[tuple[Sweep, int]], task: Task, random_state: Any) -> Sweep:
    """Return a sweep of mixtures of two points with several shares, which needs one fit.

    Parameters
    ----------
    pair : Pair
    places : sequence of (Sweep, int)
        For each point of the frontier, its batch and its position there.
    task : Task
    random_state : int or None
        Determines which rows get the more expensive model.
    """
    (cheap, i), (dear, j) = places[pair.cheap], places[pair.dear]
    fixed = _prefixed("cheap", cheap.settings[i]) | _prefixed("dear", dear.settings[j])
    limits = [each.max_rows for each in (cheap, dear) if each.max_rows is not None]
    return Sweep(
        f"{cheap.name}{BETWEEN}{dear.name}",
        mixture_of(cheap.estimator, dear.estimator, task, random_state),
        tuple({**fixed, "share": pair.share * part} for part in SHARES),
        min(limits, default=None),
    )


def mixture_of(cheap: Any, dear: Any, task: Task, random_state: Any) -> Any:
    """Return an unfitted mixture of two estimators."""
    parts = (clone(each).set_params(costs=None) for each in (cheap, dear))
    return getattr(thrifty, CLASSES[task])(*parts, random_state=random_state)


def _prefixed(part: str, setting: Setting) -> Setting:
    """Return the parameters of one of the two models as parameters of the mixture."""
    return {f"{part}_cap" if name == "cap" else f"{part}__{name}": value for name, value in setting.items()}
