"""The compiled cost model: which feature requires which unit, and what units cost, in whole ticks.

A unit is paid for once per row. What one feature alone requires is a term of a dot product; what several
share is paid as soon as any of them is acquired.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from thrifty.costs.declaration import Declaration
from thrifty.costs.money import to_ticks
from thrifty.exceptions import CostError

_WORTH_A_KERNEL = 20_000  # cells; below, loading Numba takes longer than it saves
_CELLS_AT_ONCE = 2**20


class Units:
    """The units behind a declaration: own prices in column order, then the bundles.

    Attributes
    ----------
    names : tuple of str
    requirement : (n_features, n_units) bool
    costs : (n_units,) float
    ticks : (n_units,) float
        The costs as whole numbers, see `thrifty.costs.money`.
    scale : float
        How many ticks make a cost of 1.
    """

    def __init__(self, declared: Declaration):
        own = {j: price for j, price in enumerate(declared.prices) if price is not None}
        self.names = (*(declared.labels[j] for j in own), *(bundle.name for bundle in declared.bundles))
        self.requirement = _requirement(declared, list(own))
        prices = [*own.values(), *(bundle.price for bundle in declared.bundles)]
        self.ticks, self.scale = to_ticks(np.array(prices))
        self.costs = self.ticks / self.scale
        for array in (self.requirement, self.ticks, self.costs):
            array.setflags(write=False)

        shared = self.requirement.sum(axis=0) > 1
        owners = self.requirement[:, ~shared].argmax(axis=0)  # the one feature that requires a private unit
        self._private = np.bincount(owners, self.ticks[~shared], minlength=len(self.requirement))
        self._shared = self.ticks[shared]
        self._sharers = self.requirement[:, shared].astype(np.float32)

    def spent(self, acquired: np.ndarray) -> np.ndarray:
        """Return the ticks (n,) that rows (n, n_features) have paid."""
        if acquired.size < _WORTH_A_KERNEL:
            return acquired @ self._private + self._paid(acquired) @ self._shared
        from thrifty.kernels.costs import ticks_paid

        return ticks_paid(np.ascontiguousarray(acquired), *self._packed)

    def unpaid(self, acquired: np.ndarray) -> np.ndarray:
        """Return the ticks (n, n_features) that each feature would add to what rows have paid."""
        ticks = np.empty(acquired.shape)
        step = max(1, _CELLS_AT_ONCE // acquired.shape[1])
        for start in range(0, len(acquired), step):
            rows = acquired[start : start + step]
            left = ~self._paid(rows) * self._shared
            ticks[start : start + step] = ~rows * self._private + left @ self._sharers.T
        return ticks

    def _paid(self, acquired: np.ndarray) -> np.ndarray:
        return acquired.astype(np.float32) @ self._sharers > 0

    @cached_property
    def _packed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from thrifty.kernels.costs import pack_bits

        return self._private.astype(np.int64), pack_bits(self._sharers), self._shared.astype(np.int64)

    @cached_property
    def alone(self) -> np.ndarray:
        """The ticks of each feature when nothing is paid."""
        return self._private + self._sharers @ self._shared

    @cached_property
    def bills(self) -> list[list[tuple[int, float]]]:
        """For each feature the units it requires, with their ticks."""
        ticks = self.ticks.tolist()
        return [[(unit, ticks[unit]) for unit in np.flatnonzero(row).tolist()] for row in self.requirement]

    @cached_property
    def payers(self) -> list[np.ndarray]:
        """For each unit the features that require it."""
        return [np.flatnonzero(column) for column in self.requirement.T]


def _requirement(declared: Declaration, priced: list[int]) -> np.ndarray:
    direct = np.zeros((len(declared.prices), len(priced) + len(declared.bundles)), dtype=bool)
    direct[priced, np.arange(len(priced))] = True
    for unit, bundle in enumerate(declared.bundles, start=len(priced)):
        direct[list(bundle.members), unit] = True
    requirement = direct.copy()
    for feature, required in enumerate(declared.requires):
        if required:
            _, passed = declared.behind(feature)
            requirement[feature] |= direct[list(passed)].any(axis=0)
    _refuse_priceless(declared, requirement)
    return requirement


def _refuse_priceless(declared: Declaration, requirement: np.ndarray) -> None:
    for feature in np.flatnonzero(~requirement.any(axis=1)):
        label = declared.labels[feature] if declared.names else int(feature)
        raise CostError(
            f"feature {label!r} has no price, is in no bundle and requires nothing that has a price. "
            "Give it a price, 0 if it is free."
        )
