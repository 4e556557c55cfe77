"""Expected cost of a tree, relaxed from counting features to norms of weights (eq. 11).

The expected cost counts, for every path, the units that the path uses. This count is not continuous. The relaxation
replaces "unit u is used" by the norm of all weights that require u. With w[k, j] the weight of column j at node k
(for several scores, the norm of its weights) and c[u] the cost of unit u, the two penalties are

- `PathPenalty` (eq. 12, 19 and 22), with p[e] the share of rows that leave at the terminal element e:
  sum over e of p[e] * sum over u of c[u] * sqrt(sum of w[k, j]^2 over nodes k on the path to e, columns j that need u)
- `StagePenalty` (section 4.1, Cronus), with p[k] the share of rows that reach stage k:
  sum over u of c[u] * sqrt(sum of p[k]^2 * w[k, j]^2 over all stages k, columns j that need u)

Square roots have kinks at zero. Lemma 1 (eq. 13) replaces them by a smooth upper bound:

    sqrt(g) = min over z > 0 of (g / z + z) / 2

For fixed auxiliary variables z the bound is quadratic in the weights, and it equals the penalty where z = sqrt(g).
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from thrifty.arrays import cast, is_device_array, like, namespace_of, to_host
from thrifty.costs import CostModel
from thrifty.models.expected_cost.topology import Topology

SMALLEST = 1e-4  # norms below this count as zero, as in section 3.4
GAIN_ROUNDS = 30  # rounds of the search for columns that are cheap together
DIGITS = 12  # digits of a unit cost relative to the largest; dollars and cents then give the same model


class Bound(NamedTuple):
    """The upper bound of a penalty for fixed auxiliary variables, with its derivatives.

    Attributes
    ----------
    value : float
    curvature : ndarray of shape (K, d)
        The gradient with respect to the weights is curvature * weights.
    node_price : ndarray of shape (K,)
        Derivative with respect to the mass of each node.
    exit_price : ndarray of shape (K, 2)
        Derivative with respect to the mass of each terminal element.
    """

    value: Any
    curvature: Any
    node_price: Any
    exit_price: Any


class Prices(NamedTuple):
    """Derivatives of the bound, as far as they do not depend on where rows leave.

    Attributes
    ----------
    by_unit : array of shape (K, u) or (1, u)
        Unit costs divided by the auxiliary variables.
    on_path : array of shape (K,)
        The price of each path (`PathPenalty`) or of each stage (`StagePenalty`).
    paid : scalar
        The part of the value that does not depend on the masses, times two.
    node_price, exit_price : arrays of shape (K,) and (K, 2)
        As in `Bound`.
    """

    by_unit: Any
    on_path: Any
    paid: Any
    node_price: Any
    exit_price: Any


class Penalty(ABC):
    """Base of the two penalties: which columns require which units, and what units cost.

    Units are sorted by the columns that require them, and unit costs are divided by the largest one and rounded. Sums
    over units are then bit for bit the same for any order of units and any unit of money in the cost model.

    Parameters
    ----------
    cost_model : CostModel
        Costs of the columns that the nodes weigh.
    columns : ndarray of int, shape (d,)
        Position in the cost model of each column of the objective.
    topology : Topology
        Shape of the tree.
    """

    def __init__(self, cost_model: CostModel, columns: np.ndarray, topology: Topology):
        self._set_topology(topology)
        requirement = cost_model.sparse_requirement[columns].astype(float).tocsc()
        units = np.flatnonzero(cost_model.unit_costs > 0)
        first, count = _first_rows(requirement)[units], np.diff(requirement.indptr)[units]
        units = units[np.lexsort((cost_model.unit_costs[units], count, first))]
        unit_costs = cost_model.unit_costs[units]
        self.largest_unit_cost = float(unit_costs.max(initial=0.0))
        self.unit_costs: Any = np.round(unit_costs / self.largest_unit_cost, DIGITS) if units.size else unit_costs
        self.requirement: Any = requirement[:, units].tocsr()  # (d, u); on a device a dense array

    @property
    def requirement(self) -> Any:
        """Which columns require which units: (d, u)."""
        return self._requirement

    @requirement.setter
    def requirement(self, requirement: Any) -> None:
        self._requirement, self._by_unit = requirement, requirement.T

    def _set_topology(self, topology: Topology) -> None:
        """Set the tree, with the paths to its nodes and the marks of its terminal elements as numbers."""
        self.topology = topology
        self._lineage: Any = topology.lineage.astype(float)
        self._ends: Any = topology.ends.astype(float)

    @property
    def no_prices(self) -> tuple[Any, Any]:
        """Prices of nodes (K,) and terminal elements (K, 2) that are all zero, where the parameters are."""
        return 0.0 * self._ends[:, 0], 0.0 * self._ends

    def placed(self, model: Any) -> Self:
        """Return the penalty for parameters of the library and on the device of the array `model`."""
        other = copy(self)
        if is_device_array(model) and not is_device_array(self.requirement):
            other.requirement = like(self.requirement.toarray(), model)
        for name in ("unit_costs", "_lineage", "_ends"):
            setattr(other, name, like(getattr(self, name), model))
        return other

    @abstractmethod
    def norms(self, squares: Any, mass: Any) -> Any:
        """Return the square roots in the penalty. They are the auxiliary variables at which the bound is exact."""

    @abstractmethod
    def prices(self, squares: Any, mass: Any, auxiliaries: Any) -> Prices | None:
        """Return the prices in the bound; None if they depend on the masses and `mass` is None."""

    @abstractmethod
    def bound(self, squares: Any, mass: Any, exit_mass: Any, prices: Any) -> Bound:
        """Return the upper bound of Lemma 1, given its prices for fixed auxiliary variables."""

    @abstractmethod
    def slope_at_zero(self, squares: Any, mass: Any, exit_mass: Any) -> Any:
        """Return the derivative (K, d) with respect to the norm of each weight that is zero.

        It is the expected cost of the units that the weight requires and that no other weight pays for yet.
        """

    @abstractmethod
    def n_sharing(self, by_exit: bool) -> int:
        """Return the largest number of nodes whose losses a row suffers while it pays for a unit once."""

    def negligible(self, squares: Any, mass: Any) -> Any:
        """Mark the weights (K, d) that are small enough to count as zero."""
        return squares < SMALLEST**2

    def on_host(self) -> Self:
        """Return the penalty for parameters in NumPy arrays."""
        other = copy(self)
        other.requirement = sparse.csr_array(to_host(self.requirement))
        return other.placed(np.empty(0))

    def with_topology(self, topology: Topology) -> Self:
        """Return the penalty of another tree."""
        other = copy(self)
        other._set_topology(topology)
        return other.placed(self.unit_costs)

    def for_columns(self, columns: Any) -> Self:
        """Return the penalty of some columns; the weights of all others are taken to be zero."""
        some, on_device = copy(self), is_device_array(self.requirement)
        some.requirement = (
            namespace_of(self.requirement).take(self.requirement, like(columns, self.requirement), axis=0)
            if on_device
            else self.requirement[columns]
        )
        return some

    def per_unit(self, squares: Any) -> Any:
        """Sum squared weights (K, d) over the columns that require each unit: (K, u)."""
        return (self._by_unit @ squares.T).T

    def per_feature(self, unit_values: Any) -> Any:
        """Sum values of units (., u) over the units that each column requires: (., d)."""
        return (self.requirement @ unit_values.T).T

    def largest_gain_per_cost(self, slopes: np.ndarray) -> float:
        """Return the maximum over w of  slopes @ w / penalty(w)  for a single node, approximately.

        `slopes` (d,) are the norms of the gradient of the loss at w = 0. Columns that share units are cheaper together
        than one by one. For fixed auxiliary variables the best w is proportional to slopes / curvature. The search
        alternates between this w and the auxiliary variables, and never gets worse.
        """
        prices = self.per_feature(self.unit_costs[None])[0]
        priced = prices > 0
        best = np.max(slopes[priced] / prices[priced], initial=np.finfo(float).tiny)
        weights = np.where(priced, slopes, 0.0)
        for _ in range(GAIN_ROUNDS):
            norms = np.sqrt(self.per_unit(weights[None] ** 2))[0]
            best = max(best, slopes @ weights / max(norms @ self.unit_costs, np.finfo(float).tiny))
            curvature = self.per_feature(self.unit_costs[None] / np.maximum(norms, np.finfo(float).tiny))[0]
            weights = np.divide(slopes, curvature, out=np.zeros_like(weights), where=priced & (curvature > 0))
            weights /= max(weights.max(initial=0.0), np.finfo(float).tiny)
        return float(best)


def quotients(values: Any, divisors: Any) -> Any:
    """Return values / divisors, and 0 where a divisor is 0; no divisor is negative."""
    positive = divisors > 0
    if isinstance(divisors, np.ndarray):
        return np.divide(
            values, divisors, out=np.zeros(np.broadcast_shapes(np.shape(values), divisors.shape)), where=positive
        )
    xp = namespace_of(divisors)
    ratio = values / xp.where(positive, divisors, xp.ones_like(divisors))
    return xp.where(positive, ratio, xp.zeros_like(ratio))


def _first_rows(matrix: sparse.csc_array) -> np.ndarray:
    """Return the first row with an entry in each column; 0 for columns without entries."""
    first = np.zeros(matrix.shape[1], dtype=np.int64)
    filled = np.diff(matrix.indptr) > 0
    first[filled] = matrix.indices[matrix.indptr[:-1][filled]]
    return first


class PathPenalty(Penalty):
    """Cost of the units used on each path, weighted by the share of rows that take the path (CSTC and CSCC)."""

    def norms(self, squares: Any, mass: Any) -> Any:
        """Return the norms (K, u) of the weights on the path to each node, by unit."""
        return namespace_of(squares).sqrt(self._lineage @ self.per_unit(squares))

    def prices(self, squares: Any, mass: Any, auxiliaries: Any) -> Prices:
        """Return the prices in the bound for auxiliary variables (K, u); they do not depend on the masses."""
        xp = namespace_of(squares)
        by_unit = quotients(self.unit_costs, auxiliaries)
        on_path = self._lineage @ self.per_unit(squares)
        path_price = 0.5 * (xp.sum(by_unit * on_path, axis=1) + auxiliaries @ self.unit_costs)
        exit_price = xp.where(self._ends > 0, path_price[:, None], xp.zeros_like(self._ends))
        return Prices(by_unit, path_price, 0.0, xp.zeros_like(path_price), exit_price)

    def bound(self, squares: Any, mass: Any, exit_mass: Any, prices: Any) -> Bound:
        """Return the upper bound of Lemma 1, given its prices."""
        leaving = namespace_of(squares).sum(exit_mass, axis=1)
        curvature = self.per_feature(self._lineage.T @ (leaving[:, None] * prices.by_unit))
        return Bound(leaving @ prices.on_path, curvature, prices.node_price, prices.exit_price)

    def slope_at_zero(self, squares: Any, mass: Any, exit_mass: Any) -> Any:
        """Return the expected cost (K, d) of the units that a weight requires and its paths do not use yet."""
        xp, norms = namespace_of(squares), self.norms(squares, mass)
        unused = xp.where(norms == 0, self.unit_costs, xp.zeros_like(norms))
        leaving = xp.sum(exit_mass, axis=1)
        return self.per_feature(self._lineage.T @ (leaving[:, None] * unused))

    def n_sharing(self, by_exit: bool) -> int:
        """Return the length of the longest path, or 1 if only the loss at the exit counts."""
        return 1 if by_exit else int(self.topology.depth.max()) + 1


class StagePenalty(Penalty):
    """Cost of the units used in a cascade, with weights scaled by the share of rows that reach their stage (Cronus)."""

    def norms(self, squares: Any, mass: Any) -> Any:
        """Return the norms (1, u) of the scaled weights of all stages, by unit."""
        return namespace_of(squares).sqrt(mass**2 @ self.per_unit(squares))[None, :]

    def prices(self, squares: Any, mass: Any, auxiliaries: Any) -> Prices | None:
        """Return the prices in the bound for auxiliary variables (1, u), which depend on the masses."""
        if mass is None:
            return None
        xp, by_unit = namespace_of(squares), quotients(self.unit_costs, auxiliaries)[0, :]
        stage_price = self.per_unit(squares) @ by_unit
        paid = auxiliaries[0, :] @ self.unit_costs
        return Prices(by_unit, stage_price, paid, mass * stage_price, xp.zeros_like(self._ends))

    def bound(self, squares: Any, mass: Any, exit_mass: Any, prices: Any) -> Bound:
        """Return the upper bound of Lemma 1, given its prices."""
        value = 0.5 * (mass**2 @ prices.on_path + prices.paid)
        curvature = mass[:, None] ** 2 * self.per_feature(prices.by_unit[None, :])
        return Bound(value, curvature, prices.node_price, prices.exit_price)

    def slope_at_zero(self, squares: Any, mass: Any, exit_mass: Any) -> Any:
        """Return the expected cost (K, d) of the units that a weight requires and no stage uses yet."""
        xp, norms = namespace_of(squares), self.norms(squares, mass)
        return mass[:, None] * self.per_feature(xp.where(norms == 0, self.unit_costs, xp.zeros_like(norms)))

    def n_sharing(self, by_exit: bool) -> int:
        """Return the number of stages, because the norm is one over all stages."""
        return self.topology.n_nodes

    def negligible(self, squares: Any, mass: Any) -> Any:
        """Mark the weights (K, d) that count as zero, also because they require a unit whose norm is negligible."""
        norms = self.norms(squares, mass)
        unpaid = cast(norms < SMALLEST, norms.dtype)
        return super().negligible(squares, mass) | (self.per_feature(unpaid) > 0)
