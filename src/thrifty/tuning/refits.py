"""Fitting points of the frontier on all rows, and checking that they stay within the budget there."""

from collections.abc import Sequence
from typing import Any

from thrifty.tuning.problem import Problem
from thrifty.tuning.sweep import Fitted, Sweep


class Refits:
    """Fits batches on all rows, each at most once.

    Parameters
    ----------
    batches : sequence of Sweep
        In the order of the frontier.
    problem : Problem
        All rows.
    """

    def __init__(self, batches: Sequence[Sweep], problem: Problem):
        self.problem = problem
        self._place = [(batch, k) for batch in batches for k in range(len(batch.settings))]
        self._fitted: dict[int, list[Fitted]] = {}

    def first_within(self, points: Sequence[int], budget: float | None) -> tuple[int, Fitted]:
        """Return the first point whose model stays within the budget on all rows, else the cheapest on all rows.

        A model that is fitted on all rows may spend more than the models of the folds did. This is checked here,
        before the model is used.

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
        first_error = ""
        for point in points:
            fitted = self._fit(point)
            if fitted.error:
                first_error = first_error or fitted.error
                continue
            spend = float(fitted.acquire(self.problem.rows, self.problem.cap).spend.mean())
            if budget is None or spend <= budget:
                return int(point), fitted
            too_expensive.append((spend, int(point), fitted))
        if not too_expensive:
            raise ValueError(f"BudgetSearchCV: no candidate could be fitted on all rows: {first_error}")
        _, point, fitted = min(too_expensive, key=lambda each: each[0])
        return point, fitted

    def unfitted(self, point: int) -> Any:
        """Return the estimator of a point before it was fitted."""
        batch, k = self._place[point]
        return batch.unfitted(batch.settings[k])

    def _fit(self, point: int) -> Fitted:
        batch, k = self._place[point]
        if id(batch) not in self._fitted:
            self._fitted[id(batch)] = batch.fit(self.problem)
        return self._fitted[id(batch)][k]
