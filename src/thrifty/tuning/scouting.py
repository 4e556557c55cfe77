"""Successive halving: curves that few folds show to be worse than others are not measured on the remaining folds.

A curve is judged by its score at the budget: by linear interpolation between its best points so far, in the order of
their spends, from the constant answer that costs nothing. With the scores v of two curves on K folds, the noise of the
difference of their means is

    se = sqrt(mean over curves of Var_k(v_curve,k - v_leader,k) / K)

A method is kept if its best curve is less than `WITHIN` se below the leader, or if it is among the best third. The same
holds for the curves of each method. Methods that gain much from more rows are given a margin while rows are few.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from thrifty.tuning.survey import Point, Survey, Trial

WITHIN = 1.0  # standard errors
KEPT_SHARE = 1 / 3
REFERENCES = ("l1", "static")  # other methods are compared with these in reports, so they are always measured
DATA_LOVING, MARGIN = ("thrifty", "greedy-miser"), 0.15  # of the leader's gain over the constant answer


class Curve(NamedTuple):
    """The points of one curve, and its score at the budget on each fold."""

    name: str
    points: list[Point]
    values: np.ndarray

    @property
    def value(self) -> float:
        """The mean score at the budget."""
        return float(self.values.mean())


def curves(points: Sequence[Point], folds: Sequence[int], budget: float, constant: np.ndarray) -> list[Curve]:
    """Return the curves of points that were measured on some folds, the best one first.

    Parameters
    ----------
    points : sequence of Point
    folds : sequence of int
        Points that were not measured on all of these are left out.
    budget : float
        May be infinity.
    constant : ndarray of shape (n_folds,)
        The score of the constant answer on each fold of the search.

    Returns
    -------
    list of Curve
    """
    by_curve: dict[str, list[Point]] = {}
    for point in points:
        if set(folds) <= set(point.trial.measured) and not point.failed:
            by_curve.setdefault(point.curve, []).append(point)
    found = [Curve(each[0].trial.name, each, _values(each, folds, budget, constant)) for each in by_curve.values()]
    return sorted(found, key=lambda curve: -curve.value)


def _values(points: Sequence[Point], folds: Sequence[int], budget: float, constant: np.ndarray) -> np.ndarray:
    spend, score = (np.array([each.by_fold(name, folds) for each in points]) for name in ("spend", "score"))
    return np.array([_at_budget(spend[:, i], score[:, i], budget, constant[k]) for i, k in enumerate(folds)])


def _at_budget(spend: np.ndarray, score: np.ndarray, budget: float, constant: float) -> float:
    order = np.lexsort((score, spend))
    spends, best = np.append(0.0, spend[order]), np.maximum.accumulate(np.append(constant, score[order]))
    return float(np.interp(min(budget, spends[-1]), spends, best))


def noise(found: Sequence[Curve]) -> float:
    """Return the standard error of the difference between the values of a curve and of the first one."""
    differences = np.array([curve.values - found[0].values for curve in found[1:]])
    if not differences.size or differences.shape[1] < 2:
        return 0.0
    return float(np.sqrt(differences.var(axis=1, ddof=1).mean() / differences.shape[1]))


def drop_dominated(
    survey: Survey, trials: Sequence[Trial], folds: Sequence[int], budget: float, constant: np.ndarray
) -> list[Trial]:
    """Return the trials that are worth measuring on more folds; the others get a note.

    Parameters
    ----------
    survey : Survey
    trials : sequence of Trial
        Measured on the folds.
    folds : sequence of int
    budget : float
    constant : ndarray of shape (n_folds,)

    Returns
    -------
    list of Trial
    """
    trials = [trial for trial in trials if set(folds) <= set(trial.measured)]  # the time was enough for these
    found = curves(survey.points(trials), folds, budget, constant) if trials else []
    if not found:
        return list(trials)
    kept = _kept(found, few_rows=trials[0].n_fitted is not None, baseline=float(constant[list(folds)].mean()))
    remain = {id(point.trial) for curve in kept for point in curve.points if _is_needed(point, curve, budget)}
    for trial in trials:
        if id(trial) not in remain:
            best = max(
                (c for c in found if any(p.trial is trial for p in c.points)), key=lambda c: c.value, default=None
            )
            trial.note = _note(survey, trial, best, found[0], best in kept)
    return [trial for trial in trials if id(trial) in remain]


def _kept(found: Sequence[Curve], *, few_rows: bool, baseline: float) -> list[Curve]:
    best = {curve.name: curve for curve in reversed(found)}  # the best curve of each method
    ranked = sorted(best.values(), key=lambda curve: -curve.value)
    error, leader = noise(ranked) * WITHIN, ranked[0].value
    margin = MARGIN * (leader - baseline) if few_rows else 0.0
    methods = {c.name for c in ranked[: ceil(KEPT_SHARE * len(ranked))]}
    methods |= {c.name for c in ranked if c.name in REFERENCES}
    methods |= {c.name for c in ranked if c.value + margin * (c.name in DATA_LOVING) >= leader - error}
    return [c for c in found if c.name in methods and c.value >= best[c.name].value - error]


def _is_needed(point: Point, curve: Curve, budget: float) -> bool:
    """Tell whether a point may matter: not if it is beyond the budget, and a cheaper one is beyond it too."""
    if len(point.trial.batch.settings) > 1:  # its fit serves other points too
        return True
    beyond = [each.trial.mean("spend", each.k) for each in curve.points]
    return point.trial.mean("spend", point.k) <= min((each for each in beyond if each > budget), default=np.inf)


def _note(survey: Survey, trial: Trial, own: Curve | None, leader: Curve, curve_is_kept: bool) -> str:
    folds = len(trial.measured)
    rows = trial.n_fitted or survey.folds.n_fitted(next(iter(trial.measured)))
    place = f"dropped after {folds} folds of {rows} rows"
    if own is None:
        return f"{place}: every fold failed"
    if curve_is_kept:
        return f"{place}: a cheaper point of its curve is beyond the budget too"
    return f"{place}: score at the budget {own.value:.3g}, while {leader.name} has {leader.value:.3g}"
