"""Soft traversal of a tree: the probability that each row reaches each node (eq. 4), and derivatives of what follows.

A row at node k goes to the upper side with probability

    sigma = 1 / (1 + exp(-sharpness * (directions[k] @ scores - thresholds[k])))

and reaches a node with the product of the probabilities along the path. `kernels.soft_tree` computes all of this in
one pass over the scores, and `kernels.soft_tree_arrays` computes it on a device.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import is_device_array, namespace_of
from thrifty.kernels.soft_tree import ascend_rows, descend_rows
from thrifty.kernels.soft_tree_arrays import ascend, descend
from thrifty.kernels.threads import over_rows
from thrifty.models.expected_cost.products import scores_of
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Home


class SoftRows(NamedTuple):
    """Scores of a block of n rows at K nodes, and the probabilities that follow from them.

    Attributes
    ----------
    scores : array of shape (n, K * m)
        The m scores of each node.
    sigma : array of shape (n, K)
        Probability that a row at a node goes to the upper side; undefined at leaves.
    reach : array of shape (n, K)
        Probability that a row reaches a node.
    mass : array of shape (K,)
        Weighted sum of `reach` over the rows.
    exit_mass : array of shape (K, 2)
        Weighted sum of the probability to leave at each terminal element, on the upper and the lower side.
    """

    scores: Any
    sigma: Any
    reach: Any
    mass: Any
    exit_mass: Any


class Traversal(NamedTuple):
    """All rows, sent softly down a tree.

    Attributes
    ----------
    rows : Home of SoftRows
        Beside the rows of the objective.
    mass : array of shape (K,)
        Weighted mean over all rows of the probability to reach each node.
    exit_mass : array of shape (K, 2)
        The same of the probability to leave at each terminal element.
    """

    rows: Home[SoftRows]
    mass: Any
    exit_mass: Any

    @property
    def scores(self) -> Any:
        """Scores (n, K * m) of the rows, which must be in this process."""
        return self.rows.block.scores

    @property
    def reach(self) -> Any:
        """Probabilities (n, K) of the rows, which must be in this process, to reach each node."""
        return self.rows.block.reach


def scores_at_nodes(X: Any, parameters: Parameters) -> Any:
    """Return the scores of rows at all nodes: (n, K * m)."""
    K, m, d = parameters.weights.shape
    xp = namespace_of(parameters.weights)
    scores = scores_of(X, xp.reshape(parameters.weights, (K * m, d)))
    scores += xp.reshape(parameters.intercepts, (-1,))
    return scores


@dataclass(frozen=True, eq=False)
class SoftTree:
    """What happens to a block of rows in training: they are sent down, and derivatives come up.

    Attributes
    ----------
    topology : Topology
    sharpness : float
    logistic : bool
    by_exit : bool
        All as in `Objective`.
    """

    topology: Topology
    sharpness: float
    logistic: bool
    by_exit: bool

    def descend(self, rows: Any, parameters: Parameters, scores: Any = None) -> SoftRows:
        """Send rows softly down the tree; `scores` are computed if they are not given."""
        scores = scores_at_nodes(rows.X, parameters) if scores is None else scores
        weight, topology, sharpness = rows.weight, self.topology, self.sharpness
        if is_device_array(scores):
            xp, tree = namespace_of(scores), topology.by_level(scores)
            found = descend(xp, tree, scores, weight, parameters.directions, parameters.thresholds, sharpness)
            return SoftRows(scores, *found)
        n_nodes = topology.n_nodes
        sigma, reach = np.empty((len(scores), n_nodes)), np.empty((len(scores), n_nodes))

        def descend_block(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
            mass, exit_mass = np.zeros(n_nodes), np.zeros((n_nodes, 2))
            descend_rows(
                scores, weight, topology.upper, topology.lower, parameters.directions, parameters.thresholds, sharpness,
                first, last, sigma, reach, mass, exit_mass,
            )  # fmt: skip
            return mass, exit_mass

        masses, exit_masses = zip(*over_rows(descend_block, len(scores)), strict=True)
        return SoftRows(scores, sigma, reach, sum(masses), sum(exit_masses))

    def ascend(
        self, rows: Any, soft: SoftRows, parameters: Parameters, node_price: Any, exit_price: Any
    ) -> tuple[Any, Any, Any]:
        """Return the expected loss, and the derivatives of the objective with respect to scores and thresholds.

        `node_price` (K,) and `exit_price` (K, 2) are the derivatives of the penalty with respect to the masses.
        """
        topology = self.topology
        if is_device_array(soft.scores):
            return ascend(
                namespace_of(soft.scores), topology.by_level(soft.scores), soft.scores, rows.targets, rows.weight,
                rows.loss_weight, parameters.directions, self.sharpness, soft.sigma, soft.reach, node_price, exit_price,
                self.logistic, self.by_exit,
            )  # fmt: skip
        by_score = np.empty_like(soft.scores)

        def ascend_block(first: int, last: int) -> tuple[float, np.ndarray]:
            by_threshold = np.zeros(topology.n_nodes)
            loss = ascend_rows(
                soft.scores, rows.targets, rows.weight, rows.loss_weight, topology.upper, topology.lower,
                parameters.directions, self.sharpness, soft.sigma, soft.reach, node_price, exit_price,
                self.logistic, self.by_exit, first, last, by_score, by_threshold,
            )  # fmt: skip
            return loss, by_threshold

        losses, by_thresholds = zip(*over_rows(ascend_block, len(soft.scores)), strict=True)
        return sum(losses), by_score, sum(by_thresholds)
