"""Shape of a tree of classifiers: the children of each node, and the places where rows leave the tree.

A node has an upper and a lower side. A side without a child ends in a terminal element: rows that take this side leave
the tree with the prediction of the node. A leaf has a single terminal element. A cascade is a tree in which every
stage but the last has a child on its upper side and a terminal element on its lower side.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thrifty.arrays import like, namespace_of
from thrifty.kernels.soft_tree_arrays import LevelTree, level_tree
from thrifty.models.linear_nodes.tree import END, ancestry

UPPER, LOWER = 0, 1


@dataclass(frozen=True, eq=False)
class Topology:
    """Children of each of K nodes. A parent has a smaller number than its children.

    Attributes
    ----------
    upper, lower : ndarray of int, shape (K,)
        The child on each side; -1 if the side ends in a terminal element.
    """

    upper: np.ndarray
    lower: np.ndarray

    @classmethod
    def full(cls, depth: int) -> "Topology":
        """Return the full binary tree with `depth` levels, numbered level by level."""
        n_nodes = 2**depth - 1
        first = 2 * np.arange(n_nodes) + 1
        inner = first < n_nodes
        return cls(np.where(inner, first, END), np.where(inner, first + 1, END))

    @classmethod
    def cascade(cls, n_stages: int) -> "Topology":
        """Return a chain of stages: rows above the threshold continue, rows below it leave."""
        return cls(np.append(np.arange(1, n_stages), END), np.full(n_stages, END))

    @property
    def n_nodes(self) -> int:
        """Number of nodes, K."""
        return len(self.upper)

    @property
    def parent(self) -> np.ndarray:
        """Parent of each node, -1 for the root."""
        return self._ancestry[0]

    @property
    def depth(self) -> np.ndarray:
        """Depth of each node, 0 for the root."""
        return self._ancestry[1]

    @cached_property
    def _ancestry(self) -> tuple[np.ndarray, np.ndarray]:
        return ancestry(self.upper, self.lower)

    @cached_property
    def inner(self) -> np.ndarray:
        """Mark the nodes that have a child, and therefore a threshold: (K,) bool."""
        return (self.upper != END) | (self.lower != END)

    @cached_property
    def lineage(self) -> np.ndarray:
        """Mark, in row k, the nodes on the path from the root to node k, both included: (K, K) bool."""
        lines = np.eye(self.n_nodes, dtype=bool)
        for k in range(1, self.n_nodes):
            lines[k] |= lines[self.parent[k]]
        return lines

    @cached_property
    def ends(self) -> np.ndarray:
        """Mark the terminal elements: (K, 2) bool, upper and lower side. That of a leaf counts as upper."""
        ends = np.column_stack([self.upper == END, self.lower == END])
        ends[~self.inner, LOWER] = False
        return ends

    @cached_property
    def _level_trees(self) -> dict[str, LevelTree]:
        return {}

    def by_level(self, model: Any) -> LevelTree:
        """Return the shape for the kernels of a device: that of the array `model`."""
        place = f"{type(model).__module__} {model.device}"
        if place not in self._level_trees:
            self._level_trees[place] = level_tree(self.upper, self.lower, self.depth, lambda each: like(each, model))
        return self._level_trees[place]

    def inner_like(self, model: Any) -> Any:
        """Return `inner` as an array of the library and on the device of `model`, where it stays."""
        if isinstance(model, np.ndarray):
            return self.inner
        tree = self.by_level(model)
        inner = tree.inner[:, 0]
        return inner if tree.number is None else namespace_of(model).take(inner, tree.number)

    def keep(self, kept: np.ndarray) -> "Topology":
        """Return the tree of the nodes marked in `kept`; sides that led to other nodes become terminal elements.

        The parent of a kept node must be kept too.
        """
        new_number = np.append(np.where(kept, np.cumsum(kept) - 1, END), END)
        return Topology(new_number[self.upper[kept]], new_number[self.lower[kept]])
