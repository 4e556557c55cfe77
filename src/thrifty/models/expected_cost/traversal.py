"""Soft traversal of a tree: the probability that each row reaches each node (eq. 4).

A row at node k goes to the upper side with probability

    sigma = 1 / (1 + exp(-sharpness * (directions[k] @ scores - thresholds[k])))

and reaches a node with the product of the probabilities along the path. `kernels.soft_tree` computes all of this in
one pass over the scores, and `kernels.soft_tree_arrays` computes it on a device.
"""

from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import is_device_array, namespace_of
from thrifty.kernels.soft_tree import descend_rows
from thrifty.kernels.soft_tree_arrays import descend
from thrifty.kernels.threads import over_rows
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters


class Traversal(NamedTuple):
    """Scores of n rows at K nodes, and the probabilities that follow from them.

    Attributes
    ----------
    scores : array of shape (n, K * m)
        The m scores of each node.
    sigma : array of shape (n, K)
        Probability that a row at a node goes to the upper side; undefined at leaves.
    reach : array of shape (n, K)
        Probability that a row reaches a node.
    mass : array of shape (K,)
        Weighted mean of `reach` over the rows.
    exit_mass : array of shape (K, 2)
        Weighted mean of the probability to leave at each terminal element, on the upper and the lower side.
    """

    scores: Any
    sigma: Any
    reach: Any
    mass: Any
    exit_mass: Any


def traverse(topology: Topology, parameters: Parameters, scores: Any, weight: Any, sharpness: float) -> Traversal:
    """Send all rows softly down the tree; `weight` is the share of each row in the masses."""
    if is_device_array(scores):
        xp, tree = namespace_of(scores), topology.by_level(scores)
        found = descend(xp, tree, scores, weight, parameters.directions, parameters.thresholds, sharpness)
        return Traversal(scores, *found)
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
    return Traversal(scores, sigma, reach, sum(masses), sum(exit_masses))
