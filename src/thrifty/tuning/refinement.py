"""Points where they matter: new settings between the two points of a curve that bracket the budget.

A curve is refined as long as its score still rises at the budget, and the largest bound within the budget is below
`CLOSE` budgets. Curves that can score as well as the best one at the budget are refined, the best ones first.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from thrifty.metrics.scoring import TOTAL_COST
from thrifty.tuning.knobs import FREE, Setting, allowance, between, cheaper, knob_of
from thrifty.tuning.scouting import Curve, curves, noise
from thrifty.tuning.survey import Point, Survey
from thrifty.tuning.sweep import Sweep

CLOSE = 0.9
MAX_CURVES, MAX_ROUNDS = 3, 6
FIRST_STEP = 3.0  # by which a knob is moved if all points of a curve are beyond the budget

Bound = Callable[[Point], float]


def refine(survey: Survey, bound: Bound, budget: float, constant: np.ndarray, reserve: Callable[[], float]) -> None:
    """Measure new points of the best curves, round by round.

    Parameters
    ----------
    survey : Survey
    bound : callable
        ``bound(point)`` is the upper confidence bound on the spend of a point that was measured on all folds.
    budget : float
    constant : ndarray of shape (n_folds,)
        The score of the constant answer on each fold.
    reserve : callable
        Returns the seconds to keep for the final fit.
    """
    folds = range(len(survey.folds))
    for _ in range(MAX_ROUNDS):
        points = [point for point in survey.complete_points() if not point.trial.listed]
        found = curves(points, folds, budget, constant, survey.scoring != TOTAL_COST)
        least = found[0].value - noise(found) if found else 0.0
        best = [curve for curve in found if curve.highest(bound, budget) >= least]
        proposed = [(curve, each) for curve in best if (each := _proposal(curve, bound, budget)) is not None]
        added = [trial for curve, setting in proposed[:MAX_CURVES] for trial in survey.add(_sweep(curve, setting))]
        if not added:
            return
        survey.measure(added, folds, reserve=reserve())


def _sweep(curve: Curve, setting: Setting) -> Sweep:
    """Return a new setting, and those that share its fit, such as fewer rounds of boosting."""
    batch, knob = curve.points[0].trial.batch, knob_of(setting)
    sharing = ({**each, knob: setting[knob]} for each in batch.settings) if knob else (setting,)
    return replace(batch, settings=tuple({repr(each): each for each in sharing}.values()))


def _proposal(curve: Curve, bound: Bound, budget: float) -> Setting | None:
    """Return the setting to measure next; None if the curve is close enough to the budget, or does not rise there."""
    bounds = {point: bound(point) for point in curve.points}
    within = [point for point in curve.points if bounds[point] <= budget]
    beyond = [point for point in curve.points if bounds[point] > budget]
    if not beyond or len(curve.points) < 2 or _is_dense(curve):
        return None

    def amounts(point: Point) -> tuple[Any, ...]:  # of models that spend the same, the knob tells which is closer
        return bounds[point], point.trial.mean("spend", point.k), allowance(point.setting)

    above = min(beyond, key=amounts)
    if not within:
        return cheaper(above.setting, FIRST_STEP)
    below = max(within, key=amounts)
    best = max(point.trial.mean("score", point.k) for point in within)
    rises = above.trial.mean("score", above.k) > best
    middle = between(below.setting, above.setting) if rises and bounds[below] < CLOSE * budget else None
    return None if middle in [point.setting for point in curve.points] else middle


def _is_dense(curve: Curve) -> bool:
    """Tell whether one fit serves all points of a curve, so that they are close to each other already."""
    point = curve.points[0]
    return knob_of(point.setting) in FREE or hasattr(point.trial.batch.estimator, "at_cost_weight")
