"""What a batch of rows acquired, what each paid, and what each was answered."""

from collections.abc import Callable
from functools import cached_property

import numpy as np


class Acquisition:
    """The outcome of :meth:`BudgetedEstimator.acquire`, one entry per row.

    Attributes
    ----------
    prediction : ndarray of shape (n,)
    score : ndarray of shape (n,) or (n, n_classes)
        What the prediction was made from: the value itself in regression, log-odds in classification.
    acquired : ndarray of shape (n, n_features), bool
        The features that were bought; a prediction depends on no other.
    spend : ndarray of shape (n,)
        What the row is charged, in the unit of the cost model.
    exit : ndarray of shape (n,), int
        Where the row ended: a node or stage of the model, or -1 if not even the first was affordable.
    """

    def __init__(
        self,
        prediction: np.ndarray,
        score: np.ndarray,
        acquired: Callable[[], np.ndarray],
        spend: np.ndarray,
        exit: np.ndarray,  # noqa: A002 - the contract's word
    ):
        self.prediction, self.score, self.spend, self.exit = prediction, score, spend, exit
        self._acquired = acquired

    @cached_property
    def acquired(self) -> np.ndarray:
        """What each row bought; made when first looked at, for it is as long and wide as X."""
        return self._acquired()

    def __len__(self) -> int:
        return len(self.spend)

    def __repr__(self) -> str:
        if not len(self):
            return "Acquisition(0 rows)"
        return f"Acquisition({len(self)} rows, mean spend {self.spend.mean():.6g}, largest {self.spend.max():.6g})"
