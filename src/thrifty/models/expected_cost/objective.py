"""The objective: expected loss plus relaxed expected cost of a softly traversed tree (eq. 12, 19 and 22).

    sum over rows i and nodes k of  loss_weight[i] * p[i, k] * loss(scores[i, k], targets[i])
    + l1_weight * sum of |weights|  +  cost_weight * penalty

p[i, k] is the probability that row i reaches node k or, if `by_exit`, that it leaves there. With m scores, |weights|
is the norm of the m weights of a node for a column.

The scores of all nodes are one product X @ W', the gradient is one product R' @ X. So an evaluation takes two matrix
products, for any number of nodes, and one pass over the scores between them (`kernels.soft_tree`).

The rows may live anywhere (`thrifty.models.homes`), and every sum over them is a sum over their blocks (`row_blocks`).
They may also be on a device. Computations follow them: parameters and everything else that an objective takes and
returns are then arrays on that device too (`kernels.soft_tree_arrays`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import TINY, namespace_of, number, to_host
from thrifty.models.expected_cost.penalties import DIGITS, SMALLEST, Penalty, quotients
from thrifty.models.expected_cost.rounding import on_grid
from thrifty.models.expected_cost.row_blocks import (
    TrainingRows,
    loss_of,
    loss_totals,
    masses_at,
    masses_of,
    passed,
    slopes_at_zero,
    slopes_of,
    target_squares,
    traversed,
)
from thrifty.models.expected_cost.row_sample import drawn
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.traversal import SoftTree, Traversal, scores_at_nodes
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Here, Home, Work

LARGEST_PRICE_WEIGHT = 1e30  # nothing that has a price is bought long before; larger numbers could overflow


class Auxiliaries(NamedTuple):
    """Auxiliary variables of Lemma 1.

    Attributes
    ----------
    unit_norms : array of shape (K, u) or (1, u)
        Those of the cost penalty.
    weight_norms : array of shape (K, d)
        Those of the l1 norm.
    """

    unit_norms: Any
    weight_norms: Any


class Masses(NamedTuple):
    """Weighted means over the rows of the probabilities to reach nodes (K,) and to leave at their sides (K, 2)."""

    mass: Any
    exit_mass: Any


class Evaluation(NamedTuple):
    """Value of the objective, its gradient by kind of parameter, and the masses of nodes and terminal elements."""

    value: Any
    weights: Any
    intercepts: Any
    thresholds: Any
    mass: Any
    exit_mass: Any


class ScoreGradient(NamedTuple):
    """Value of the objective with its derivatives with respect to scores and thresholds.

    Attributes
    ----------
    value : scalar
        A number, or an array without axes on a device.
    by_score : array of shape (n, K * m)
    by_threshold : array of shape (K,)
    curvature : array of shape (K, d)
        The gradient of the penalties with respect to the weights is curvature * weights.
    """

    value: Any
    by_score: Any
    by_threshold: Any
    curvature: Any


class _Penalties(NamedTuple):
    """The l1 norm, the relaxed cost, and the curvature (K, d) of both with respect to the weights."""

    l1: Any
    cost: Any
    curvature: Any

    def added_to(self, loss: Any) -> Any:
        """Return the objective, given the expected loss."""
        return loss + self.l1 + self.cost


@dataclass(frozen=True, eq=False)
class Objective:
    """The function of the parameters that a tree is fitted to minimise.

    Attributes
    ----------
    rows : Home of TrainingRows
        Where the training rows live.
    topology : Topology
    penalty : Penalty
    cost_weight : float
    l1_weight : float
    sharpness : float
        Factor inside the sigmoid of the soft traversal.
    logistic : bool
        Whether the loss is logistic, else it is the squared error.
    by_exit : bool, default=False
        Whether the loss of a node counts for the rows that leave there, else for all rows that reach it.
    upper_sign : float, default=1.0
        Which rows go to the upper child, if there is one score: 1 for high scores, -1 for low scores. Cascades use -1
        if the class with target -1 is the rare one, because the rare class continues.
    keep_ratio : float, default=0.5
        Share of the rows at a node that goes to its upper side at the initial parameters.
    rounded : bool, default=False
        Whether sums over rows are rounded, so that they do not depend on how the rows are divided; see `rounding`.
    """

    rows: Home[TrainingRows]
    topology: Topology
    penalty: Penalty
    cost_weight: float
    l1_weight: float
    sharpness: float
    logistic: bool
    by_exit: bool = False
    upper_sign: float = 1.0
    keep_ratio: float = 0.5
    rounded: bool = False

    # The rows, if all of them are in this process

    @property
    def X(self) -> Any:  # noqa: N802 - the field's name
        """Columns (n, d) with mean 0 and unit variance."""
        return self.rows.block.X

    @property
    def targets(self) -> Any:
        """Targets (n, m)."""
        return self.rows.block.targets

    @property
    def weight(self) -> Any:
        """Share of each row in the expected cost (n,); they sum to 1."""
        return self.rows.block.weight

    @property
    def loss_weight(self) -> Any:
        """Weight of each row in the loss (n,)."""
        return self.rows.block.loss_weight

    def scores(self, parameters: Parameters) -> Any:
        """Return the scores of all nodes: (n, K * m)."""
        return scores_at_nodes(self.X, parameters)

    # Forward: traversal, value

    @property
    def tree(self) -> SoftTree:
        """What is done to each block of rows."""
        return SoftTree(self.topology, self.sharpness, self.logistic, self.by_exit)

    @property
    def place(self) -> Any:
        """An array of the library and on the device of the parameters."""
        return self.penalty.unit_costs

    @property
    def n_scores(self) -> int:
        """The number of scores of a node, m."""
        return int(self.loss_totals[1].shape[0])

    @property
    def n_columns(self) -> int:
        """The number of columns, d."""
        return int(self.penalty.requirement.shape[0])

    def traverse(self, parameters: Parameters, scores: Any = None) -> Traversal:
        """Send all rows softly down the tree; their `scores`, if they are known, must be in this process."""
        if scores is None:
            soft = self.rows.map(traversed, self.tree, parameters)
        else:
            soft = Here(self.tree.descend(self.rows.block, parameters, scores))
        return Traversal(soft, *self._sum(soft, masses_at))

    def masses(self, parameters: Parameters) -> Masses:
        """Return the masses of nodes and terminal elements."""
        return Masses(*self._sum(self.rows, masses_of, self.tree, parameters))

    def value(self, parameters: Parameters) -> float:
        """Return the objective."""
        loss, mass, exit_mass = self._sum(self.rows, loss_of, self.tree, parameters, *self.penalty.no_prices)
        penalties = self._penalties(parameters, Masses(mass, exit_mass), self.auxiliaries(parameters, mass), None)
        return number(penalties.added_to(loss))

    def loss(self, parameters: Parameters) -> Any:
        """Return the expected loss."""
        return self._sum(self.rows, loss_of, self.tree, parameters, *self.penalty.no_prices)[0]

    # Backward: derivatives

    def evaluate(self, parameters: Parameters, auxiliaries: Auxiliaries | None = None) -> Evaluation:
        """Return value and gradient of the objective or, for fixed `auxiliaries`, of its upper bound (Lemma 1).

        The derivatives by the scores depend on prices. If these are known before the masses are, one pass over the
        rows is enough; otherwise the second pass continues with what the first one has left beside the rows.
        """
        xp, squares, tree = namespace_of(parameters.weights), parameters.squares(), self.tree
        prices = None
        if auxiliaries is not None:
            prices = self.penalty.prices(squares, None, auxiliaries.unit_norms)
        if auxiliaries is not None and prices is not None:
            weighted = self._weighted(prices)
            mass, exit_mass, *sums = self._sum(self.rows, passed, tree, parameters, *weighted)
        else:
            soft, mass, exit_mass = self.traverse(parameters)
            auxiliaries = auxiliaries or self.auxiliaries(parameters, mass)
            prices = self.penalty.prices(squares, mass, auxiliaries.unit_norms)
            weighted = self._weighted(prices)
            sums = self._sum(self.rows.beside(soft), slopes_of, tree, parameters, *weighted)
        loss, by_weights, by_intercepts, by_threshold = sums
        penalties = self._penalties(parameters, Masses(mass, exit_mass), auxiliaries, prices)
        by_weights = xp.reshape(by_weights, parameters.weights.shape)
        return Evaluation(
            value=penalties.added_to(loss),
            weights=by_weights + penalties.curvature[:, None, :] * parameters.weights,
            intercepts=xp.reshape(by_intercepts, parameters.intercepts.shape),
            thresholds=by_threshold,
            mass=mass,
            exit_mass=exit_mass,
        )

    def score_gradient(
        self, parameters: Parameters, soft: Traversal, auxiliaries: Auxiliaries | None = None
    ) -> ScoreGradient:
        """Return the value and all parts of the gradient that need no product with X, of rows in this process."""
        auxiliaries = auxiliaries or self.auxiliaries(parameters, soft.mass)
        prices = self.penalty.prices(parameters.squares(), soft.mass, auxiliaries.unit_norms)
        penalties = self._penalties(parameters, soft, auxiliaries, prices)
        loss, by_score, by_threshold = self.tree.ascend(
            self.rows.block, soft.rows.block, parameters, *self._weighted(prices)
        )
        return ScoreGradient(penalties.added_to(loss), by_score, by_threshold, penalties.curvature)

    def _weighted(self, prices: Any) -> tuple[Any, Any]:
        """Return the derivatives of the penalty with respect to the masses of nodes and terminal elements."""
        return self.price_weight * prices.node_price, self.price_weight * prices.exit_price

    def _penalties(self, parameters: Parameters, at: Any, auxiliaries: Auxiliaries, prices: Any) -> "_Penalties":
        """Return the upper bounds of the penalties for fixed `auxiliaries`, given the masses and, if known, prices."""
        xp, squares = namespace_of(parameters.weights), parameters.squares()
        prices = prices or self.penalty.prices(squares, at.mass, auxiliaries.unit_norms)
        bound = self.penalty.bound(squares, at.mass, at.exit_mass, prices)
        norms = auxiliaries.weight_norms
        l1_curvature = quotients(self.l1_weight, norms)
        return _Penalties(
            l1=0.5 * (xp.sum(l1_curvature * squares) + self.l1_weight * xp.sum(norms)),
            cost=self.price_weight * bound.value,
            curvature=self.price_weight * bound.curvature + l1_curvature,
        )

    # The penalties

    def auxiliaries(self, parameters: Parameters, mass: Any, smallest: float = 0.0) -> Auxiliaries:
        """Return the auxiliary variables at which the bound is exact, but at least `smallest`."""
        xp, squares = namespace_of(parameters.weights), parameters.squares()
        unit_norms = self.penalty.norms(squares, mass)
        return Auxiliaries(xp.clip(unit_norms, smallest, None), xp.clip(xp.sqrt(squares), smallest, None))

    def curvature(self, squares: Any, at: Masses | Traversal) -> Any:
        """Return the curvature (K, d) of the penalties' bound that is exact at weights with these squares."""
        xp = namespace_of(squares)
        of_l1 = self.l1_weight / xp.clip(xp.sqrt(squares), SMALLEST, None)
        if not self.price_weight:
            return of_l1
        unit_norms = xp.clip(self.penalty.norms(squares, at.mass), SMALLEST, None)
        bound = self.penalty.bound(squares, at.mass, at.exit_mass, self.penalty.prices(squares, at.mass, unit_norms))
        return self.price_weight * bound.curvature + of_l1

    def slope_at_zero(self, parameters: Parameters, evaluation: Evaluation) -> Any:
        """Return the derivative (K, d) of the penalties with respect to the norm of each weight that is zero.

        A weight stays zero as long as the slope of the loss is not steeper.
        """
        cost_slope = self.penalty.slope_at_zero(parameters.squares(), evaluation.mass, evaluation.exit_mass)
        return self.l1_weight + self.price_weight * cost_slope

    @cached_property
    def price_weight(self) -> float:
        """Cost weight of unit costs that are divided by the largest one; rounded as those are."""
        weight = min(self.cost_weight * self.penalty.largest_unit_cost, LARGEST_PRICE_WEIGHT)
        return float(f"{weight:.{DIGITS}g}")

    def largest_cost_weight(self) -> float:
        """Return the smallest cost weight at which zero is a minimum over the weights of all columns with a price.

        It is exact for a single node with squared loss. In a tree, a column may get the same weight w at all D nodes of
        a path. The loss then falls D times as fast as at a single node, but its price is paid once, by the norm
        sqrt(D) * w; so the cost weight must be sqrt(D) times as large.
        """
        xp, (total, targets) = namespace_of(self.place), self.loss_totals
        slopes = self._sum(self.rows, slopes_at_zero, targets / total)
        norms = 2.0 * to_host(xp.sqrt(xp.sum(slopes * slopes, axis=0)))
        gain = self.penalty.on_host().largest_gain_per_cost(norms) * np.sqrt(self.penalty.n_sharing(self.by_exit))
        return gain / (self.penalty.largest_unit_cost or 1.0)

    # Scales of the loss

    @cached_property
    def loss_totals(self) -> tuple[Any, Any]:
        """The sum of the loss weights of all rows, and the weighted sums (m,) of their targets."""
        return self._sum(self.rows, loss_totals)

    @cached_property
    def loss_curvature(self) -> float:
        """Upper bound of the second derivative of the loss with respect to a weight of a node that all rows reach."""
        return (0.25 if self.logistic else 2.0) * number(self.loss_totals[0])

    @cached_property
    def slope_scale(self) -> float:
        """Slope of the loss at zero weights with respect to the weight of a column that equals the target."""
        squares = number(self._sum(self.rows, target_squares)) * number(self.loss_totals[0])
        return max((0.5 if self.logistic else 2.0) * squares**0.5, TINY)

    def _sum(self, rows: Home[Any], work: Work, *arguments: Any) -> Any:
        """Return the sum over the blocks of some rows."""
        sums = rows.sum(work, *arguments)
        return on_grid(sums) if self.rounded else sums

    # Related objectives

    def with_topology(self, topology: Topology) -> "Objective":
        """Return the objective of another tree."""
        return replace(self, topology=topology, penalty=self.penalty.with_topology(topology))

    def sample(self, size: int) -> "Objective":
        """Return the objective of at most `size` rows, evenly spaced in the canonical order, in this process."""
        rows = drawn(self.rows, size)
        return self if rows is self.rows else replace(self, rows=rows)
