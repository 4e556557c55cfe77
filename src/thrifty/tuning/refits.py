"""Fitting points of the frontier on all rows, and calibrating them there to the budget.

A model that is fitted on all rows may spend more than the models of the folds did. Then its knob is moved until its
mean spend on all rows is within the budget: by bisection if the fitted model has the knob, otherwise by a few fits.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from thrifty.models.homes import collections, is_collection
from thrifty.tuning.knobs import FREE, cheaper, knob_of
from thrifty.tuning.problem import Problem
from thrifty.tuning.sweep import Fitted, Sweep

LARGEST_FACTOR = 16.0  # by which the knob of a fitted model is moved at most
REFIT_FACTORS = (1.1, 1.25, 1.6)  # by which a knob is moved that needs a new fit
HALVINGS = 10
LEAST_SHARE = 0.5  # of the budget: a calibrated model that spends less has lost a part of what it was chosen for


class Refits:
    """Fits batches on all rows, each at most once.

    Parameters
    ----------
    places : sequence of (Sweep, int)
        For each point of the frontier, its batch and its position in the batch.
    problem : Problem
        All rows.
    left : callable, optional
        Returns the seconds until the time limit. A fit is repeated, or another point fitted, only if the fits that were
        made took less than that. The first fit is always made.

    Attributes
    ----------
    notes : dict
        For points that were passed over or calibrated, what happened.
    """

    def __init__(
        self,
        places: Sequence[tuple[Sweep, int]],
        problem: Problem,
        left: Callable[[], float] = lambda: np.inf,
    ):
        self.places, self.problem, self.left = places, problem, left
        self._slowest = 0.0  # seconds of the slowest fit so far
        self.notes: dict[int, str] = {}
        self._fitted: dict[int, list[Fitted]] = {}
        self._spends: dict[int, tuple[Fitted, float]] = {}  # by identity of the model under its setting

    def first_within(self, points: Sequence[int], budget: float | None) -> tuple[int, Fitted]:
        """Return the first point whose model can be kept within the budget on all rows, else the cheapest on all rows.

        Parameters
        ----------
        points : sequence of int
            Positions in the frontier, the preferred point first.
        budget : float or None
            Bound on the mean spend; None accepts the first point that can be fitted.

        Returns
        -------
        int
            The point that was chosen.
        Fitted
            Its model.
        """
        too_expensive: list[tuple[float, int, Fitted]] = []
        last_resort: list[tuple[int, Fitted]] = []
        first_error = ""
        for point in map(int, points):
            if too_expensive and not self._has_time():
                break
            fitted = self._fit(point)
            if fitted.error:
                first_error = first_error or fitted.error
                self.notes[point] = f"passed over: on all rows it failed: {fitted.error}"
                continue
            spend = self.mean_spend(fitted)
            if budget is None or spend <= budget:
                return point, fitted
            calibrated = self._calibrated(point, fitted, budget)
            self.notes[point] = f"on all rows it spends {spend:.4g}"
            if calibrated is not None and self.mean_spend(calibrated) >= LEAST_SHARE * budget:
                self.notes[point] += f", so {knob_of(calibrated.setting)} was set to {_shown(calibrated)}"
                return point, calibrated
            self.notes[point] = f"passed over: {self.notes[point]}"
            if calibrated is not None:
                self.notes[point] += ", and with its knob moved it buys much less"
                last_resort.append((point, calibrated))
            too_expensive.append((spend, point, fitted))
        if last_resort:
            return last_resort[0]
        if not too_expensive:
            raise ValueError(f"BudgetSearchCV: no candidate could be fitted on all rows: {first_error}")
        spend, point, fitted = min(too_expensive, key=lambda each: each[0])
        if not self._has_time():
            self.notes[point] = f"on all rows it spends {spend:.4g}, and no time was left to change that"
        return point, fitted

    def estimator(self, point: int, fitted: Fitted) -> Any:
        """Return the estimator of a point as it was before it was fitted, under the setting of the fitted model."""
        return self.places[point][0].unfitted(fitted.setting)

    def _fit(self, point: int) -> Fitted:
        batch, k = self.places[point]
        if is_collection(self.problem.rows.X):  # there is no path of models there, and a fit takes long
            return replace(batch, settings=(batch.settings[k],)).fit(self.problem)[0]
        if id(batch) not in self._fitted:
            self._fitted[id(batch)] = self._timed(batch)
        return self._fitted[id(batch)][k]

    def _timed(self, batch: Sweep) -> list[Fitted]:
        start = perf_counter()
        fitted = batch.fit(self.problem)
        self._slowest = max(self._slowest, perf_counter() - start)
        return fitted

    def _has_time(self) -> bool:
        """Tell whether another fit is expected to end before the time limit."""
        return self._slowest < self.left()

    def mean_spend(self, fitted: Fitted) -> float:
        """Return what a fitted model spends on all rows on average."""
        if id(fitted) not in self._spends:
            self._spends[id(fitted)] = fitted, self._measured_spend(fitted)
        return self._spends[id(fitted)][1]

    def _measured_spend(self, fitted: Fitted) -> float:
        rows = self.problem.rows
        spend = fitted.acquire(rows, self.problem.cap).spend
        if is_collection(spend):
            return collections().mean_spend(spend, rows.weight)
        return float(np.average(spend, weights=rows.weight))

    def _calibrated(self, point: int, fitted: Fitted, budget: float) -> Fitted | None:
        """Return a model of the same curve that stays within the budget on all rows; None if there is none nearby."""
        knob = knob_of(fitted.setting)
        if knob in FREE:
            return self._bisected(lambda factor: _with_knob(fitted, factor), budget)
        if knob == "cost_weight" and hasattr(fitted.model, "at_cost_weight"):
            return self._bisected(lambda factor: _at_cost_weight(fitted, factor), budget)
        if knob == "share":
            return self._bisected(lambda factor: _at_share(fitted, factor), budget)
        return self._refitted(self.places[point][0], fitted, budget)

    def _bisected(self, moved: Callable[[float], Fitted], budget: float) -> Fitted | None:
        low, high, best = 1.0, LARGEST_FACTOR, moved(LARGEST_FACTOR)
        if self.mean_spend(best) > budget:
            return None
        for _ in range(HALVINGS):
            middle = float(np.sqrt(low * high))
            if self.mean_spend(candidate := moved(middle)) <= budget:
                high, best = middle, candidate
            else:
                low = middle
        return best

    def _refitted(self, batch: Sweep, fitted: Fitted, budget: float) -> Fitted | None:
        for factor in REFIT_FACTORS:
            setting = cheaper(fitted.setting, factor)
            if setting is None or not self._has_time():
                return None
            (again,) = self._timed(replace(batch, settings=(setting,)))
            if not again.error and self.mean_spend(again) <= budget:
                return again
        return None


def _with_knob(fitted: Fitted, factor: float) -> Fitted:
    return replace(fitted, setting=cheaper(fitted.setting, factor) or fitted.setting)


def _at_cost_weight(fitted: Fitted, factor: float) -> Fitted:
    moved = _with_knob(fitted, factor)
    return replace(moved, model=fitted.model.at_cost_weight(moved.setting["cost_weight"]))


def _at_share(fitted: Fitted, factor: float) -> Fitted:
    moved = _with_knob(fitted, factor)
    return replace(moved, model=fitted.model.at_share(moved.setting["share"]))


def _shown(fitted: Fitted) -> str:
    value = fitted.setting[knob_of(fitted.setting) or ""]
    return " ".join(f"{each:.4g}" for each in (value if isinstance(value, list) else [value]))
