"""The shape of a tree of classifiers: which node follows which, and where rows leave it.

A side of a node without a child ends in a terminal element, where rows leave with the node's answer; a leaf has a
single one. A cascade is a tree in which every stage but the last has one child, above, and one terminal element,
below.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thrifty.models.linear_nodes.tree import END, ancestry

UPPER, LOWER = 0, 1


@dataclass(frozen=True, eq=False)
class Topology:
    """Children of each node, -1 where a side ends in a terminal element; parents come before their children."""

    upper: np.ndarray
    lower: np.ndarray

    @classmethod
    def of(cls, upper: Sequence[int], lower: Sequence[int]) -> "Topology":
        """Return the tree with these children."""
        return cls(np.array(upper, dtype=np.int64), np.array(lower, dtype=np.int64))

    @classmethod
    def full(cls, depth: int) -> "Topology":
        """Return the full binary tree with this many levels, numbered level by level."""
        n_nodes = 2**depth - 1
        first = 2 * np.arange(n_nodes) + 1
        inner = first < n_nodes
        return cls(np.where(inner, first, END), np.where(inner, first + 1, END))

    @classmethod
    def cascade(cls, n_stages: int) -> "Topology":
        """Return a chain of stages: above the threshold a row goes on, below it leaves."""
        return cls(np.append(np.arange(1, n_stages), END), np.full(n_stages, END))

    @property
    def n_nodes(self) -> int:
        """Return the number of classifiers."""
        return len(self.upper)

    @property
    def parent(self) -> np.ndarray:
        """The node before each node, -1 before the root."""
        return self._ancestry[0]

    @property
    def depth(self) -> np.ndarray:
        """Levels below the root."""
        return self._ancestry[1]

    @cached_property
    def _ancestry(self) -> tuple[np.ndarray, np.ndarray]:
        return ancestry(self.upper, self.lower)

    @cached_property
    def inner(self) -> np.ndarray:
        """Mark the nodes that route, those with a child."""
        return (self.upper != END) | (self.lower != END)

    @cached_property
    def lineage(self) -> np.ndarray:
        """Mark, in row k, the nodes on the way from the root to node k, itself included: (K, K) bool."""
        lines = np.eye(self.n_nodes, dtype=bool)
        for k in range(1, self.n_nodes):
            lines[k] |= lines[self.parent[k]]
        return lines

    @cached_property
    def ends(self) -> np.ndarray:
        """Mark the sides on which rows leave: (K, 2) bool, above and below; a leaf's only exit counts as above."""
        ends = np.column_stack([self.upper == END, self.lower == END])
        ends[~self.inner, LOWER] = False
        return ends

    def keep(self, kept: np.ndarray) -> "Topology":
        """Return the tree of some nodes, closed under parents; sides that lead to others end."""
        place = np.append(np.where(kept, np.cumsum(kept) - 1, END), END)
        return Topology(place[self.upper[kept]], place[self.lower[kept]])
