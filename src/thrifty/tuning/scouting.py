"""Successive halving: curves that few folds show to be worse than others are not measured on the remaining folds.

A curve is judged by its score at the budget: its scores are replaced by their isotonic regression on the spend, from
the constant answer that costs nothing, with linear interpolation in between. Without a budget it is judged at several
spends, and kept if it is good at any of them. With the scores v of two curves on K folds, the noise of the
difference of their means is

    se = sqrt(mean over curves of Var_k(v_curve,k - v_leader,k) / K)

A method is kept if its best curve is less than `WITHIN` se below the leader, or if it is among the best third. The same
holds for the curves of each method. A curve is also kept if its next point beyond the budget is that good. A method
whose fits take long is kept only if it is among the best third, and at least as good as all methods whose fits do not.
Methods that gain much from more rows are given a margin if they will be fitted on more rows.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from thrifty.metrics.scoring import TOTAL_COST
from thrifty.tuning.survey import Point, Survey, Trial

WITHIN = 1.0  # standard errors
NEAR = 3.0  # times the budget
KEPT_SHARE = 1 / 3
DIGITS = 10  # means of equal scores may differ by rounding; then the quicker method leads
REFERENCES = ("l1", "static")  # other methods are compared with these in reports, so they are always measured
DATA_LOVING, MARGIN = ("thrifty", "greedy-miser"), 0.15  # of the leader's gain over the constant answer


class Curve(NamedTuple):
    """The points of one curve, and its score at the budget on each fold."""

    name: str
    points: list[Point]
    values: np.ndarray

    @property
    def is_slow(self) -> bool:
        """Whether its fits take long."""
        return self.points[0].trial.batch.is_slow

    @property
    def value(self) -> float:
        """The mean score at the budget."""
        return float(self.values.mean().round(DIGITS))

    def highest(self, spend: Callable[[Point], float], budget: float) -> float:
        """Return what the curve can score at the budget if scores rise with the spend.

        That is the score of the next point beyond the budget, if it is `NEAR`. The value of the curve is too low if its
        points are far from each other, because it is a linear interpolation.
        """
        beyond = min((p for p in self.points if budget < spend(p) <= NEAR * budget), key=spend, default=None)
        return self.value if beyond is None else max(self.value, beyond.trial.mean("score", beyond.k))


def curves(
    points: Sequence[Point], folds: Sequence[int], budget: float, constant: np.ndarray, rises: bool = True
) -> list[Curve]:
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
    rises : bool, default=True
        Whether scores are expected to rise with the spend. Otherwise a curve is judged by its best score within the
        budget.

    Returns
    -------
    list of Curve
    """
    by_curve: dict[str, list[Point]] = {}
    for point in points:
        if set(folds) <= set(point.trial.measured) and not point.failed:
            by_curve.setdefault(point.curve, []).append(point)
    found = [
        Curve(each[0].trial.name, each, _values(each, folds, budget, constant, rises)) for each in by_curve.values()
    ]
    return sorted(found, key=lambda curve: -curve.value)


def _values(
    points: Sequence[Point], folds: Sequence[int], budget: float, constant: np.ndarray, rises: bool
) -> np.ndarray:
    spend, score = (np.array([each.by_fold(name, folds) for each in points]) for name in ("spend", "score"))
    return np.array([_at_budget(spend[:, i], score[:, i], budget, constant[k], rises) for i, k in enumerate(folds)])


def _at_budget(spend: np.ndarray, score: np.ndarray, budget: float, constant: float, rises: bool) -> float:
    if not rises:
        return float(score[spend <= budget].max(initial=constant))
    order = np.lexsort((score, spend))
    spends, scores = np.append(0.0, spend[order]), isotonic_regression(np.append(constant, score[order]))
    return float(np.interp(budget, spends, scores))


def noise(found: Sequence[Curve]) -> float:
    """Return the standard error of the difference between the values of a curve and of the first one."""
    differences = np.array([curve.values - found[0].values for curve in found[1:]])
    if not differences.size or differences.shape[1] < 2:
        return 0.0
    return float(np.sqrt(differences.var(axis=1, ddof=1).mean() / differences.shape[1]))


