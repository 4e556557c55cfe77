"""The running account of one row, or of one path of a tree: what is paid, and what is left to pay."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from thrifty.costs.model import CostModel
from thrifty.exceptions import CostError


class Ledger:
    """What one row has paid so far, and what each feature would cost it now.

    A purchase touches only the units that it pays for, so that a greedy search can afford thousands of them.

    Parameters
    ----------
    cost_model : CostModel
        The prices.
    acquired : iterable of int
        Columns that are bought at once; `spent` includes them.

    Examples
    --------
    >>> from thrifty.costs import CostModel, Ledger
    >>> ledger = Ledger(CostModel([1.0, 5.17, 3.1], bundles={"blood draw": ([1, 2], 2.1)}))
    >>> ledger.buy(1)
    7.27
    >>> ledger.prices
    array([1. , 0. , 3.1])
    >>> ledger.spent
    7.27
    """

    __slots__ = ("_paid", "_prices", "_spent", "_units")

    def __init__(self, cost_model: CostModel, acquired: Iterable[int] = ()):
        self._units = cost_model._units
        self._paid = bytearray(len(self._units.ticks))
        self._prices = self._units.alone.copy()
        self._spent = 0.0
        for feature in acquired:
            self.buy(feature)

    @property
    def prices(self) -> np.ndarray:
        """What each feature would cost now, shape (n_features,)."""
        return self._prices / self._units.scale

    @property
    def spent(self) -> float:
        """What was paid so far."""
        return self._spent / self._units.scale

    def buy(self, feature: int) -> float:
        """Pay for what is still unpaid of a feature (a column index), and return how much that was."""
        payers, charge = self._units.payers, 0.0
        for unit, ticks in self._bill(feature):
            if not self._paid[unit]:
                self._paid[unit] = True
                self._prices[payers[unit]] -= ticks
                charge += ticks
        self._spent += charge
        return charge / self._units.scale

    def price_of(self, features: Iterable[int]) -> float:
        """Return what several features would cost together; nothing is bought."""
        unpaid = {unit: ticks for feature in features for unit, ticks in self._bill(feature) if not self._paid[unit]}
        return sum(unpaid.values()) / self._units.scale

    def affordable(self, cap: float, since: float = 0.0) -> np.ndarray:
        """Return which features, bought alone, keep the spend within a cap, shape (n_features,).

        Parameters
        ----------
        cap : float
            The most that may be spent.
        since : float
            An earlier value of `spent`: only what is spent after it counts. This is exact, where
            ``affordable(since + cap)`` is as exact as the sum.

        Examples
        --------
        >>> from thrifty.costs import CostModel, Ledger
        >>> ledger = Ledger(CostModel([0.7, 0.1, 0.2]), acquired=[0])
        >>> ledger.affordable(0.8)
        array([ True,  True, False])
        >>> ledger.affordable(0.1, since=ledger.spent)
        array([ True,  True, False])
        """
        before = np.rint(since * self._units.scale)
        return (self._spent - before + self._prices) / self._units.scale <= cap

    def copy(self) -> Ledger:
        """Return an account of the same state that goes its own way from here."""
        twin = Ledger.__new__(Ledger)
        twin._units, twin._spent = self._units, self._spent
        twin._paid, twin._prices = self._paid.copy(), self._prices.copy()
        return twin

    def __repr__(self) -> str:
        return f"Ledger({sum(self._paid)} of {len(self._paid)} units paid, {self.spent:.12g} spent)"

    def _bill(self, feature: int) -> list[tuple[int, float]]:
        bills = self._units.bills
        if not 0 <= feature < len(bills):  # lists would take -1, which often stands for "none", for the last feature
            raise CostError(f"feature {feature} does not exist. Pass a column index from 0 to {len(bills) - 1}.")
        return bills[feature]
