"""The cost weight at which a fitted model spends a given amount on average on the rows that it was fitted on.

The same cost weight lets the models of two folds spend very different amounts, if the next column is expensive and
its gain is close to its price. Then no cost weight between the two is safely within a budget. Models that are
calibrated one by one differ little in their spend, so the bound on it is close to its mean.
"""

from functools import cache
from typing import Any

import numpy as np

from thrifty.models.rows import Rows

MAX_ROWS = 2_000
HALVINGS = 12
LEAST_SHARE = 1e-6  # the smallest cost weight that is tried, as a share of the largest


class Calibration:
    """Finds cost weights of a fitted model by bisection.

    Parameters
    ----------
    model : BudgetedEstimator
        It has ``at_cost_weight``.
    rows : Rows
        The rows that it was fitted on. At most `MAX_ROWS` of them, evenly spaced, are used.
    cap : float or None
        Hard limit on each row's spend.
    largest : float
        A cost weight at which hardly anything is bought.
    """

    def __init__(self, model: Any, rows: Rows, cap: float | None, largest: float):
        if len(rows) > MAX_ROWS:
            rows = rows.take(np.linspace(0, len(rows) - 1, MAX_ROWS).round().astype(int))
        self.model, self.rows, self.cap, self.largest = model, rows, cap, largest
        self._spend = cache(self._mean_spend)

    def at(self, mean_spend: float) -> Any:
        """Return the model at about the smallest cost weight at which the rows spend at most this much on average.

        Parameters
        ----------
        mean_spend : float

        Returns
        -------
        BudgetedEstimator
        """
        low, high = np.log(LEAST_SHARE * self.largest), np.log(self.largest)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self._spend(middle) <= mean_spend else (middle, high)
        return self._model_at(high)

    def _model_at(self, log_weight: float) -> Any:
        return self.model.at_cost_weight(float(np.exp(log_weight)))

    def _mean_spend(self, log_weight: float) -> float:
        spend = self._model_at(log_weight).acquire(self.rows.X, self.cap, qid=self.rows.qid).spend
        return float(np.average(spend, weights=self.rows.weight))
