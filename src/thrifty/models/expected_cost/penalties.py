"""What a tree's weights can be expected to cost, relaxed from counting to norms (eq. 11).

A unit is paid by whatever first uses it, so the weights of everything that requires it share a norm. The two
relaxations differ in which weights share it:

- :class:`PathPenalty` (eq. 12, 19, 22): those on one way through the tree; ways are weighted by how many take them;
- :class:`StagePenalty` (section 4.1, Cronus): those of all stages, each weighted by how many reach it.

Both are sums of  weight * unit cost * sqrt(g)  with g quadratic in the weights, made smooth by Lemma 1 (eq. 13),
    sqrt(g) = min over z of (g / z + z) / 2.
Held at some z, a penalty is quadratic in the weights and an upper bound of itself that touches where z = sqrt(g).
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from thrifty.costs import CostModel
from thrifty.models.expected_cost.topology import Topology

SMALLEST = 1e-4  # values below this count as zero
MIXES = 30  # rounds of looking for columns that are cheap together
DIGITS = 12  # of a price relative to the dearest; fewer than a float has, for cents to give what dollars give


class Bound(NamedTuple):
    """A penalty held at some auxiliaries, at certain masses: its value and what it is made of."""

    value: float
    curvature: np.ndarray  # (K, d) its gradient by the weights is curvature * weights
    node_price: np.ndarray  # (K,) derivatives by the mass of each node
    exit_price: np.ndarray  # (K, 2) derivatives by the mass of each terminal element


class Penalty(ABC):
    """Units and their costs, and what both relaxations are asked for.

    Features are given by their `columns` in the cost model. Units take their order from them, and are priced relative
    to the dearest, so that sums over units come out the same to the last bit however the cost model orders and counts.
    """

    def __init__(self, cost_model: CostModel, columns: np.ndarray, topology: Topology):
        self.topology = topology
        requirement = cost_model.requirement[columns]
        units = np.flatnonzero(cost_model.unit_costs > 0)
        first, count = requirement[:, units].argmax(axis=0), requirement[:, units].sum(axis=0)
        units = units[np.lexsort((cost_model.unit_costs[units], count, first))]
        unit_costs = cost_model.unit_costs[units]
        self.dearest = float(unit_costs.max(initial=0.0))
        self.unit_costs = np.round(unit_costs / self.dearest, DIGITS) if units.size else unit_costs
        self.requirement = sparse.csr_array(requirement[:, units].astype(float))  # (d, u)

    @abstractmethod
    def roots(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the norms of the weights that share units, the auxiliaries at which a bound touches."""

    @abstractmethod
    def bound(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray, held_at: np.ndarray) -> Bound:
        """Return the upper bound that touches where the roots are `held_at`."""

    @abstractmethod
    def reluctance(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray) -> np.ndarray:
        """Return what the first bit of each weight that is zero costs (K, d): units that nothing uses yet."""

    def faint(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Mark the weights (K, d) that count as zero."""
        return squares < SMALLEST**2

    def along(self, topology: Topology) -> Self:
        """Return the penalty of another tree."""
        other = copy(self)
        other.topology = topology
        return other

    def on(self, columns: np.ndarray) -> Self:
        """Return the penalty of some columns only; the others are taken to have no weight anywhere."""
        some = copy(self)
        some.requirement = self.requirement[columns]
        return some

    def per_unit(self, squares: np.ndarray) -> np.ndarray:
        """Sum squared weights (K, d) over everything that requires each unit: (K, u)."""
        return (self.requirement.T @ squares.T).T

    def per_feature(self, unit_weights: np.ndarray) -> np.ndarray:
        """Sum over the units that each feature requires: (., u) to (., d)."""
        return (self.requirement @ unit_weights.T).T

    def steepest_per_cost(self, slopes: np.ndarray) -> float:
        """Return the largest gain per cost of weights from zero, at these slopes (d,) of the loss, in a single node.

        Columns that share units are cheaper together than one by one. Lemma 1 turns the best mix of them into
        repeated least squares, each of which does no worse than the one before.
        """
        prices = self.per_feature(self.unit_costs[None])[0]
        priced = prices > 0
        best = np.max(slopes[priced] / prices[priced], initial=np.finfo(float).tiny)
        weights = np.where(priced, slopes, 0.0)
        for _ in range(MIXES):
            roots = np.sqrt(self.per_unit(weights[None] ** 2))[0]
            best = max(best, slopes @ weights / max(roots @ self.unit_costs, np.finfo(float).tiny))
            curvature = self.per_feature(self.unit_costs[None] / np.maximum(roots, np.finfo(float).tiny))[0]
            weights = np.divide(slopes, curvature, out=np.zeros_like(weights), where=priced & (curvature > 0))
            weights /= max(weights.max(initial=0.0), np.finfo(float).tiny)
        return float(best)


class PathPenalty(Penalty):
    """Each way through the tree pays for the units used on it, weighted by the share of rows that take it."""

    def roots(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the norms (K, u) of the weights on the way to each node, the auxiliaries at which a bound touches."""
        return np.sqrt(self.topology.lineage @ self.per_unit(squares))

    def bound(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray, held_at: np.ndarray) -> Bound:
        """Return the upper bound that touches where the roots are `held_at`."""
        prices = np.divide(self.unit_costs, held_at, out=np.zeros_like(held_at), where=held_at > 0)
        on_path = self.topology.lineage @ self.per_unit(squares)
        path_price = 0.5 * (np.einsum("ku,ku->k", prices, on_path) + held_at @ self.unit_costs)
        taken = exit_mass.sum(axis=1)
        curvature = self.per_feature(self.topology.lineage.T @ (taken[:, None] * prices))
        exit_price = np.where(self.topology.ends, path_price[:, None], 0.0)
        return Bound(float(taken @ path_price), curvature, np.zeros(len(taken)), exit_price)

    def reluctance(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray) -> np.ndarray:
        """Return what the first bit of each weight that is zero costs (K, d): units that its paths do not yet use."""
        unused = self.unit_costs * (self.roots(squares, mass) == 0)
        taken = exit_mass.sum(axis=1)
        return self.per_feature(self.topology.lineage.T @ (taken[:, None] * unused))


class StagePenalty(Penalty):
    """Each unit is paid once for the whole cascade, every stage's weights counting by the share of rows it sees."""

    def roots(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the norms (1, u) of all stages' weights, each times its mass."""
        return np.sqrt(mass**2 @ self.per_unit(squares))[None]

    def bound(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray, held_at: np.ndarray) -> Bound:
        """Return the upper bound that touches where the roots are `held_at`."""
        prices = np.divide(self.unit_costs, held_at, out=np.zeros_like(held_at), where=held_at > 0)[0]
        stage_price = self.per_unit(squares) @ prices
        value = 0.5 * (mass**2 @ stage_price + held_at[0] @ self.unit_costs)
        curvature = mass[:, None] ** 2 * self.per_feature(prices[None])
        return Bound(float(value), curvature, mass * stage_price, np.zeros((len(mass), 2)))

    def reluctance(self, squares: np.ndarray, mass: np.ndarray, exit_mass: np.ndarray) -> np.ndarray:
        """Return what the first bit of each weight that is zero costs (K, d): units that no stage uses yet."""
        unused = self.unit_costs * (self.roots(squares, mass) == 0)
        return mass[:, None] * self.per_feature(unused)

    def faint(self, squares: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Mark the weights (K, d) that count as zero, also since hardly a row gets to where they are."""
        unpaid = self.roots(squares, mass) < SMALLEST
        return super().faint(squares, mass) | (self.per_feature(unpaid.astype(float)) > 0)
