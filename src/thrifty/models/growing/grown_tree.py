"""A tree during and after its growth: its splits, the steps of its leaves, and the rows that ended in them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from thrifty.kernels.tree_rows import Leaves, add_steps, leaf_steps
from thrifty.models.forests.forest import LEAF, Tree
from thrifty.models.homes import Home


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

    def as_tree(self, value: np.ndarray | None) -> Tree:
        """Return the tree, given the values (n_nodes, n_values) of its leaves."""
        feature, threshold, left, right = map(np.array, (self.feature, self.threshold, self.left, self.right))
        return Tree(feature, threshold, left, right, value, np.array(self.missing_left), self.categories)


class Splits(NamedTuple):
    """The splits of a tree.

    Attributes
    ----------
    tree : Tree
        Without values.
    bag_span, rest_span : ndarray of int, shape (n_nodes, 2)
        The rows of each node: it has the rows from the first position to the last, exclusively, of the reordered bag
        and of the reordered rest.
    saved : float
        The sum of the net gains of all splits, in loss per row.
    """

    tree: Tree
    bag_span: np.ndarray
    rest_span: np.ndarray
    saved: float


class Grown:
    """A tree and the steps of its leaves.

    Parameters
    ----------
    tree : Tree
        Without values.
    saved : float
    steps : ndarray of shape (n_nodes,)
        The steps of the leaves.

    Attributes
    ----------
    saved : float
        The sum of the net gains of all splits, in loss per row.
    """

    def __init__(self, tree: Tree, saved: float, steps: np.ndarray):
        self._tree, self.saved, self._steps = tree, saved, steps

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self._tree.feature)

    @property
    def n_splits(self) -> int:
        """The number of nodes that are not leaves."""
        return self.n_nodes // 2

    @property
    def features(self) -> set[int]:
        """The features that the tree splits on."""
        return set(self.split_features)

    @property
    def split_features(self) -> list[int]:
        """The features that the tree splits on, in the order in which its nodes were split first."""
        return [feature for feature in dict.fromkeys(self._tree.feature.tolist()) if feature != LEAF]

    def with_values(self, values: np.ndarray) -> Tree:
        """Return the tree with other values (n_nodes, n_values)."""
        return self._tree._replace(value=values)

    def as_tree(self, learning_rate: float) -> Tree:
        """Return the tree without its rows; the values of leaves are their steps times the learning rate."""
        return self.with_values(learning_rate * self._steps[:, None])


class GrownTree(Grown):
    """A tree that was grown on rows of this process.

    Parameters
    ----------
    splits : Splits
    bag, rest : ndarray of uint32
        The rows that the tree was grown on, and others, in the order of `splits`.
    gradient, hessian : ndarray of shape (n,)
        Derivatives of the loss.
    ridge : float
        Added to the Hessian of every leaf.
    """

    def __init__(
        self,
        splits: Splits,
        bag: np.ndarray,
        rest: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
        ridge: float,
    ):
        self._rows, self._spans = (bag, rest), (splits.bag_span, splits.rest_span)
        steps = np.zeros(1)  # a tree without a split changes nothing
        if len(splits.tree.feature) > 1:
            steps = leaf_steps(splits.tree.feature, splits.bag_span, bag, gradient, hessian, ridge)
        super().__init__(splits.tree, splits.saved, steps)

    @property
    def leaves(self) -> Leaves:
        """The leaves, and the rows that ended in them."""
        nodes = np.flatnonzero(self._tree.feature == LEAF)
        bag_span, rest_span = (span[nodes] for span in self._spans)
        return Leaves(nodes, bag_span, rest_span, *self._rows)

    def add_to(self, scores: np.ndarray, learning_rate: float) -> None:
        """Add the steps of the leaves, times the learning rate, to the scores (n,) of the rows."""
        steps = learning_rate * self._steps
        for rows, span in zip(self._rows, self._spans, strict=True):
            add_steps(self._tree.feature, span, rows, steps, scores)

    @classmethod
    def added(cls, trees: Sequence[Any], scores: Home[np.ndarray], learning_rate: float) -> Home[np.ndarray]:
        """Return the scores (n_scores, n) with the steps of one tree for each score added; the array itself changes."""
        for tree, line in zip(trees, scores.block, strict=True):
            tree.add_to(line, learning_rate)
        return scores
