"""Payments during training: the units that are paid already, and the price of a further split.

Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML 2012, eq. (5).

A split on feature j has the penalty rate * price_j, in loss per row. The price counts the units u that j requires, with
unit costs c_u, as far as they are not paid yet:

    ensemble    price_j = sum of c_u over the units that no split has paid
    row         price_j = sum of c_u * (weight of the rows at the node that have not paid u) / W

where W is the weight of all training rows. In the paper the first split on a feature pays for all rows (``ensemble``).
Alternatively each row pays for the features on its own paths (``row``). If a tree is grown on a part of the training
rows, the other training rows are sent down the tree too, and prices count all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.kernels.payments import add_weight_paid, pay
from thrifty.kernels.threads import over_rows


class Accounts(Protocol):
    """What each row has paid. "Rows at a node" are what the bag of a tree gives for a node.

    Attributes
    ----------
    weight : float
        The weight of all training rows.
    """

    @property
    def weight(self) -> float:
        """The weight of all training rows."""

    def start_round(self) -> None:
        """Remember the present state for `undo_round`."""

    def undo_round(self) -> None:
        """Give back all that was paid since the round started."""

    def charge(self, units: list[int], rows: Any) -> None:
        """Charge some units to the rows at a node that have not paid them."""

    def paid_at(self, units: np.ndarray, rows: Any, paid_by_all: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weight of the rows at a node, and for each unit the weight of those that have paid it.

        Only `units` are paid by any row; the path of the node has paid `paid_by_all`.
        """

    def settle(self, tree: Any, units_of: Sequence[np.ndarray]) -> None:
        """Charge what `charge` has left open, when a tree is complete; `units_of` are the units of each feature."""

    def mean_spend(self) -> float:
        """Return the weighted mean spend of all training rows."""

    def spend_sums(self) -> tuple[float, float, float, int]:
        """Return the weighted spend and the weight of the training rows, the spend and the number of held-out rows."""


