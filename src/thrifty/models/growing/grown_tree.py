"""A tree during and after its growth: its splits, the steps of its leaves, and the rows that ended in them."""

from dataclasses import dataclass, field

import numpy as np

from thrifty.kernels.histograms import add_at
from thrifty.models.forests.forest import LEAF, Tree


@dataclass(eq=False)
class TreeNodes:
    """The nodes of a growing tree, as lists; see `Tree`."""

    feature: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    categories: dict[int, list[int]] = field(default_factory=dict)

    def add_leaf(self) -> int:
        """Add a leaf and return its position."""
        self.feature.append(LEAF)
        self.threshold.append(0.0)
        self.left.append(0)
        self.right.append(0)
        self.missing_left.append(True)
        return len(self.feature) - 1

    def as_tree(self, value: np.ndarray) -> Tree:
        """Return the tree, given the values (n_nodes, n_values) of its leaves."""
        feature, threshold, left, right = map(np.array, (self.feature, self.threshold, self.left, self.right))
        return Tree(feature, threshold, left, right, value, np.array(self.missing_left), self.categories)


class GrownTree:
    """A tree that was grown on training rows.

    Parameters
    ----------
    nodes : TreeNodes
    steps : ndarray of shape (n_nodes,)
        The step of each leaf: how much it would change the score of a row at a learning rate of 1.
    rows : dict
        ``{leaf: arrays}``: the rows that ended in each leaf.
    saved : float
        The sum of the net gains of all splits, in loss per row.
    """

    def __init__(
        self, nodes: TreeNodes, steps: np.ndarray, rows: dict[int, tuple[np.ndarray, np.ndarray]], saved: float
    ):
        self._nodes, self._steps, self._rows, self.saved = nodes, steps, rows, saved

    @property
    def n_splits(self) -> int:
        """The number of nodes that are not leaves."""
        return len(self._steps) // 2

    @property
    def features(self) -> set[int]:
        """The features that the tree splits on."""
        return set(self._nodes.feature) - {LEAF}

    @property
    def split_features(self) -> list[int]:
        """The features that the tree splits on, in the order in which its nodes were split first."""
        return [feature for feature in dict.fromkeys(self._nodes.feature) if feature != LEAF]

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self._steps)

    @property
    def rows(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """The rows that ended in each leaf: those that the tree was grown on, and the others."""
        return self._rows

    def with_values(self, values: np.ndarray) -> Tree:
        """Return the tree with other values (n_nodes, n_values)."""
        return self._nodes.as_tree(values)

    def add_to(self, scores: np.ndarray, learning_rate: float) -> None:
        """Add the steps of the leaves, times the learning rate, to the scores (n,) of the rows."""
        for leaf, groups in self._rows.items():
            for rows in groups:
                add_at(rows, learning_rate * self._steps[leaf], scores)

    def as_tree(self, learning_rate: float) -> Tree:
        """Return the tree without its rows; the values of leaves are their steps times the learning rate."""
        return self._nodes.as_tree(learning_rate * self._steps[:, None])
