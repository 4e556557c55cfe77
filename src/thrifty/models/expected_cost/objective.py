"""Expected loss plus expected cost of a tree of classifiers, softly traversed (eq. 12, 19 and 22).

    sum over rows and nodes of  probability * loss   +   l1_weight * |weights|   +   cost_weight * penalty

Scores of all nodes are one product X @ W', derivatives one product R' @ X, so that an evaluation costs two matrix
products however many nodes there are; what lies between them is one pass over the scores (`kernels.soft_tree`).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thrifty.kernels.soft_tree import ascend_rows, descend_rows
from thrifty.kernels.threads import over_rows
from thrifty.models.expected_cost.penalties import DIGITS, SMALLEST, Penalty
from thrifty.models.expected_cost.topology import Topology

FIELDS = ("weights", "intercepts", "thresholds", "directions")


@dataclass(frozen=True, eq=False)
class Parameters:
    """What a tree of classifiers has to learn; K nodes, m scores, d features.

    A row goes above node k where directions[k] @ scores exceeds thresholds[k]; with one score, its direction is 1.
    """

    weights: np.ndarray  # (K, m, d)
    intercepts: np.ndarray  # (K, m)
    thresholds: np.ndarray  # (K,)
    directions: np.ndarray  # (K, m)

    def of(self, nodes: np.ndarray) -> "Parameters":
        """Return copies of the parameters of some nodes."""
        return Parameters(self.weights[nodes], self.intercepts[nodes], self.thresholds[nodes], self.directions[nodes])

    def with_nodes(self, nodes: np.ndarray, theirs: "Parameters") -> "Parameters":
        """Return these parameters with those of some nodes replaced."""
        changed = replace(self, **{name: getattr(self, name).copy() for name in FIELDS})
        for name in FIELDS:
            getattr(changed, name)[nodes] = getattr(theirs, name)
        return changed

    def squares(self) -> np.ndarray:
        """Squared weights, summed over the scores: (K, d)."""
        return np.einsum("kmd,kmd->kd", self.weights, self.weights)


class Auxiliaries(NamedTuple):
    """Where the roots of the objective are held (Lemma 1): those of the cost penalty and those of the l1 norm."""

    roots: np.ndarray
    magnitudes: np.ndarray  # (K, d)


class Evaluation(NamedTuple):
    """Value and gradient of the objective, and the shares of rows at each node and exit."""

    value: float
    weights: np.ndarray
    intercepts: np.ndarray
    thresholds: np.ndarray
    mass: np.ndarray
    exit_mass: np.ndarray


class Appraisal(NamedTuple):
    """The objective's value and its derivatives by scores and thresholds; of the penalties, the curvature."""

    value: float
    residual: np.ndarray  # (n, K * m)
    by_threshold: np.ndarray  # (K,)
    curvature: np.ndarray  # (K, d)