class RowAccounts:
    """What each row of this process has paid.

    Parameters
    ----------
    weight : ndarray of shape (n,)
        Weight of each row in the mean spend; 0 for held-out rows.
    unit_costs : ndarray of shape (n_units,)
    n_train : int, default=None
        The number of training rows, which come first. By default all.

    Attributes
    ----------
    row_weight : ndarray of shape (n,)
    spend : ndarray of shape (n,)
        What each row has paid for the features on its paths.
    """

    def __init__(self, weight: np.ndarray, unit_costs: np.ndarray, n_train: int | None = None):
        self.row_weight, self.spend, self._unit_costs = weight, np.zeros(len(weight)), unit_costs
        self._n_train = len(weight) if n_train is None else n_train
        self._paid = np.zeros((len(unit_costs), len(weight)), dtype=bool)
        self._charged = np.empty(len(weight), dtype=np.uint32)
        self.start_round()

    def start_round(self) -> None:
        """Remember the present state for `undo_round`."""
        self._before = self.spend.copy()
        self._paid_in_round: list[tuple[int, np.ndarray]] = []  # units, and the rows that paid them

    def undo_round(self) -> None:
        """Give back all that was paid since the round started."""
        self.spend = self._before
        for unit, rows in self._paid_in_round:
            self._paid[unit, rows] = False

    def charge(self, units: list[int], rows: Sequence[np.ndarray]) -> None:
        """Charge some units to rows that have not paid them; `rows` are several arrays of rows."""
        for unit in units:
            for part in rows:
                n_charged = pay(self._paid[unit], part, self._unit_costs[unit], self.spend, self._charged)
                self._paid_in_round.append((unit, self._charged[:n_charged].copy()))

    def paid_at(
        self, units: np.ndarray, rows: Sequence[np.ndarray], paid_by_all: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the weight of some rows, and for each unit the weight of those that have paid it."""
        paid = np.zeros(len(self._unit_costs))
        for part in rows:
            self._add_paid(units, part, paid)
        return sum(float(self.row_weight[part].sum()) for part in rows), paid

    def _add_paid(self, units: np.ndarray, rows: np.ndarray, paid: np.ndarray) -> None:
        over_rows(
            lambda first, last: add_weight_paid(self._paid, units[first:last], rows, self.row_weight, paid),
            len(units),
            smallest=max(1, 200_000 // max(len(rows), 1)),
        )

    def settle(self, tree: Any, units_of: Sequence[np.ndarray]) -> None:
        """Do nothing, because `charge` has charged the rows already."""

    @property
    def weight(self) -> float:
        """The weight of all training rows."""
        return float(self.row_weight.sum())

    def mean_spend(self) -> float:
        """Return the weighted mean spend of all training rows."""
        return float(self.row_weight @ self.spend) / self.weight

    def spend_sums(self) -> tuple[float, float, float, int]:
        """Return the weighted spend and the weight of the training rows, the spend and the number of held-out rows."""
        weight, spend, others = (
            self.row_weight[: self._n_train],
            self.spend[: self._n_train],
            self.spend[self._n_train :],
        )
        return np.multiply(spend, weight).sum(), weight.sum(), others.sum(), len(others)


class Payments(ABC):
    """What the ensemble has paid while it grows, and the accounts of the rows.

    A node of a growing tree has a payment state, which `start_tree` and `split_state` return.

    Parameters
    ----------
    cost_model : CostModel
    accounts : Accounts
        What each row has paid.
    rate : float
        Loss per row that a split must save for each unit of cost that every row pays.

    Attributes
    ----------
    budget : float
        Upper bound on the cost of all features of the ensemble, or on the mean spend of the rows.
    features : set of int
        The features that the ensemble splits on.
    ledger : Ledger
        The account of the ensemble.
    """

    def __init__(self, cost_model: CostModel, accounts: Accounts, rate: float):
        self.accounts, self.rate, self.budget = accounts, rate, np.inf
        self._cost_model, self.ledger = cost_model, Ledger(cost_model)
        self.features: set[int] = set()
        self._unit_costs, self._requirement = cost_model.unit_costs, cost_model.sparse_requirement.astype(float)
        units = np.split(self._requirement.indices, self._requirement.indptr[1:-1])
        self._units_of = [those[self._unit_costs[those] > 0] for those in units]
        self.start_round(np.inf)

    def start_round(self, budget: float) -> None:
        """Set the budget, and remember the present state for `undo_round`."""
        self.budget = budget
        self._before = self.features.copy(), self.ledger.copy()
        self.accounts.start_round()

    def undo_round(self) -> None:
        """Give back all that was bought since the round started."""
        self.features, self.ledger = self._before
        self.accounts.undo_round()

    def give_back_unread(self, read: set[int]) -> None:
        """Give back the features that were bought but are not among those that trees read."""
        if self.features != read:
            self.features, self.ledger = read, Ledger(self._cost_model, sorted(read))

    @abstractmethod
    def start_tree(self, rows: Any) -> Any:
        """Return the payment state of the root of a tree, given the rows at the root."""

    @abstractmethod
    def penalties(self, state: Any) -> np.ndarray:
        """Return the penalty of splitting a node on each feature, in loss per row; infinity beyond the budget."""

    @abstractmethod
    def unpaid_share(self, state: Any) -> np.ndarray:
        """Return the share of each feature's price at a node that is not paid yet."""

    @abstractmethod
    def split_state(self, state: Any, smaller: Any) -> tuple[Any, Any]:
        """Return the payment states of the children of a node; the first is that of the child with these rows."""

    def buy(self, feature: int, rows: Any, state: Any) -> bool:
        """Charge the rows of a node for a split; return whether the prices at other nodes change."""
        self.features.add(feature)
        self.accounts.charge(self._units_of[feature].tolist(), rows)
        return self.ledger.buy(feature) > 0

    def settle(self, tree: Any) -> None:
        """Charge what is still open when a tree is complete."""
        self.accounts.settle(tree, self._units_of)


class EnsemblePayments(Payments):
    """The first split on a feature pays for it; then it is free in all trees and for all rows.

    Nodes have no state of their own.
    """

    def start_tree(self, rows: Any) -> None:
        """Return None, because nodes have no state."""

    def penalties(self, state: None) -> np.ndarray:
        """Return the rate times the unpaid cost of each feature; infinity beyond the budget."""
        return np.where(self.ledger.affordable(self.budget), self.rate * self.ledger.prices, np.inf)

    def unpaid_share(self, state: None) -> np.ndarray:
        """Return 1 for features with unpaid units, otherwise 0."""
        return (self.ledger.prices > 0).astype(float)

    def split_state(self, state: None, smaller: Any) -> tuple[None, None]:
        """Return None for both children, because nodes have no state."""
        return None, None


class RowPayments(Payments):
    """Each row pays for the features on its own paths.

    The state of a node is its weight, and for each unit the weight of its rows that have paid the unit.
    """

    def start_tree(self, rows: Any) -> "_NodePayments":
        """Return the weight of the rows that have paid each unit."""
        self._all_weight = self.accounts.weight
        self._mean_spend = self.accounts.mean_spend()
        return self._count(rows, np.zeros(len(self._unit_costs), dtype=bool))

    def penalties(self, state: "_NodePayments") -> np.ndarray:
        """Return the rate times the rise of the mean spend; infinity if the mean spend would exceed the budget."""
        price = self._prices(state)
        return np.where(self._mean_spend + price <= self.budget, self.rate * price, np.inf)

    def unpaid_share(self, state: "_NodePayments") -> np.ndarray:
        """Return the share of each feature's price that the rows of the node have not paid yet."""
        full = self._requirement @ self._unit_costs * (state.weight / self._all_weight)
        return np.divide(self._prices(state), full, out=np.zeros_like(full), where=full > 0)

    def _prices(self, state: "_NodePayments") -> np.ndarray:
        """Return by how much a split on each feature would raise the mean spend of the training rows."""
        unpaid = (state.weight - state.paid).clip(min=0.0) / self._all_weight
        return self._requirement @ (self._unit_costs * unpaid)

    def split_state(self, state: "_NodePayments", smaller: Any) -> tuple["_NodePayments", "_NodePayments"]:
        """Count the payments of the smaller child; the other child has the remainder."""
        small = self._count(smaller, state.paid_by_all)
        return small, _NodePayments(state.weight - small.weight, state.paid - small.paid, state.paid_by_all)

    def buy(self, feature: int, rows: Any, state: "_NodePayments") -> bool:
        """Charge the rows of a node; the prices at other nodes change only if there is a budget."""
        self._mean_spend += float(self._prices(state)[feature])
        super().buy(feature, rows, state)
        state.paid[self._units_of[feature]] = state.weight
        state.paid_by_all = state.paid_by_all.copy()
        state.paid_by_all[self._units_of[feature]] = True
        return np.isfinite(self.budget)

    def _count(self, rows: Any, paid_by_all: np.ndarray) -> "_NodePayments":
        """Return the weight of some rows, and the weight of those that have paid each unit."""
        bought = np.unique(np.concatenate([[], *(self._units_of[j] for j in self.features)])).astype(np.int64)
        return _NodePayments(*self.accounts.paid_at(bought, rows, paid_by_all), paid_by_all)


class NoPayments:
    """Payments if all features are free, for example to find how much loss a tree could save."""

    def __init__(self, n_features: int):
        self._zeros = np.zeros(n_features)

    def start_tree(self, rows: Any) -> None:
        """Return None, because nodes have no state."""

    def penalties(self, state: None) -> np.ndarray:
        """Return zeros."""
        return self._zeros

    unpaid_share = penalties

    def split_state(self, state: None, smaller: Any) -> tuple[None, None]:
        """Return None for both children, because nodes have no state."""
        return None, None

    def buy(self, feature: int, rows: Any, state: None) -> bool:
        """Charge nothing."""
        return False

    def settle(self, tree: Any) -> None:
        """Charge nothing."""


class _NodePayments:
    """The weight of the rows of a node, the weight of those that have paid each unit, and the units of its path."""

    __slots__ = ("paid", "paid_by_all", "weight")

    def __init__(self, weight: float, paid: np.ndarray, paid_by_all: np.ndarray):
        self.weight, self.paid, self.paid_by_all = weight, paid, paid_by_all


PAYMENTS: dict[str, type[EnsemblePayments] | type[RowPayments]] = {"ensemble": EnsemblePayments, "row": RowPayments}
