"""The compiled cost model: which feature requires which unit, and what units cost, in whole ticks.

A unit is paid for once per row. One that a single feature requires is a term of a dot product; one that
several share is paid as soon as any of them is acquired. Both come down to BLAS on blocks of rows that fit in
cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from thrifty.costs.declaration import Declaration
from thrifty.costs.money import to_ticks
from thrifty.exceptions import CostError

_CELLS_PER_BLOCK = 2**17


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
        # Whole numbers below 2**24 are exact in float32 too, which halves the work.
        self._exact = np.float32 if self.ticks.sum() < 2**24 else np.float64
        self._private = (self.requirement[:, ~shared] @ self.ticks[~shared]).astype(self._exact)
        self._sharers = self.requirement[:, shared].astype(np.float32)
        self._shared_ticks = self.ticks[shared].astype(self._exact)

    def spent(self, acquired: np.ndarray) -> np.ndarray:
        """Return the ticks (n,) that rows (n, n_features) have paid."""
        ticks = np.empty(len(acquired))
        for rows in _blocks(acquired):
            block = acquired[rows].astype(np.float32)
            ticks[rows] = block.astype(self._exact, copy=False) @ self._private
            if self._shared_ticks.size:
                ticks[rows] += (block @ self._sharers > 0).astype(self._exact) @ self._shared_ticks
        return ticks

    def unpaid(self, acquired: np.ndarray) -> np.ndarray:
        """Return the ticks (n, n_features) that each feature would add to what rows have paid."""
        ticks = np.empty(acquired.shape)
        for rows in _blocks(acquired):
            block = acquired[rows]
            open_units = (block.astype(np.float32) @ self._sharers == 0) * self._shared_ticks
            ticks[rows] = ~block * self._private + open_units @ self._sharers.T
        return ticks

    @cached_property
    def alone(self) -> np.ndarray:
        """The ticks of each feature when nothing is paid."""
        return self.requirement @ self.ticks

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


def _blocks(rows: np.ndarray) -> Iterator[slice]:
    step = max(1, _CELLS_PER_BLOCK // rows.shape[1])
    for start in range(0, len(rows), step):
        yield slice(start, start + step)