@dataclass(frozen=True, eq=False)
class Objective:
    """The problem that a tree of classifiers is fitted to."""

    X: np.ndarray  # (n, d), columns of unit variance about 0
    targets: np.ndarray  # (n, m)
    weight: np.ndarray  # (n,) share of each row in what is expected to be paid; sums to one
    loss_weight: np.ndarray  # (n,) the same times its class weight
    topology: Topology
    penalty: Penalty
    cost_weight: float
    l1_weight: float
    sharpness: float
    logistic: bool
    by_exit: bool = False  # a node's loss counts for those who end there, not for all who come by
    facing: float = 1.0  # 1 or -1: which end of a single score is above the threshold

    def scores(self, parameters: Parameters) -> np.ndarray:
        """Return the scores of all nodes: (n, K * m)."""
        K, m, d = parameters.weights.shape
        weights = parameters.weights.reshape(K * m, d).astype(self.X.dtype, copy=False)
        scores = product(self.X, weights.T).astype(float, copy=False)
        scores += parameters.intercepts.ravel()
        return scores

    def traverse(self, parameters: Parameters, scores: np.ndarray | None = None) -> "Traversal":
        """Send all rows softly down the tree."""
        return Traversal.of(self, parameters, self.scores(parameters) if scores is None else scores)

    def auxiliaries(self, parameters: Parameters, mass: np.ndarray, least: float = 0.0) -> Auxiliaries:
        """Return where the objective's roots are at these parameters, no less than `least`."""
        squares = parameters.squares()
        roots = self.penalty.roots(squares, mass)
        return Auxiliaries(np.maximum(roots, least), np.maximum(np.sqrt(squares), least))

    def value(self, parameters: Parameters) -> float:
        """Return the objective itself."""
        return self.appraise(parameters, self.traverse(parameters)).value

    def evaluate(self, parameters: Parameters, held_at: Auxiliaries | None = None) -> Evaluation:
        """Return value and gradient of the bound that touches the objective at `held_at`, or of the objective."""
        soft = self.traverse(parameters)
        value, residual, by_threshold, curvature = self.appraise(parameters, soft, held_at)
        by_weights = product(residual.T.astype(self.X.dtype, copy=False), self.X).reshape(parameters.weights.shape)
        return Evaluation(
            value=value,
            weights=by_weights + curvature[:, None, :] * parameters.weights,
            intercepts=residual.sum(axis=0).reshape(parameters.intercepts.shape),
            thresholds=by_threshold,
            mass=soft.mass,
            exit_mass=soft.exit_mass,
        )

    def appraise(self, parameters: Parameters, soft: "Traversal", held_at: Auxiliaries | None = None) -> Appraisal:
        """Return the value and what a gradient is made of, short of the product with X."""
        squares = parameters.squares()
        held_at = held_at or self.auxiliaries(parameters, soft.mass)
        bound = self.penalty.bound(squares, soft.mass, soft.exit_mass, held_at.roots)
        magnitudes = held_at.magnitudes
        shrink = np.divide(self.l1_weight, magnitudes, out=np.zeros_like(magnitudes), where=magnitudes > 0)
        loss, residual, by_threshold = soft.pull_back(
            self.price_weight * bound.node_price, self.price_weight * bound.exit_price
        )
        l1 = 0.5 * (np.sum(shrink * squares) + self.l1_weight * magnitudes.sum())
        value = loss + l1 + self.price_weight * bound.value
        return Appraisal(value, residual, by_threshold, self.price_weight * bound.curvature + shrink)

    def curvature(self, squares: np.ndarray, soft: "Traversal") -> np.ndarray:
        """Return the curvature of the penalties by each weight (K, d), held where they touch at these squares."""
        roots = np.maximum(self.penalty.roots(squares, soft.mass), SMALLEST)
        bound = self.penalty.bound(squares, soft.mass, soft.exit_mass, roots)
        return self.price_weight * bound.curvature + self.l1_weight / np.maximum(np.sqrt(squares), SMALLEST)

    def sample(self, size: int) -> "Objective":
        """Return the objective of at most `size` rows, evenly spread."""
        if len(self.X) <= size:
            return self
        rows = np.linspace(0, len(self.X) - 1, size).astype(int)
        weight, loss_weight = self.weight[rows], self.loss_weight[rows]
        kept = weight.sum()
        return replace(
            self, X=self.X[rows], targets=self.targets[rows], weight=weight / kept, loss_weight=loss_weight / kept
        )

    def along(self, topology: Topology) -> "Objective":
        """Return the objective of another tree."""
        return replace(self, topology=topology, penalty=self.penalty.along(topology))

    def first_price(self, parameters: Parameters, evaluation: Evaluation) -> np.ndarray:
        """Return what the penalties charge for the first bit of each weight that is zero: (K, d)."""
        reluctance = self.penalty.reluctance(parameters.squares(), evaluation.mass, evaluation.exit_mass)
        return self.l1_weight + self.price_weight * reluctance

    @property
    def price_weight(self) -> float:
        """The cost weight of prices relative to the dearest, rounded as those are."""
        return float(f"{self.cost_weight * self.penalty.dearest:.{DIGITS}g}")

    @property
    def loss_curvature(self) -> float:
        """Second derivative of the loss by a weight, at most, where all rows reach a node."""
        return (0.25 if self.logistic else 2.0) * self.loss_weight.sum()

    @property
    def steepest(self) -> float:
        """The slope of the loss by the weight of a column that equals the target, where nothing is known yet."""
        scale = np.sqrt(self.loss_weight @ (self.targets**2).sum(axis=1) * self.loss_weight.sum())
        return max((0.5 if self.logistic else 2.0) * float(scale), np.finfo(float).tiny)

    def largest_cost_weight(self) -> float:
        """Return the cost weight at which a single node would buy nothing that has a price, the loss being squared."""
        centred = self.targets - self.loss_weight @ self.targets / self.loss_weight.sum()
        slopes = 2.0 * np.linalg.norm(self.X.T @ (self.loss_weight[:, None] * centred), axis=1)
        return self.penalty.steepest_per_cost(slopes) / (self.penalty.dearest or 1.0)


class Traversal(NamedTuple):
    """All rows on their soft way down the tree."""

    objective: Objective
    parameters: Parameters
    scores: np.ndarray
    sigma: np.ndarray
    reach: np.ndarray  # (n, K) probability that a row reaches a node
    mass: np.ndarray  # (K,) its mean
    exit_mass: np.ndarray  # (K, 2) share of rows that leave above and below each node

    @classmethod
    def of(cls, objective: Objective, parameters: Parameters, scores: np.ndarray) -> "Traversal":
        """Compute the probabilities."""
        topology, K = objective.topology, objective.topology.n_nodes
        sigma, reach = np.empty((len(scores), K)), np.empty((len(scores), K))

        def descend(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
            mass, exit_mass = np.zeros(K), np.zeros((K, 2))
            descend_rows(
                scores, objective.weight, topology.upper, topology.lower, parameters.directions,
                parameters.thresholds, objective.sharpness, first, last, sigma, reach, mass, exit_mass,
            )  # fmt: skip
            return mass, exit_mass

        masses, exit_masses = zip(*over_rows(descend, len(scores)), strict=True)
        return cls(objective, parameters, scores, sigma, reach, sum(masses), sum(exit_masses))

    def pull_back(self, node_price: np.ndarray, exit_price: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the expected loss and the derivatives of the objective by the scores and the thresholds."""
        objective, topology = self.objective, self.objective.topology
        residual = np.empty_like(self.scores)

        def ascend(first: int, last: int) -> tuple[float, np.ndarray]:
            by_threshold = np.zeros(topology.n_nodes)
            loss = ascend_rows(
                self.scores, objective.targets, objective.weight, objective.loss_weight, topology.upper, topology.lower,
                self.parameters.directions, objective.sharpness, self.sigma, self.reach, node_price, exit_price,
                objective.logistic, objective.by_exit, first, last, residual, by_threshold,
            )  # fmt: skip
            return loss, by_threshold

        losses, by_thresholds = zip(*over_rows(ascend, len(self.scores)), strict=True)
        return sum(losses), residual, sum(by_thresholds)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b, silently: in single precision a BLAS may also compute on what lies beyond small arrays."""
    with np.errstate(invalid="ignore", over="ignore"):
        return a @ b
