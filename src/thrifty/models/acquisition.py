"""The outcome of a batch: what each row acquired, what it paid, and its prediction."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from thrifty.costs import CostModel
from thrifty.costs.amounts import amount
from thrifty.costs.money import difference
from thrifty.costs.notebook import described, table

MAX_CELLS = 10_000_000  # of a matrix that is computed to be shown


class Acquisition:
    """The outcome of :meth:`BudgetedEstimator.acquire`, one entry per row.

    Attributes
    ----------
    prediction : ndarray of shape (n,)
    score : ndarray of shape (n,) or (n, n_classes)
        What the prediction is made from: the value itself in regression, log-odds in classification.
    acquired : ndarray of bool, shape (n, n_features)
        The features that each row bought. The prediction depends on no other feature.
    spend : ndarray of shape (n,)
        What each row is charged for features and evaluation, in the unit of the cost model.
    feature_spend : ndarray of shape (n,)
        The part of `spend` that pays for the acquired features.
    evaluation_spend : ndarray of shape (n,)
        The part of `spend` that pays for evaluating the model, such as its trees; 0 if evaluation is free.
    exit : ndarray of int, shape (n,)
        Where each row ended: a node or stage of the model, or -1 if the row could not afford the first one.
    cost_model : CostModel
        The costs of the features.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> model = CostWeightedL1Regressor(costs=[2.5]).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> acquisition = model.acquire([[0.5], [1.5]])
    >>> acquisition
    Acquisition(2 rows, mean spend 2.5, largest 2.5)
    >>> acquisition.feature_spend, acquisition.evaluation_spend
    (array([2.5, 2.5]), array([0., 0.]))
    """

    def __init__(
        self,
        prediction: np.ndarray,
        score: np.ndarray,
        acquired: Callable[[], np.ndarray],
        spend: np.ndarray,
        exit: np.ndarray,  # noqa: A002 - the contract's word
        cost_model: CostModel,
    ):
        self.prediction, self.score, self.spend, self.exit = prediction, score, spend, exit
        self._acquired, self.cost_model = acquired, cost_model

    @cached_property
    def acquired(self) -> np.ndarray:
        """The features that each row bought; computed on first access because it is as large as X."""
        return self._acquired()

    @cached_property
    def feature_spend(self) -> np.ndarray:
        """What each row is charged for the features that it acquired."""
        return self.cost_model.of(self.acquired)

    @cached_property
    def evaluation_spend(self) -> np.ndarray:
        """What each row is charged for the evaluation of the model."""
        return np.maximum(difference(self.spend, self.feature_spend), 0.0)

    def __len__(self) -> int:
        return len(self.spend)

    def __repr__(self) -> str:
        if not len(self):
            return "Acquisition(0 rows)"
        return f"Acquisition({len(self)} rows, mean spend {self.spend.mean():.6g}, largest {self.spend.max():.6g})"

    def _repr_html_(self) -> str:
        if not len(self):
            return described("Acquisition", "0 rows.")
        mean, largest = (amount(each, self.cost_model.unit) for each in (self.spend.mean(), self.spend.max()))
        sentence = f"{len(self):,} rows; {mean} a row on average, {largest} at most."
        if len(self) * self.cost_model.n_features > MAX_CELLS:
            return described("Acquisition", sentence)
        bought = self.acquired.mean(axis=0)
        names = self.cost_model.names or [f"x{j}" for j in range(self.cost_model.n_features)]
        order = [j for j in np.argsort(-bought, kind="stable").tolist() if bought[j] > 0]
        return described(
            "Acquisition",
            sentence,
            table(["feature", "rows that buy it"], [[names[j], f"{bought[j]:.1%}"] for j in order]),
        )
