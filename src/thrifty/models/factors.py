"""Factors: groups of features that are bought together, and their prices.

A factor is a bundle whose members have no price of their own (a descriptor, a block of pixels), or a single feature.
Columns can be sorted by factor, so that the contribution of a factor to a linear score is a dot product over adjacent
columns. With flags, each factor is followed by a column that tells whether the row has the factor.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from thrifty.costs import CostModel
from thrifty.costs.units import marks_of
from thrifty.kernels.policies import FactorPrices
from thrifty.models.rebuilt import Rebuilt
from thrifty.stored import Flag, Structure, TupleOf, Whole, stored


@stored(groups=TupleOf(TupleOf(Whole(0))), cost_model=Structure(CostModel), flagged=Flag())
class Factors(Rebuilt):
    """A partition of the columns into groups that are bought together.

    Parameters
    ----------
    groups : sequence of sequences of int
        The columns of each factor; every column is in exactly one factor.
    cost_model : CostModel
        Costs of the columns.
    flagged : bool, default=False
        Whether a flag follows the columns of each factor.

    Attributes
    ----------
    columns : ndarray of int, shape (n_features,)
        All columns, sorted by factor.
    starts : ndarray of int, shape (n_factors + 1,)
        Position of the first column of each factor, flags included.
    places : ndarray of int, shape (n_features,)
        Position of each of `columns`, flags included.

    Examples
    --------
    >>> from thrifty.costs import CostModel
    >>> from thrifty.models.factors import Factors
    >>> blood = CostModel({"age": 1.0, "hdl": None, "ldl": None}, bundles={"panel": (["hdl", "ldl"], 8.0)})
    >>> Factors.of(blood, None, owner="example").groups
    ((0,), (1, 2))
    """

    _made_of = ("groups", "cost_model", "flagged")

    def __init__(self, groups: Sequence[Sequence[int]], cost_model: CostModel, flagged: bool = False):
        self.groups = tuple(tuple(map(int, group)) for group in groups)
        self.cost_model, self.flagged = cost_model, flagged
        self.columns = np.array([column for group in self.groups for column in group], dtype=np.int64)
        self.starts = np.cumsum([0, *(len(group) + flagged for group in self.groups)])
        flags = self.starts[1:] - 1
        self.places = np.delete(np.arange(self.starts[-1]), flags[: len(flags) * flagged])
        if not all(self.groups) or sorted(self.columns.tolist()) != list(range(cost_model.n_features)):
            raise ValueError(f"groups is {groups!r}; expected each of {cost_model.n_features} columns in one group.")

    @classmethod
    def of(
        cls,
        cost_model: CostModel,
        declared: Any,
        owner: str,
        column_order: Sequence[int] | None = None,
        flagged: bool = False,
    ) -> "Factors":
        """Return the factors from the `factors` parameter of an estimator.

        Parameters
        ----------
        cost_model : CostModel
        declared : sequence of sequences of str or int, or None
            Features that are bought together. A feature that is not listed is a factor of its own. None means the
            bundles whose members have no price of their own.
        owner : str
            Name of the caller; error messages start with it.
        column_order : sequence of int, default=None
            Order of the factors, and of the columns of each factor. None means the order of X.
        flagged : bool, default=False
            Whether a flag follows the columns of each factor.
        """
        groups = _default_groups(cost_model) if declared is None else _parse(declared, cost_model, owner)
        group_of = {column: group for group in groups for column in group}
        in_order: dict[tuple[int, ...], list[int]] = {}
        for column in range(cost_model.n_features) if column_order is None else column_order:
            in_order.setdefault(group_of.get(column, (column,)), []).append(int(column))
        return cls(list(in_order.values()), cost_model, flagged)

    def __len__(self) -> int:
        return len(self.groups)

    def sorted_columns(self, X: np.ndarray) -> np.ndarray:
        """Return rows with their columns sorted by factor, without flags, contiguous for the kernels."""
        return np.ascontiguousarray(X[:, self.columns])

    def to_columns(self, acquired: np.ndarray) -> np.ndarray:
        """Repeat marks of factors (n, n_factors) for their columns and flags, sorted by factor."""
        return np.repeat(acquired, np.diff(self.starts), axis=1)

    def acquired_columns(self, acquired: np.ndarray) -> np.ndarray:
        """Return the columns (n, n_features), in the order of X, of the factors (n, n_factors) that rows have."""
        return acquired[:, self._factor_of]

    @cached_property
    def _factor_of(self) -> np.ndarray:
        """The factor of each column, in the order of X."""
        factor_of = np.empty(len(self.columns), dtype=np.intp)
        for factor, group in enumerate(self.groups):
            factor_of[list(group)] = factor
        return factor_of

    # Prices, counted in the ticks of the cost model so that sums are exact

    def ticks(self, acquired: np.ndarray) -> np.ndarray:
        """Return the ticks (n,) that rows have paid for the factors (n, n_factors) that they have."""
        own, shared, requires = self._unit_ticks
        return acquired @ own + (acquired @ requires > 0) @ shared

    def spend(self, ticks: np.ndarray) -> np.ndarray:
        """Convert ticks to the unit of the cost model."""
        return ticks / self.cost_model._units.scale

    def share(self, ticks: np.ndarray) -> np.ndarray:
        """Convert ticks to shares of the cost of all features."""
        return ticks / max(self.cost_model._units.ticks.sum(), 1.0)

    @cached_property
    def free(self) -> np.ndarray:
        """The factors that cost nothing; every row has them from the start."""
        own, shared, requires = self._unit_ticks
        return np.flatnonzero(own + requires @ shared == 0)

    @cached_property
    def prices(self) -> FactorPrices:
        """The prices as the kernels take them, in shares of the cost of all features."""
        own, shared, requires = self._unit_ticks
        return FactorPrices(self.share(own), self.share(shared), requires > 0)

    def prices_after(self, acquired: np.ndarray) -> np.ndarray:
        """Return what each factor would add (n, n_factors) to the cost of rows, in shares of the cost of all features.

        Entries of factors that a row has already are not meaningful.
        """
        unpaid = ~(acquired @ self._unit_ticks[2] > 0)
        return self.prices.own + (unpaid * self.prices.shared) @ self.prices.requires.T

    @cached_property
    def requirement(self) -> csr_array:
        """The units that each factor requires: a matrix (n_factors, n_units) of 0 and 1."""
        members = marks_of(self.groups, shape=(len(self), self.cost_model.n_features))
        requirement = (members @ self.cost_model.sparse_requirement).astype(float).tocsr()
        requirement.sort_indices()
        return requirement

    @cached_property
    def _unit_ticks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ticks of the units that only one factor requires, by factor; ticks of shared units; who requires these."""
        requirement = self.requirement
        shared, ticks = requirement.sum(axis=0) > 1, self.cost_model._units.ticks
        return requirement[:, ~shared] @ ticks[~shared], ticks[shared], requirement[:, shared].toarray()


