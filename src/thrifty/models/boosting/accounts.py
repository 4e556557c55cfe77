"""Who has paid for what while an ensemble grows, and what a split would have to pay.

Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML 2012, eq. (5).

A split pays for the units that its feature requires and that are not paid for yet, once. Whether a unit is paid for is
a matter of the whole ensemble in the paper: one split anywhere buys it for all rows. It can also be a matter of the
row, which buys what its own paths look at; a split is then charged for those rows of its node that have not paid.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.kernels.histograms import pay, weight_paid
from thrifty.kernels.threads import over_rows


class Accounts(ABC):
    """The running accounts of all rows, and of the ensemble.

    Parameters
    ----------
    cost_model : CostModel
    weight : ndarray of shape (n,)
        What each row counts.
    rate : float
        Loss, per row, that a split has to save for each unit of cost it spends on every row.
    budget : float
        What may be spent: on everything the ensemble buys, or by the rows on average.

    Attributes
    ----------
    spend : ndarray of shape (n,)
        What each row has paid for the features that its paths looked at.
    """

    def __init__(self, cost_model: CostModel, weight: np.ndarray, rate: float, budget: float = np.inf):
        self.weight, self.rate, self.budget = weight, rate, budget
        self.ledger = Ledger(cost_model)
        self.features: set[int] = set()  # bought by the ensemble
        self.spend = np.zeros(len(weight))
        self._prices, self._requirement = cost_model.unit_costs, cost_model.requirement.astype(float)
        self._paid = np.zeros((len(self._prices), len(weight)), dtype=bool)
        self._bills = [np.flatnonzero(line & (self._prices > 0)) for line in cost_model.requirement]

    @abstractmethod
    def open(self, rows: np.ndarray, weight: float) -> Any:
        """Return the state of a tree's root: of these rows, of so much weight in all."""

    @abstractmethod
    def penalties(self, state: Any) -> np.ndarray:
        """Return what the split of a node would have to pay, feature by feature, in loss per row."""

    @abstractmethod
    def unpaid(self, state: Any) -> np.ndarray:
        """Return the share of each feature's price that is unpaid at a node."""

    @abstractmethod
    def divide(self, state: Any, smaller: np.ndarray) -> tuple[Any, Any]:
        """Return the states of a node's children, the smaller one (of these rows) first."""

    def buy(self, feature: int, rows: Sequence[np.ndarray], state: Any) -> bool:
        """Charge rows for a split of their node; return whether other nodes find their prices changed."""
        self.features.add(feature)
        for unit in self._bills[feature]:
            for part in rows:
                pay(self._paid[unit], part, self._prices[unit], self.spend)
        return self.ledger.buy(feature) > 0


class EnsembleAccounts(Accounts):
    """Once any split uses a feature it is free in all trees and for all rows."""

    def open(self, rows: np.ndarray, weight: float) -> None:
        """Nodes have no state of their own."""

    def penalties(self, state: None) -> np.ndarray:
        """Return the rate times what is unpaid of each feature, infinity beyond the budget."""
        return np.where(self.ledger.affordable(self.budget), self.rate * self.ledger.prices, np.inf)

    def unpaid(self, state: None) -> np.ndarray:
        """Return 1 for what is not bought yet, else 0."""
        return (self.ledger.prices > 0).astype(float)

    def divide(self, state: None, smaller: np.ndarray) -> tuple[None, None]:
        """Nodes have no state of their own."""
        return None, None


class RowAccounts(Accounts):
    """A row pays for what its own paths look at; a node's state is the weight that has paid, unit by unit."""

    def open(self, rows: np.ndarray, weight: float) -> "_Standing":
        """Count what the root's rows have paid."""
        self._whole = weight
        self._mean = float(self.weight[rows] @ self.spend[rows]) / weight
        return self._standing(rows)

    def penalties(self, state: "_Standing") -> np.ndarray:
        """Return the rate times what is unpaid of each feature, by the share of rows that would pay it."""
        charge = self._charge(state)
        return np.where(self._mean + charge <= self.budget, self.rate * charge, np.inf)

    def unpaid(self, state: "_Standing") -> np.ndarray:
        """Return the share that the node's rows have yet to pay."""
        full = self._requirement @ self._prices * (state.weight / self._whole)
        return np.divide(self._charge(state), full, out=np.zeros_like(full), where=full > 0)

    def _charge(self, state: "_Standing") -> np.ndarray:
        """Return by how much a split on each feature would raise the mean spend."""
        unpaid = (state.weight - state.paid).clip(min=0.0) / self._whole
        return self._requirement @ (self._prices * unpaid)

    def divide(self, state: "_Standing", smaller: np.ndarray) -> tuple["_Standing", "_Standing"]:
        """Count the smaller child; the other has the rest."""
        small = self._standing(smaller)
        return small, _Standing(state.weight - small.weight, state.paid - small.paid)

    def buy(self, feature: int, rows: Sequence[np.ndarray], state: "_Standing") -> bool:
        """Charge the rows of one node, which is nobody else's business unless the budget runs out."""
        self._mean += float(self._charge(state)[feature])
        super().buy(feature, rows, state)
        state.paid[self._bills[feature]] = state.weight
        return np.isfinite(self.budget)

    def _standing(self, rows: np.ndarray) -> "_Standing":
        bought = np.unique(np.concatenate([[], *(self._bills[j] for j in self.features)])).astype(np.int64)
        paid = np.zeros(len(self._prices))
        over_rows(
            lambda first, last: weight_paid(self._paid, bought[first:last], rows, self.weight, paid),
            len(bought),
            smallest=max(1, 200_000 // max(len(rows), 1)),
        )
        return _Standing(float(self.weight[rows].sum()), paid)


class Gratis:
    """Accounts in which nothing costs anything: what a tree could save if all it may look at were bought."""

    def __init__(self, weight: np.ndarray, n_features: int):
        self.weight, self._nothing = weight, np.zeros(n_features)

    def open(self, rows: np.ndarray, weight: float) -> None:
        """Nodes have no state of their own."""

    def penalties(self, state: None) -> np.ndarray:
        """Return zeros."""
        return self._nothing

    unpaid = penalties

    def divide(self, state: None, smaller: np.ndarray) -> tuple[None, None]:
        """Nodes have no state of their own."""
        return None, None

    def buy(self, feature: int, rows: Sequence[np.ndarray], state: None) -> bool:
        """Charge nobody."""
        return False


class _Standing:
    """What the rows of a node weigh, and what weight of them has paid for each unit."""

    __slots__ = ("paid", "weight")

    def __init__(self, weight: float, paid: np.ndarray):
        self.weight, self.paid = weight, paid


CHARGES: dict[str, type[EnsembleAccounts] | type[RowAccounts]] = {"ensemble": EnsembleAccounts, "row": RowAccounts}
