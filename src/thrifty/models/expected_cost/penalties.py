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
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

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

    value: float
    curvature: np.ndarray
    node_price: np.ndarray
    exit_price: np.ndarray


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
        self.topology = topology
        requirement = cost_model.sparse_requirement[columns].astype(float).tocsc()
        units = np.flatnonzero(cost_model.unit_costs > 0)
        first, count = _first_rows(requirement)[units], np.diff(requirement.indptr)[units]
        units = units[np.lexsort((cost_model.unit_costs[units], count, first))]
        unit_costs = cost_model.unit_costs[units]
        self.largest_unit_cost = float(unit_costs.max(initial=0.0))
        self.unit_costs = np.round(unit_costs / self.largest_unit_cost, DIGITS) if units.size else unit_costs
        self.requirement = requirement[:, units].tocsr()  # (d, u)

    @abstractmethod
    def norms(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the square roots in the penalty. They are the auxiliary variables at which the bound is exact."""

    @abstractmethod
    def bound(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray, auxiliaries: np.ndarray) -> Bound:
        """Return the upper bound of Lemma 1 for fixed auxiliary variables."""

    @abstractmethod
    def slope_at_zero(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray) -> np.ndarray:
        """Return the derivative (K, d) with respect to the norm of each weight that is zero.

        It is the expected cost of the units that the weight requires and that no other weight pays for yet.
        """

    @abstractmethod
    def n_sharing(self, by_exit: bool) -> int:
        """Return the largest number of nodes whose losses a row suffers while it pays for a unit once."""

    def negligible(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Mark the weights (K, d) that are small enough to count as zero."""
        return squares < SMALLEST**2

    def with_topology(self, topology: Topology) -> Self:
        """Return the penalty of another tree."""
        other = copy(self)
        other.topology = topology
        return other

    def for_columns(self, columns: np.ndarray) -> Self:
        """Return the penalty of some columns; the weights of all others are taken to be zero."""
        some = copy(self)
        some.requirement = self.requirement[columns]
        return some

    def per_unit(self, squares: np.ndarray) -> np.ndarray:
        """Sum squared weights (K, d) over the columns that require each unit: (K, u)."""
        return (self.requirement.T @ squares.T).T

    def per_feature(self, unit_values: np.ndarray) -> np.ndarray:
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


def _first_rows(matrix: sparse.csc_array) -> np.ndarray:
    """Return the first row with an entry in each column; 0 for columns without entries."""
    first = np.zeros(matrix.shape[1], dtype=np.int64)
    filled = np.diff(matrix.indptr) > 0
    first[filled] = matrix.indices[matrix.indptr[:-1][filled]]
    return first


class PathPenalty(Penalty):
    """Cost of the units used on each path, weighted by the share of rows that take the path (CSTC and CSCC)."""

    def norms(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the norms (K, u) of the weights on the path to each node, by unit."""
        return np.sqrt(self.topology.lineage @ self.per_unit(squares))

    def bound(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray, auxiliaries: np.ndarray) -> Bound:
        """Return the upper bound of Lemma 1 for fixed auxiliary variables (K, u)."""
        prices = np.divide(self.unit_costs, auxiliaries, out=np.zeros_like(auxiliaries), where=auxiliaries > 0)
        on_path = self.topology.lineage @ self.per_unit(squares)
        path_price = 0.5 * (np.einsum("ku,ku->k", prices, on_path) + auxiliaries @ self.unit_costs)
        leaving = exit_mass.sum(axis=1)
        curvature = self.per_feature(self.topology.lineage.T @ (leaving[:, None] * prices))
        exit_price = np.where(self.topology.ends, path_price[:, None], 0.0)
        return Bound(float(leaving @ path_price), curvature, np.zeros(len(leaving)), exit_price)

    def slope_at_zero(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray) -> np.ndarray:
        """Return the expected cost (K, d) of the units that a weight requires and its paths do not use yet."""
        unused = self.unit_costs * (self.norms(squares, mass) == 0)
        leaving = exit_mass.sum(axis=1)
        return self.per_feature(self.topology.lineage.T @ (leaving[:, None] * unused))

    def n_sharing(self, by_exit: bool) -> int:
        """Return the length of the longest path, or 1 if only the loss at the exit counts."""
        return 1 if by_exit else int(self.topology.depth.max()) + 1


class StagePenalty(Penalty):
    """Cost of the units used in a cascade, with weights scaled by the share of rows that reach their stage (Cronus)."""

    def norms(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the norms (1, u) of the scaled weights of all stages, by unit."""
        return np.sqrt(mass**2 @ self.per_unit(squares))[None]

    def bound(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray, auxiliaries: np.ndarray) -> Bound:
        """Return the upper bound of Lemma 1 for fixed auxiliary variables (1, u)."""
        prices = np.divide(self.unit_costs, auxiliaries, out=np.zeros_like(auxiliaries), where=auxiliaries > 0)[0]
        stage_price = self.per_unit(squares) @ prices
        value = 0.5 * (mass**2 @ stage_price + auxiliaries[0] @ self.unit_costs)
        curvature = mass[:, None] ** 2 * self.per_feature(prices[None])
        return Bound(float(value), curvature, mass * stage_price, np.zeros((len(mass), 2)))

    def slope_at_zero(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray) -> np.ndarray:
        """Return the expected cost (K, d) of the units that a weight requires and no stage uses yet."""
        unused = self.unit_costs * (self.norms(squares, mass) == 0)
        return mass[:, None] * self.per_feature(unused)

    def n_sharing(self, by_exit: bool) -> int:
        """Return the number of stages, because the norm is one over all stages."""
        return self.topology.n_nodes

    def negligible(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Mark the weights (K, d) that count as zero, also because they require a unit whose norm is negligible."""
        unpaid = self.norms(squares, mass) < SMALLEST
        return super().negligible(squares, mass) | (self.per_feature(unpaid.astype(float)) > 0)
