"""The parameters that are learned: weights, intercepts and thresholds of all nodes of a tree."""

from dataclasses import dataclass, replace

import numpy as np

FIELDS = ("weights", "intercepts", "thresholds", "directions")


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of K nodes with m scores each, for d columns.

    A row goes to the upper side of node k if ``directions[k] @ scores > thresholds[k]``.

    Attributes
    ----------
    weights : ndarray of shape (K, m, d)
    intercepts : ndarray of shape (K, m)
    thresholds : ndarray of shape (K,)
    directions : ndarray of shape (K, m)
        Unit vectors. With one score, 1 sends high scores up and -1 sends low scores up. Solvers do not change them.
    """

    weights: np.ndarray
    intercepts: np.ndarray
    thresholds: np.ndarray
    directions: np.ndarray

    def take(self, nodes: np.ndarray) -> "Parameters":
        """Return copies of the parameters of some nodes."""
        return Parameters(self.weights[nodes], self.intercepts[nodes], self.thresholds[nodes], self.directions[nodes])

    def with_nodes(self, nodes: np.ndarray, new: "Parameters") -> "Parameters":
        """Return a copy in which some nodes have new parameters."""
        changed = replace(self, **{name: getattr(self, name).copy() for name in FIELDS})
        for name in FIELDS:
            getattr(changed, name)[nodes] = getattr(new, name)
        return changed

    def squares(self) -> np.ndarray:
        """Return the squared norm of the m weights of each node and column: (K, d)."""
        return np.einsum("kmd,kmd->kd", self.weights, self.weights)
