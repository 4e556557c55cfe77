"""The objective: expected loss plus relaxed expected cost of a softly traversed tree (eq. 12, 19 and 22).

    sum over rows i and nodes k of  loss_weight[i] * p[i, k] * loss(scores[i, k], targets[i])
    + l1_weight * sum of |weights|  +  cost_weight * penalty

p[i, k] is the probability that row i reaches node k or, if `by_exit`, that it leaves there. With m scores, |weights|
is the norm of the m weights of a node for a column.

The scores of all nodes are one product X @ W', the gradient is one product R' @ X. So an evaluation takes two matrix
products, for any number of nodes, and one pass over the scores between them (`kernels.soft_tree`).

The rows may be on a device. Computations follow them: parameters and everything else that an objective takes and
returns are then arrays on that device too (`kernels.soft_tree_arrays`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import TINY, is_device_array, like, namespace_of, number, to_host
from thrifty.kernels.soft_tree import ascend_rows
from thrifty.kernels.soft_tree_arrays import ascend
from thrifty.kernels.threads import over_rows
from thrifty.models.expected_cost.penalties import DIGITS, SMALLEST, Penalty, quotients
from thrifty.models.expected_cost.products import column_slopes, scores_of
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.traversal import Traversal, traverse
from thrifty.models.expected_cost.tree_parameters import Parameters

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


@dataclass(frozen=True, eq=False)
class Objective:
    """The function of the parameters that a tree is fitted to minimise.

    Attributes
    ----------
    X : array of shape (n, d)
        Columns with mean 0 and unit variance.
    targets : array of shape (n, m)
    weight : array of shape (n,)
        Share of each row in the expected cost; sums to 1.
    loss_weight : array of shape (n,)
        Weight of each row in the loss: `weight` times the weight of its class.
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
    """

    X: Any
    targets: Any
    weight: Any
    loss_weight: Any
    topology: Topology
    penalty: Penalty
    cost_weight: float
    l1_weight: float
    sharpness: float
    logistic: bool
    by_exit: bool = False
    upper_sign: float = 1.0
    keep_ratio: float = 0.5

    # Forward: scores, traversal, value

    def scores(self, parameters: Parameters) -> Any:
        """Return the scores of all nodes: (n, K * m)."""
        K, m, d = parameters.weights.shape
        xp = namespace_of(parameters.weights)
        scores = scores_of(self.X, xp.reshape(parameters.weights, (K * m, d)))
        scores += xp.reshape(parameters.intercepts, (-1,))
        return scores

    def traverse(self, parameters: Parameters, scores: Any = None) -> Traversal:
        """Send all rows softly down the tree."""
        scores = self.scores(parameters) if scores is None else scores
        return traverse(self.topology, parameters, scores, self.weight, self.sharpness)

    def value(self, parameters: Parameters) -> float:
        """Return the objective."""
        return number(self.score_gradient(parameters, self.traverse(parameters)).value)

    # Backward: derivatives

    def evaluate(self, parameters: Parameters, auxiliaries: Auxiliaries | None = None) -> Evaluation:
        """Return value and gradient of the objective or, for fixed `auxiliaries`, of its upper bound (Lemma 1)."""
        xp, soft = namespace_of(parameters.weights), self.traverse(parameters)
        value, by_score, by_threshold, curvature = self.score_gradient(parameters, soft, auxiliaries)
        by_weights = xp.reshape(column_slopes(by_score, self.X), parameters.weights.shape)
        return Evaluation(
            value=value,
            weights=by_weights + curvature[:, None, :] * parameters.weights,
            intercepts=xp.reshape(xp.sum(by_score, axis=0), parameters.intercepts.shape),
            thresholds=by_threshold,
            mass=soft.mass,
            exit_mass=soft.exit_mass,
        )

    def score_gradient(
        self, parameters: Parameters, soft: Traversal, auxiliaries: Auxiliaries | None = None
    ) -> ScoreGradient:
        """Return the value and all parts of the gradient that do not need a product with X."""
        xp, squares = namespace_of(parameters.weights), parameters.squares()
        auxiliaries = auxiliaries or self.auxiliaries(parameters, soft.mass)
        bound = self.penalty.bound(squares, soft.mass, soft.exit_mass, auxiliaries.unit_norms)
        norms = auxiliaries.weight_norms
        l1_curvature = quotients(self.l1_weight, norms)
        loss, by_score, by_threshold = self.backward(
            parameters, soft, self.price_weight * bound.node_price, self.price_weight * bound.exit_price
        )
        l1 = 0.5 * (xp.sum(l1_curvature * squares) + self.l1_weight * xp.sum(norms))
        value = loss + l1 + self.price_weight * bound.value
        return ScoreGradient(value, by_score, by_threshold, self.price_weight * bound.curvature + l1_curvature)

    def backward(
        self, parameters: Parameters, soft: Traversal, node_price: Any, exit_price: Any
    ) -> tuple[Any, Any, Any]:
        """Return the expected loss, and the derivatives of the objective with respect to scores and thresholds.

        `node_price` (K,) and `exit_price` (K, 2) are the derivatives of the penalty with respect to the masses.
        """
        if is_device_array(soft.scores):
            return ascend(
                namespace_of(soft.scores), self.topology.by_level(soft.scores), soft.scores, self.targets, self.weight,
                self.loss_weight, parameters.directions, self.sharpness, soft.sigma, soft.reach, node_price, exit_price,
                self.logistic, self.by_exit,
            )  # fmt: skip
        topology = self.topology
        by_score = np.empty_like(soft.scores)

        def ascend_block(first: int, last: int) -> tuple[float, np.ndarray]:
            by_threshold = np.zeros(topology.n_nodes)
            loss = ascend_rows(
                soft.scores, self.targets, self.weight, self.loss_weight, topology.upper, topology.lower,
                parameters.directions, self.sharpness, soft.sigma, soft.reach, node_price, exit_price,
                self.logistic, self.by_exit, first, last, by_score, by_threshold,
            )  # fmt: skip
            return loss, by_threshold

        losses, by_thresholds = zip(*over_rows(ascend_block, len(soft.scores)), strict=True)
        return sum(losses), by_score, sum(by_thresholds)

    # The penalties

    def auxiliaries(self, parameters: Parameters, mass: Any, smallest: float = 0.0) -> Auxiliaries:
        """Return the auxiliary variables at which the bound is exact, but at least `smallest`."""
        xp, squares = namespace_of(parameters.weights), parameters.squares()
        unit_norms = self.penalty.norms(squares, mass)
        return Auxiliaries(xp.clip(unit_norms, smallest, None), xp.clip(xp.sqrt(squares), smallest, None))

    def curvature(self, squares: Any, soft: Traversal) -> Any:
        """Return the curvature (K, d) of the penalties' bound that is exact at weights with these squares."""
        xp = namespace_of(squares)
        unit_norms = xp.clip(self.penalty.norms(squares, soft.mass), SMALLEST, None)
        bound = self.penalty.bound(squares, soft.mass, soft.exit_mass, unit_norms)
        return self.price_weight * bound.curvature + self.l1_weight / xp.clip(xp.sqrt(squares), SMALLEST, None)

    def slope_at_zero(self, parameters: Parameters, evaluation: Evaluation) -> Any:
        """Return the derivative (K, d) of the penalties with respect to the norm of each weight that is zero.

        A weight stays zero as long as the slope of the loss is not steeper.
        """
        cost_slope = self.penalty.slope_at_zero(parameters.squares(), evaluation.mass, evaluation.exit_mass)
        return self.l1_weight + self.price_weight * cost_slope

    @property
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
        xp, total = namespace_of(self.X), namespace_of(self.X).sum(self.loss_weight)
        centred = self.targets - self.loss_weight @ self.targets / total
        slopes = column_slopes(self.loss_weight[:, None] * centred, self.X)
        norms = 2.0 * to_host(xp.sqrt(xp.sum(slopes * slopes, axis=0)))
        gain = self.penalty.on_host().largest_gain_per_cost(norms) * np.sqrt(self.penalty.n_sharing(self.by_exit))
        return gain / (self.penalty.largest_unit_cost or 1.0)

    # Scales of the loss

    @cached_property
    def loss_curvature(self) -> float:
        """Upper bound of the second derivative of the loss with respect to a weight of a node that all rows reach."""
        return (0.25 if self.logistic else 2.0) * number(namespace_of(self.X).sum(self.loss_weight))

    @cached_property
    def slope_scale(self) -> float:
        """Slope of the loss at zero weights with respect to the weight of a column that equals the target."""
        xp = namespace_of(self.X)
        squares = number(self.loss_weight @ xp.sum(self.targets**2, axis=1)) * number(xp.sum(self.loss_weight))
        return max((0.5 if self.logistic else 2.0) * squares**0.5, TINY)

    # Related objectives

    def with_topology(self, topology: Topology) -> "Objective":
        """Return the objective of another tree."""
        return replace(self, topology=topology, penalty=self.penalty.with_topology(topology))

    def sample(self, size: int) -> "Objective":
        """Return the objective of at most `size` rows, evenly spaced."""
        n_rows = self.X.shape[0]
        if n_rows <= size:
            return self
        sample = self.of_rows(np.linspace(0, n_rows - 1, size).astype(int))
        total = namespace_of(self.X).sum(sample.weight)
        return replace(sample, weight=sample.weight / total, loss_weight=sample.loss_weight / total)

    def of_rows(self, rows: Any) -> "Objective":
        """Return the objective of the rows at some positions."""
        xp, index = namespace_of(self.X), like(rows, self.X)
        names = ("X", "targets", "weight", "loss_weight")
        return replace(self, **{name: xp.take(getattr(self, name), index, axis=0) for name in names})
