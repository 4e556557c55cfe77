"""The stages of a search: scout all methods, drop those that are worse, measure and refine the others.

What the user listed himself is measured completely. A named method is measured

    1. with few settings, on 2 folds, with at most 1,000 rows to fit,
    2. on 2 folds with all rows to fit, if it was not dropped,
    3. on all folds, if it was not dropped,
    4. with new settings where the score still rises at the budget,
    5. mixed with another one, if the user allows it and money is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from thrifty.costs.amounts import amount
from thrifty.metrics.scoring import TOTAL_COST
from thrifty.tuning.frontier import bound_of, frontier_table
from thrifty.tuning.methods import LEAST_ROWS, SCOUT_ROWS
from thrifty.tuning.mixing import best_pair, mixed
from thrifty.tuning.refinement import refine
from thrifty.tuning.scouting import drop_dominated
from thrifty.tuning.survey import Point, Survey, Trial
from thrifty.tuning.sweep import Sweep

SCOUT_FOLDS = (0, 1)
LEVELS = (1.0, 0.5, 0.25, 0.12, 0.06)  # shares of the cost of all columns, if there is no budget
QUICK = ("l1", "truncated", "static", "attentive", "astc", "and-or", "cscc", "cstc", "cronus")  # before the others


@dataclass(eq=False)
class Stages:
    """Decides what a survey measures.

    Attributes
    ----------
    survey : Survey
    budget : float or None
        Bound on the mean spend.
    confidence : float
        Confidence of the bound.
    constant : ndarray of shape (n_folds,)
        The score of the constant answer on each fold.
    mix : bool, default=False
        Whether two points may be mixed.
    """

    survey: Survey
    budget: float | None
    confidence: float
    constant: np.ndarray
    mix: bool = False

    def __post_init__(self) -> None:
        self.bound: Callable[[Point], float] = lru_cache(None)(self._bound)
        self.limit = np.inf if self.budget is None else self.budget

    def run(self, listed: Sequence[Sweep], named: Sequence[Sweep]) -> None:
        """Measure candidates, as far as the time limit allows.

        Parameters
        ----------
        listed : sequence of Sweep
            Settings that the user listed.
        named : sequence of Sweep
            The first settings of methods with a name.
        """
        survey, folds = self.survey, range(len(self.survey.folds))
        by_user = [trial for sweep in listed for trial in survey.add(sweep, listed=True)]
        quick_first = sorted(named, key=lambda each: QUICK.index(each.name) if each.name in QUICK else len(QUICK))
        by_name = [survey.add(sweep) for sweep in quick_first]
        if survey.clock.limit is not None:
            self._measure_something(by_user or by_name[0], folds)
        survey.measure(by_user, folds, reserve=self.reserve())
        trials = [trial for added in by_name for trial in added]
        if len(by_name) > 1 and len(folds) > len(SCOUT_FOLDS):
            trials = self._scout(trials)
        survey.measure(trials, folds, reserve=self.reserve())
        if self.budget is not None:
            refine(survey, self.bound, self.budget, self.constant, self.reserve)
            if self.mix:
                self._mix(self.budget)

    def shown_with_best(self, show: Callable[[str, float], None], unit: str) -> Callable[[str, float], None]:
        """Return a function that shows the method at work, and the best point so far."""

        def show_both(name: str, seconds_left: float) -> None:
            best = self.best() or self._best_scouted()
            if best is not None:
                spend, score = (best.trial.mean(each, best.k) for each in ("spend", "score"))
                name += f"; best so far {best.trial.name}, {score:.3g} at {amount(spend, unit)}"
            show(name, seconds_left)

        return show_both

    def best(self) -> Point | None:
        """Return the point with the best score within the budget so far."""
        within = [point for point in self.survey.complete_points() if self.bound(point) <= self.limit]
        return max(within, key=lambda point: point.trial.mean("score", point.k), default=None)

    def _best_scouted(self) -> Point | None:
        """Return the point with the best score of those that two folds show to spend at most the budget."""
        scouted = [each for each in self.survey.points() if len(each.trial.measured) > 1 and not each.failed]
        within = [each for each in scouted if each.trial.mean("spend", each.k) <= self.limit]
        return max(within, key=lambda point: point.trial.mean("score", point.k), default=None)

    def reserve(self) -> float:
        """Return the seconds that the final fit of the best point so far will take."""
        best = self.best()
        return 0.0 if best is None else self.survey.clock.refit(best.trial.name, id(best.trial))

    def _measure_something(self, trials: Sequence[Trial], folds: Sequence[int]) -> None:
        """Measure one quick candidate, on few rows whatever the time limit is, and then on all."""
        limit = self.survey.clock.limit or np.inf
        n_rows = SCOUT_ROWS if 2 * trials[0].batch.scout_seconds < limit / 2 else LEAST_ROWS
        self.survey.measure(trials[:1], folds[:2], n_rows, must=True)
        self.survey.measure(trials[:1], folds)

    def _scout(self, trials: list[Trial]) -> list[Trial]:
        for n_rows in (SCOUT_ROWS, None):
            if n_rows is None or n_rows < self.survey.folds.n_fitted(0):
                self.survey.measure(trials, SCOUT_FOLDS, n_rows, reserve=self.reserve())
                trials = drop_dominated(self.survey, trials, SCOUT_FOLDS, self._levels(), self.constant)
        return trials

    def _mix(self, budget: float) -> None:
        """Measure mixtures of the two points whose mixture should score best at the budget."""
        survey, points = self.survey, self.survey.points()
        table = frontier_table(survey, self.confidence)
        pair = best_pair(table, budget, smooth=survey.scoring != TOTAL_COST)
        if pair is None:
            return
        parts, n_rows = [points[k].trial for k in (pair.cheap, pair.dear)], survey.folds.n_fitted(0)
        seconds = sum(survey.clock.predict(each.name, id(each), n_rows) for each in parts)
        problem, random_state = survey.folds.problem, survey.folds.random_state
        sweep = mixed(pair, [(each.trial.batch, each.k) for each in points], problem.task, random_state)
        survey.clock.expect(sweep.name, seconds, n_rows)
        survey.measure(survey.add(sweep), range(len(survey.folds)), reserve=self.reserve())

    def _levels(self) -> list[float]:
        """Return the spends at which methods are compared."""
        if self.budget is not None or self.survey.scoring == TOTAL_COST:
            return [self.limit]
        return (np.array(LEVELS) * self.survey.folds.problem.max_spend).tolist()

    def _bound(self, point: Point) -> float:
        return bound_of(point, self.survey.folds, self.confidence)
