"""The parameters that are learned: weights, intercepts and thresholds of all nodes of a tree."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thrifty.arrays import like, namespace_of, to_host
from thrifty.models.expected_cost.rounding import on_grid

FIELDS = ("weights", "intercepts", "thresholds", "directions")


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of K nodes with m scores each, for d columns.

    A row goes to the upper side of node k if ``directions[k] @ scores > thresholds[k]``.

    Attributes
    ----------
    weights : array of shape (K, m, d)
        NumPy arrays or arrays on a device, like those of the rows of the objective.
    intercepts : array of shape (K, m)
    thresholds : array of shape (K,)
    directions : array of shape (K, m)
        Unit vectors. With one score, 1 sends high scores up and -1 sends low scores up. Solvers do not change them.
    """

    weights: Any
    intercepts: Any
    thresholds: Any
    directions: Any

    def take(self, nodes: np.ndarray) -> "Parameters":
        """Return copies of the parameters of some nodes, given by their numbers."""
        xp, index = namespace_of(self.weights), like(nodes, self.weights)
        return Parameters(*(xp.take(getattr(self, name), index, axis=0) for name in FIELDS))

    def on_grid(self) -> "Parameters":
        """Return the same parameters, rounded as sums are; see `rounding`."""
        return Parameters(*(on_grid(getattr(self, name)) for name in FIELDS))

    def with_nodes(self, nodes: np.ndarray, new: "Parameters") -> "Parameters":
        """Return a copy in which some nodes, given by their numbers, have new parameters."""
        changed = Parameters(*(1.0 * getattr(self, name) for name in FIELDS))
        for name in FIELDS:
            for i, k in enumerate(nodes.tolist()):
                getattr(changed, name)[k, ...] = getattr(new, name)[i, ...]
        return changed

    def keeping(self, kept: Any) -> "Parameters":
        """Return the parameters with zero weights except where `kept` (K, d) is True."""
        xp = namespace_of(self.weights)
        return replace(self, weights=xp.where(kept[:, None, :], self.weights, xp.zeros_like(self.weights)))

    def squares(self) -> Any:
        """Return the squared norm of the m weights of each node and column: (K, d)."""
        return namespace_of(self.weights).sum(self.weights * self.weights, axis=1)

    def placed(self, model: Any) -> "Parameters":
        """Return the parameters as arrays of the library and on the device of the array `model`."""
        return Parameters(*(like(getattr(self, name), model) for name in FIELDS))

    def on_host(self) -> "Parameters":
        """Return the parameters as NumPy arrays."""
        return Parameters(*(to_host(getattr(self, name)) for name in FIELDS))
