"""Units of a cost model as arrays, for fast computation of costs.

A row pays for a unit once. A unit that only one feature requires is private: private costs add up as a dot product. A
unit that several features require is shared: it is paid as soon as the row acquires one of these features. Costs are
counted in ticks, see `thrifty.costs.money`.

Which feature requires which unit is a sparse matrix. A dense one would take 10 GB for 100,000 features with a price
each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
from scipy.sparse import csr_array

from thrifty.costs.declaration import Declaration
from thrifty.costs.errors import format_value
from thrifty.costs.money import to_ticks
from thrifty.exceptions import CostError

_KERNEL_MIN_CELLS = 20_000  # for smaller masks, importing Numba takes longer than it saves
_BLOCK_CELLS = 2**20  # bounds the memory of intermediate arrays
_DENSE_CELLS = 2**22  # up to this size, a dense matrix of shared units is faster than a sparse one
_MAX_INHERITED = 10_000_000  # units or features that all features together require through others


class Units:
    """Units of a declaration: the features' own prices in column order, then the bundles.

    Parameters
    ----------
    declared : Declaration

    Attributes
    ----------
    names : tuple of str
        Names of the units.
    requirement : csr_array of bool, shape (n_features, n_units)
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
        for array in (self.ticks, self.costs):
            array.setflags(write=False)

        by_unit = self.requirement.tocsc()
        self._features, self._feature_at = by_unit.indices, by_unit.indptr  # features that require each unit
        shared = np.diff(self._feature_at) > 1
        owners = self._features[self._feature_at[:-1][~shared]]  # the only feature that requires each private unit
        self._private = np.bincount(owners, self.ticks[~shared], minlength=len(declared.prices))
        self._shared = self.ticks[shared]
        sharers = by_unit[:, shared].tocsr().astype(np.float32)
        self._sharers = sharers.toarray() if np.prod(sharers.shape) <= _DENSE_CELLS else sharers

    def ticks_spent(self, acquired: np.ndarray) -> np.ndarray:
        """Return the ticks (n,) that rows pay for masks of acquired features (n, n_features)."""
        if acquired.size < _KERNEL_MIN_CELLS:
            return acquired @ self._private + self._shared_paid(acquired) @ self._shared
        from thrifty.kernels.costs import ticks_paid, ticks_paid_of_many_units

        kernel = ticks_paid if isinstance(self._sharers, np.ndarray) else ticks_paid_of_many_units
        return kernel(np.ascontiguousarray(acquired), *self._kernel_arrays)

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
    def _kernel_arrays(self) -> tuple[np.ndarray, ...]:
        from thrifty.kernels.costs import pack_bits

        private, shared = self._private.astype(np.int64), self._shared.astype(np.int64)
        if isinstance(self._sharers, np.ndarray):
            return private, pack_bits(self._sharers), shared
        return private, self._sharers.indptr, self._sharers.indices, shared

    @cached_property
    def standalone_ticks(self) -> np.ndarray:
        """Ticks (n_features,) of each feature for a row that has not paid anything."""
        return self._private + self._sharers @ self._shared

    @cached_property
    def units_of(self) -> list[list[tuple[int, float]]]:
        """Units that each feature requires, as pairs (unit, ticks)."""
        units = self.requirement.indices
        pairs = list(zip(units.tolist(), self.ticks[units].tolist(), strict=True))
        return [pairs[first:last] for first, last in pairwise(self.requirement.indptr.tolist())]

    @cached_property
    def features_of(self) -> list[np.ndarray]:
        """Features that require each unit."""
        return [self._features[first:last] for first, last in pairwise(self._feature_at.tolist())]


def _requirement(declared: Declaration, priced: list[int]) -> csr_array:
    """Return which units (n_features, n_units) each feature requires; `priced` lists features with an own price."""
    n_features, n_units = len(declared.prices), len(priced) + len(declared.bundles)
    members = [bundle.members for bundle in declared.bundles]
    requirement = marks_of(([j] for j in priced), members, shape=(n_units, n_features)).T.tocsr()
    if any(declared.requires):
        needs = marks_of(_with_required(declared, np.diff(requirement.indptr)), shape=(n_features, n_features))
        requirement = (needs @ requirement).astype(bool)
        requirement.sort_indices()
    _refuse_unpriced(declared, requirement)
    return requirement


def marks_of(*lists: Iterable[Sequence[int]], shape: tuple[int, int]) -> csr_array:
    """Return a sparse boolean matrix with the marked columns of each row, given as one or more iterables of lists."""
    marked = [list(columns) for part in lists for columns in part]
    columns = np.fromiter(chain.from_iterable(marked), dtype=np.int64)
    starts = np.cumsum([0, *map(len, marked)])
    return csr_array((np.ones(len(columns), dtype=bool), columns, starts), shape=shape)


def _with_required(declared: Declaration, n_units: np.ndarray) -> Iterator[list[int]]:
    """Yield each feature together with all features that it requires; `n_units` counts their direct units."""
    n_direct = np.array([len(required) for required in declared.requires])
    n_inherited = 0
    for feature, required in enumerate(declared.requires):
        others = declared.required_by(feature)[1] if required else set()
        found = list(others)
        n_inherited += max(int(n_units[found].sum()), len(found), int(n_direct[found].sum()))
        if n_inherited > _MAX_INHERITED:
            raise CostError(
                f"requires: features require more than {_MAX_INHERITED} units or features through other features. "
                "Shorten the chains of features that require each other."
            )
        yield sorted({feature, *others})


def _refuse_unpriced(declared: Declaration, requirement: csr_array) -> None:
    for feature in np.flatnonzero(np.diff(requirement.indptr) == 0):
        label = declared.labels[feature] if declared.names else int(feature)
        raise CostError(
            f"feature {format_value(label)} has no price, is not in a bundle and requires nothing that has a price. "
            "Give it a price; pass 0 if it is free."
        )