def _default_groups(cost_model: CostModel) -> list[tuple[int, ...]]:
    """Return the bundles whose members have no price of their own and are not in another bundle."""
    column_of = {feature: j for j, feature in enumerate(cost_model.names or range(cost_model.n_features))}
    own = list(cost_model.costs.values()) if cost_model.names else cost_model.costs
    bundles = [tuple(sorted(column_of[f] for f in members)) for members, _ in cost_model.bundles.values()]
    n_bundles = np.bincount([c for members in bundles for c in members], minlength=len(column_of))
    return [members for members in bundles if all(not own[c] and n_bundles[c] == 1 for c in members)]


def _parse(declared: Any, cost_model: CostModel, owner: str) -> list[tuple[int, ...]]:
    column_of: dict[Any, int] = {j: j for j in range(cost_model.n_features)}
    column_of |= {name: j for j, name in enumerate(cost_model.names or ())}
    groups: list[tuple[int, ...]] = []
    listed: set[int] = set()
    for members in _lists(declared, owner):
        for feature in members:
            if feature not in column_of:
                raise ValueError(
                    f"{owner}: factors lists {feature!r}, which is not a feature. Pass the name of a feature, or its "
                    f"index from 0 to {cost_model.n_features - 1}."
                )
            if column_of[feature] in listed:
                raise ValueError(f"{owner}: factors lists feature {feature!r} twice. Put it into one factor.")
            listed.add(column_of[feature])
        groups.append(tuple(sorted(column_of[feature] for feature in members)))
    return groups


def _lists(declared: Any, owner: str) -> list[list[Any]]:
    """Return the declared groups as lists; refuse anything that is not a list of non-empty lists."""
    is_list = isinstance(declared, Iterable) and not isinstance(declared, str)
    groups = [_members(each) for each in declared] if is_list else [[]]
    if not all(groups):
        raise ValueError(f"{owner}: factors is {declared!r}; expected lists of features that are bought together.")
    return groups


def _members(group: Any) -> list[Any]:
    return list(group) if isinstance(group, Iterable) and not isinstance(group, str) else []
