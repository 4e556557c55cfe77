"""What a model promised about its spend, and how much a row can spend at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thrifty.runtime.watch.reference import Reference


@dataclass(frozen=True)
class Promised:
    """A promise about the mean spend per row.

    Attributes
    ----------
    spend : float
        The mean spend that is not exceeded.
    largest : float
        The largest spend of a row that the test of the promise counts with.
    budget : float or None
        The bound on the mean spend that the user asked for.
    unit : str
        The unit of all amounts.
    """

    spend: float
    largest: float
    budget: float | None
    unit: str

    @classmethod
    def by(cls, model: Any, reference: Reference | None = None) -> Promised | None:
        """Return what a fitted model promised; None if it promised nothing.

        A model that a search chose has a `Promise`, with an upper confidence bound on the mean spend of new rows. A
        `ThriftyClassifier` or `ThriftyRegressor` has such a bound for its operating point. The promise is the budget
        that the user asked for, or this bound if there is no budget, or if the bound exceeds it.

        Parameters
        ----------
        model : BudgetedEstimator
        reference : Reference, optional
            Rows whose largest spend is known.

        Returns
        -------
        Promised or None
        """
        promise = getattr(model, "promise_", None)
        inner = getattr(model, "estimator_", model)
        made_by, bound = (inner, "spend_bound_") if promise is None else (promise, "spend_bound")
        budget = getattr(made_by, "budget", None)
        known = [each for each in (getattr(made_by, bound, None), budget) if each is not None]
        if not known:
            return None
        spend = max(known)
        largest = _largest_spend(model, promise, float(spend), reference)
        return cls(float(spend), largest, budget, model.cost_model_.unit)


def _largest_spend(model: Any, promise: Any, promised: float, reference: Reference | None) -> float:
    """Return the largest spend of a row: its cap, or else the cost of all columns.

    A model may charge for evaluation on top of its columns. So the largest spend of the reference counts too, and if
    the promise itself is not below the cost of all columns, twice the promise.
    """
    caps = [each for each in (getattr(promise, "cap", None), getattr(model, "cap", None)) if each is not None]
    if caps and 0 < min(caps) < float("inf"):
        return float(min(caps))
    total = float(model.cost_model_.total)
    largest = max(total, 0.0 if reference is None else reference.largest_spend, 2.0 * promised * (promised >= total))
    return largest or 1.0
