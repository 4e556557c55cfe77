"""Units of a cost model as arrays, for fast computation of costs.

A row pays for a unit once. A unit that only one feature requires is private: private costs add up as a dot product. A
unit that several features require is shared: it is paid as soon as the row acquires one of these features. Costs are
counted in ticks, see `thrifty.costs.money`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from thrifty.costs.declaration import Declaration
from thrifty.costs.money import to_ticks
from thrifty.exceptions import CostError

_KERNEL_MIN_CELLS = 20_000  # for smaller masks, importing Numba takes longer than it saves
_BLOCK_CELLS = 2**20  # bounds the memory of intermediate arrays


class Units:
    """Units of a declaration: the features' own prices in column order, then the bundles.

    Parameters
    ----------
    declared : Declaration

    Attributes
    ----------
    names : tuple of str
        Names of the units.
    requirement : ndarray of bool, shape (n_features, n_units)
        Units that each feature requires.
    costs : ndarray of shape (n_units,)
        Cost of each unit.
    ticks : ndarray of shape (n_units,)
        Cost of each unit in ticks: floats with whole values.
    scale : float
        Number of ticks in a cost of 1.
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
        owners = self.requirement[:, ~shared].argmax(axis=0)  # the only feature that requires each private unit
        self._private = np.bincount(owners, self.ticks[~shared], minlength=len(self.requirement))
        self._shared = self.ticks[shared]
        self._sharers = self.requirement[:, shared].astype(np.float32)

    def ticks_spent(self, acquired: np.ndarray) -> np.ndarray:
        """Return the ticks (n,) that rows pay for masks of acquired features (n, n_features)."""
        if acquired.size < _KERNEL_MIN_CELLS:
            return acquired @ self._private + self._shared_paid(acquired) @ self._shared
        from thrifty.kernels.costs import ticks_paid

        return ticks_paid(np.ascontiguousarray(acquired), *self._kernel_arrays)

    def marginal_ticks(self, acquired: np.ndarray) -> np.ndarray:
        """Return the ticks (n, n_features) that each feature would add to what rows have paid."""
        ticks = np.empty(acquired.shape)
        step = max(1, _BLOCK_CELLS // acquired.shape[1])
        for start in range(0, len(acquired), step):
            rows = acquired[start : start + step]
            unpaid = ~self._shared_paid(rows) * self._shared
            ticks[start : start + step] = ~rows * self._private + unpaid @ self._sharers.T
        return ticks

    def _shared_paid(self, acquired: np.ndarray) -> np.ndarray:
        """Return which shared units (n, n_shared) rows have paid."""
        return acquired.astype(np.float32) @ self._sharers > 0

    @cached_property
    def _kernel_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from thrifty.kernels.costs import pack_bits

        return self._private.astype(np.int64), pack_bits(self._sharers), self._shared.astype(np.int64)

    @cached_property
    def standalone_ticks(self) -> np.ndarray:
        """Ticks (n_features,) of each feature for a row that has not paid anything."""
        return self._private + self._sharers @ self._shared

    @cached_property
    def units_of(self) -> list[list[tuple[int, float]]]:
        """Units that each feature requires, as pairs (unit, ticks)."""
        ticks = self.ticks.tolist()
        return [[(unit, ticks[unit]) for unit in np.flatnonzero(row).tolist()] for row in self.requirement]

    @cached_property
    def features_of(self) -> list[np.ndarray]:
        """Features that require each unit."""
        return [np.flatnonzero(column) for column in self.requirement.T]


def _requirement(declared: Declaration, priced: list[int]) -> np.ndarray:
    """Return which units (n_features, n_units) each feature requires; `priced` lists features with an own price."""
    direct = np.zeros((len(declared.prices), len(priced) + len(declared.bundles)), dtype=bool)
    direct[priced, np.arange(len(priced))] = True
    for unit, bundle in enumerate(declared.bundles, start=len(priced)):
        direct[list(bundle.members), unit] = True
    requirement = direct.copy()
    for feature, required in enumerate(declared.requires):
        if required:
            _, others = declared.required_by(feature)
            requirement[feature] |= direct[list(others)].any(axis=0)
    _refuse_unpriced(declared, requirement)
    return requirement


def _refuse_unpriced(declared: Declaration, requirement: np.ndarray) -> None:
    for feature in np.flatnonzero(~requirement.any(axis=1)):
        label = declared.labels[feature] if declared.names else int(feature)
        raise CostError(
            f"feature {label!r} has no price, is not in a bundle and requires nothing that has a price. "
            "Give it a price; pass 0 if it is free."
        )
