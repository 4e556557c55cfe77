"""Running account of one row: the units that it has paid, and what each feature would cost now."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from thrifty.costs.model import CostModel
from thrifty.exceptions import CostError


class Ledger:
    """Running account of one row, or of one path of a tree.

    It records which units are paid and what was spent. A purchase updates only the units that it pays for, so that
    thousands of purchases are fast. Features are given by column index. Sums are exact, as in `CostModel`.

    Parameters
    ----------
    cost_model : CostModel
        Prices of the features.
    acquired : iterable of int, default=()
        Columns to buy at the start. Their cost is part of `spent`.

    Attributes
    ----------
    prices : ndarray of shape (n_features,)
        What each feature would cost now.
    spent : float
        What was paid so far.

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
        self._prices = self._units.standalone_ticks.copy()
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
        """Pay for the unpaid units of a feature.

        Parameters
        ----------
        feature : int
            Column index.

        Returns
        -------
        float
            What was paid; 0 if all units of the feature were already paid.
        """
        features_of, charge = self._units.features_of, 0.0
        for unit, ticks in self._units_of(feature):
            if not self._paid[unit]:
                self._paid[unit] = True
                self._prices[features_of[unit]] -= ticks
                charge += ticks
        self._spent += charge
        return charge / self._units.scale

    def bill(self, feature: int) -> list[tuple[str, float]]:
        """Return the unpaid units of a feature, without buying it.

        Parameters
        ----------
        feature : int
            Column index.

        Returns
        -------
        list of (str, float)
            Name and price of each unpaid unit, in the order of ``cost_model.unit_names``.

        Examples
        --------
        >>> from thrifty.costs import CostModel, Ledger
        >>> model = CostModel({"chol": 5.17, "fbs": 3.1}, bundles={"blood draw": (["chol", "fbs"], 2.1)})
        >>> ledger = Ledger(model)
        >>> ledger.bill(1)
        [('fbs', 3.1), ('blood draw', 2.1)]
        >>> ledger.buy(0)
        7.27
        >>> ledger.bill(1)
        [('fbs', 3.1)]
        """
        names, scale = self._units.names, self._units.scale
        return [(names[unit], ticks / scale) for unit, ticks in self._units_of(feature) if not self._paid[unit]]

    def price_of(self, features: Iterable[int]) -> float:
        """Return what several features would cost together, without buying them.

        Parameters
        ----------
        features : iterable of int
            Column indices.

        Returns
        -------
        float
            Sum of the unpaid units of the features, each unit counted once.
        """
        unpaid = {
            unit: ticks for feature in features for unit, ticks in self._units_of(feature) if not self._paid[unit]
        }
        return sum(unpaid.values()) / self._units.scale

    def affordable(self, cap: float, since: float = 0.0) -> np.ndarray:
        """Return which features, each bought alone, keep the spend within a cap.

        Parameters
        ----------
        cap : float
            The most that may be spent.
        since : float, default=0.0
            An earlier value of `spent`; only what is spent after it counts towards the cap. The comparison is exact,
            but ``affordable(since + cap)`` is subject to the rounding error of this sum.

        Returns
        -------
        ndarray of bool, shape (n_features,)

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
        """Return an independent copy.

        Returns
        -------
        Ledger
            A ledger with the same state. Purchases of one ledger do not change the other.
        """
        duplicate = Ledger.__new__(Ledger)
        duplicate._units, duplicate._spent = self._units, self._spent
        duplicate._paid, duplicate._prices = self._paid.copy(), self._prices.copy()
        return duplicate

    def __repr__(self) -> str:
        return f"Ledger({sum(self._paid)} of {len(self._paid)} units paid, {self.spent:.12g} spent)"

    def _units_of(self, feature: int) -> list[tuple[int, float]]:
        units_of = self._units.units_of
        if not 0 <= feature < len(units_of):  # a list would accept -1, which often means "missing"
            raise CostError(f"feature {feature} does not exist. Pass a column index from 0 to {len(units_of) - 1}.")
        return units_of[feature]
