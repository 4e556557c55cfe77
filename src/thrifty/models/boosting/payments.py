"""Payments during training: the units that are paid already, and the price of a further split.

Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML 2012, eq. (5).

A split on feature j has the penalty rate * price_j, in loss per row. The price counts the units u that j requires, with
unit costs c_u, as far as they are not paid yet:

    ensemble    price_j = sum of c_u over the units that no split has paid
    row         price_j = sum of c_u * (weight of the rows at the node that have not paid u) / W

where W is the weight of all rows that the tree is grown on. In the paper the first split on a feature pays for all
rows (``ensemble``). Alternatively each row pays for the features on its own paths (``row``).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.kernels.histograms import pay, weight_paid
from thrifty.kernels.threads import over_rows


class Payments(ABC):
    """What the ensemble and each row have paid while an ensemble grows.

    A node of a growing tree has a payment state, which `start_tree` and `split_state` return.

    Parameters
    ----------
    cost_model : CostModel
    weight : ndarray of shape (n,)
        Weight of each row.
    rate : float
        Loss per row that a split must save for each unit of cost that every row pays.
    budget : float, default=inf
        Upper bound on the cost of all features of the ensemble, or on the mean spend of the rows.

    Attributes
    ----------
    spend : ndarray of shape (n,)
        What each row has paid for the features on its paths.
    features : set of int
        The features that the ensemble splits on.
    ledger : Ledger
        The account of the ensemble.
    """

    def __init__(self, cost_model: CostModel, weight: np.ndarray, rate: float, budget: float = np.inf):
        self.weight, self.rate, self.budget = weight, rate, budget
        self.ledger = Ledger(cost_model)
        self.features: set[int] = set()
        self.spend = np.zeros(len(weight))
        self._unit_costs, self._requirement = cost_model.unit_costs, cost_model.requirement.astype(float)
        self._paid = np.zeros((len(self._unit_costs), len(weight)), dtype=bool)
        self._units_of = [np.flatnonzero(line & (self._unit_costs > 0)) for line in cost_model.requirement]

    @abstractmethod
    def start_tree(self, rows: np.ndarray, weight: float) -> Any:
        """Return the payment state of the root of a tree that is grown on these rows, which have this weight."""

    @abstractmethod
    def penalties(self, state: Any) -> np.ndarray:
        """Return the penalty of splitting a node on each feature, in loss per row; infinity beyond the budget."""

    @abstractmethod
    def unpaid_share(self, state: Any) -> np.ndarray:
        """Return the share of each feature's price at a node that is not paid yet."""

    @abstractmethod
    def split_state(self, state: Any, smaller: np.ndarray) -> tuple[Any, Any]:
        """Return the payment states of the children of a node; the first is that of the child with these rows."""

    def buy(self, feature: int, rows: Sequence[np.ndarray], state: Any) -> bool:
        """Charge the rows of a node for a split; return whether the prices at other nodes change."""
        self.features.add(feature)
        for unit in self._units_of[feature]:
            for part in rows:
                pay(self._paid[unit], part, self._unit_costs[unit], self.spend)
        return self.ledger.buy(feature) > 0


class EnsemblePayments(Payments):
    """The first split on a feature pays for it; then it is free in all trees and for all rows.

    Nodes have no state of their own.
    """

    def start_tree(self, rows: np.ndarray, weight: float) -> None:
        """Return None, because nodes have no state."""

    def penalties(self, state: None) -> np.ndarray:
        """Return the rate times the unpaid cost of each feature; infinity beyond the budget."""
        return np.where(self.ledger.affordable(self.budget), self.rate * self.ledger.prices, np.inf)

    def unpaid_share(self, state: None) -> np.ndarray:
        """Return 1 for features with unpaid units, otherwise 0."""
        return (self.ledger.prices > 0).astype(float)

    def split_state(self, state: None, smaller: np.ndarray) -> tuple[None, None]:
        """Return None for both children, because nodes have no state."""
        return None, None


class RowPayments(Payments):
    """Each row pays for the features on its own paths.

    The state of a node is its weight, and for each unit the weight of its rows that have paid the unit.
    """

    def start_tree(self, rows: np.ndarray, weight: float) -> "_NodePayments":
        """Return the weight of the rows that have paid each unit."""
        self._tree_weight = weight
        self._mean_spend = float(self.weight[rows] @ self.spend[rows]) / weight
        return self._count(rows)

    def penalties(self, state: "_NodePayments") -> np.ndarray:
        """Return the rate times the rise of the mean spend; infinity if the mean spend would exceed the budget."""
        price = self._prices(state)
        return np.where(self._mean_spend + price <= self.budget, self.rate * price, np.inf)

    def unpaid_share(self, state: "_NodePayments") -> np.ndarray:
        """Return the share of each feature's price that the rows of the node have not paid yet."""
        full = self._requirement @ self._unit_costs * (state.weight / self._tree_weight)
        return np.divide(self._prices(state), full, out=np.zeros_like(full), where=full > 0)

    def _prices(self, state: "_NodePayments") -> np.ndarray:
        """Return by how much a split on each feature would raise the mean spend of the rows of the tree."""
        unpaid = (state.weight - state.paid).clip(min=0.0) / self._tree_weight
        return self._requirement @ (self._unit_costs * unpaid)

    def split_state(self, state: "_NodePayments", smaller: np.ndarray) -> tuple["_NodePayments", "_NodePayments"]:
        """Count the payments of the smaller child; the other child has the remainder."""
        small = self._count(smaller)
        return small, _NodePayments(state.weight - small.weight, state.paid - small.paid)

    def buy(self, feature: int, rows: Sequence[np.ndarray], state: "_NodePayments") -> bool:
        """Charge the rows of a node; the prices at other nodes change only if there is a budget."""
        self._mean_spend += float(self._prices(state)[feature])
        super().buy(feature, rows, state)
        state.paid[self._units_of[feature]] = state.weight
        return np.isfinite(self.budget)

    def _count(self, rows: np.ndarray) -> "_NodePayments":
        bought = np.unique(np.concatenate([[], *(self._units_of[j] for j in self.features)])).astype(np.int64)
        paid = np.zeros(len(self._unit_costs))
        over_rows(
            lambda first, last: weight_paid(self._paid, bought[first:last], rows, self.weight, paid),
            len(bought),
            smallest=max(1, 200_000 // max(len(rows), 1)),
        )
        return _NodePayments(float(self.weight[rows].sum()), paid)


class NoPayments:
    """Payments if all features are free. `Lookahead` uses it to find how much loss a tree could save."""

    def __init__(self, weight: np.ndarray, n_features: int):
        self.weight, self._zeros = weight, np.zeros(n_features)

    def start_tree(self, rows: np.ndarray, weight: float) -> None:
        """Return None, because nodes have no state."""

    def penalties(self, state: None) -> np.ndarray:
        """Return zeros."""
        return self._zeros

    unpaid_share = penalties

    def split_state(self, state: None, smaller: np.ndarray) -> tuple[None, None]:
        """Return None for both children, because nodes have no state."""
        return None, None

    def buy(self, feature: int, rows: Sequence[np.ndarray], state: None) -> bool:
        """Charge nothing."""
        return False


class _NodePayments:
    """The weight of the rows of a node, and the weight of those that have paid each unit."""

    __slots__ = ("paid", "weight")

    def __init__(self, weight: float, paid: np.ndarray):
        self.weight, self.paid = weight, paid


PAYMENTS: dict[str, type[EnsemblePayments] | type[RowPayments]] = {"ensemble": EnsemblePayments, "row": RowPayments}