def drop_dominated(
    survey: Survey, trials: Sequence[Trial], folds: Sequence[int], budgets: Sequence[float], constant: np.ndarray
) -> list[Trial]:
    """Return the trials that are worth measuring on more folds; the others get a note.

    Parameters
    ----------
    survey : Survey
    trials : sequence of Trial
        Measured on the folds.
    folds : sequence of int
    budgets : sequence of float
        What is good at one of these is kept.
    constant : ndarray of shape (n_folds,)

    Returns
    -------
    list of Trial
    """
    trials = [trial for trial in trials if set(folds) <= set(trial.measured)]  # the time was enough for these
    verdicts = [_judged(survey, trials, folds, budget, constant) for budget in budgets]
    remain = {trial for needed, _ in verdicts for trial in needed}
    for trial in trials:
        if trial not in remain:
            trial.note = f"dropped after {_amount(survey, trial)}: {verdicts[0][1][trial]}"
    return [trial for trial in trials if trial in remain]


def _judged(
    survey: Survey, trials: Sequence[Trial], folds: Sequence[int], budget: float, constant: np.ndarray
) -> tuple[set[Trial], dict[Trial, str]]:
    """Return the trials that are needed for a budget, and for each trial why it would not be."""
    found = curves(survey.points(trials), folds, budget, constant, survey.scoring != TOTAL_COST)
    if not found:
        return set(trials), {}
    margin = MARGIN * (found[0].value - float(constant[list(folds)].mean()))
    growing = [c.name for c in found if c.name in DATA_LOVING and _gets_more_rows(survey, c)]
    kept = _kept(found, dict.fromkeys(growing, margin), budget)
    needed = {point.trial for curve in kept for point in curve.points if _is_needed(point, curve, budget)}
    reasons = dict.fromkeys(trials, "every fold failed")
    for curve in reversed(found):  # the reason of the best curve of a trial is written last
        score = f"score at the budget {curve.value:.3g}, while {found[0].name} has {found[0].value:.3g}"
        reason = "a cheaper point of its curve is beyond the budget too" if curve in kept else score
        reasons |= {point.trial: reason for point in curve.points}
    return needed, reasons


def _amount(survey: Survey, trial: Trial) -> str:
    return f"{len(trial.measured)} folds of {trial.n_fitted or survey.folds.n_fitted(min(trial.measured))} rows"


def _gets_more_rows(survey: Survey, curve: Curve) -> bool:
    trial = curve.points[0].trial
    return trial.n_fitted != survey.rows_to_fit(trial)


def _kept(found: Sequence[Curve], margins: Mapping[str, float], budget: float) -> list[Curve]:
    """Return the curves that are worth measuring further; `margins` are added to the values of some methods."""
    best = {curve.name: curve for curve in reversed(found)}  # the best curve of each method
    ranked = sorted(best.values(), key=lambda curve: -curve.value)
    error, leader = noise(ranked) * WITHIN, ranked[0].value
    quick_leader = max((c.value for c in ranked if not c.is_slow), default=-np.inf)
    values = {c.name: c.value + margins.get(c.name, 0.0) for c in ranked}
    third = ranked[: ceil(KEPT_SHARE * len(ranked))]
    methods = {c.name for c in third if not c.is_slow or values[c.name] >= quick_leader}
    methods |= {c.name for c in ranked if c.name in REFERENCES}
    methods |= {c.name for c in ranked if values[c.name] >= (leader if c.is_slow else leader - error)}

    def is_kept(curve: Curve) -> bool:
        is_good = curve.name in methods and curve.value >= best[curve.name].value - error
        return is_good or (not curve.is_slow and curve.highest(_mean_spend, budget) >= leader - error)

    return [curve for curve in found if is_kept(curve)]


def _mean_spend(point: Point) -> float:
    return point.trial.mean("spend", point.k)


def _is_needed(point: Point, curve: Curve, budget: float) -> bool:
    """Tell whether a point may matter: not if it is beyond the budget, and a cheaper one is beyond it too."""
    if len(point.trial.batch.settings) > 1:  # its fit serves other points too
        return True
    beyond = [spend for each in curve.points if (spend := _mean_spend(each)) > budget]
    return _mean_spend(point) <= min(beyond, default=np.inf)
