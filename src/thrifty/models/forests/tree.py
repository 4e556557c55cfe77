"""A single tree as converters and boosters describe it, and the concatenation of trees into the arrays of a forest."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Tree(NamedTuple):
    """A binary tree of ``m`` nodes. Node 0 is the root.

    Attributes
    ----------
    feature : array-like of int, shape (m,)
        The column that a node splits on; -1 marks a leaf.
    threshold : array-like of shape (m,)
        A row whose value is at most the threshold goes to the left child.
    left, right : array-like of int, shape (m,)
        The children, as positions in these arrays. The entries of leaves are ignored.
    value : array-like of shape (m,) or (m, n_values)
        The outputs of leaves. The entries of other nodes are ignored.
    missing_left : array-like of bool, shape (m,), optional
        Whether NaN goes to the left child; None if this was not learned.
    categories : dict, optional
        ``{node: codes}``: the categories that go left at a node, which then ignores its threshold.
    expected : array-like of shape (n_values,), optional
        What the tree is expected to add to the prediction of a row that it is not evaluated for; 0 by default.
    """

    feature: Any
    threshold: Any
    left: Any
    right: Any
    value: Any
    missing_left: Any = None
    categories: Mapping[int, Sequence[int]] | None = None
    expected: Any = None


def concatenate_trees(trees: Sequence[Tree]) -> dict[str, Any]:
    """Return the arguments of `Forest` that hold these trees one after another."""
    if not trees:
        raise ValueError("Forest: there are no trees. Pass at least one.")
    sizes = [len(tree.feature) for tree in trees]
    starts = np.cumsum([0, *sizes[:-1]])
    shift = np.repeat(starts, sizes)
    return {
        "feature": np.concatenate([tree.feature for tree in trees]),
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "left": np.concatenate([tree.left for tree in trees]) + shift,
        "right": np.concatenate([tree.right for tree in trees]) + shift,
        "value": np.concatenate([tree.value for tree in trees]),
        "starts": starts,
        "missing_left": _missing_left(trees),
        "categories": _categories(trees, starts.tolist()),
        "expected": np.concatenate([_expected(tree) for tree in trees]),
    }


def mean_of_leaves(tree: Tree, weight: np.ndarray) -> np.ndarray:
    """Return the mean of the values of leaves, each weighted by its training rows, shape (n_values,)."""
    leaf = np.asarray(tree.feature) < 0
    total = weight[leaf].sum()
    return np.average(tree.value[leaf], axis=0, weights=weight[leaf] if total > 0 else None)


def _expected(tree: Tree) -> np.ndarray:
    return np.zeros(np.size(tree.value) // len(tree.feature)) if tree.expected is None else np.ravel(tree.expected)


def _missing_left(trees: Sequence[Tree]) -> np.ndarray | None:
    if all(tree.missing_left is None for tree in trees):
        return None
    return np.concatenate(
        [np.ones(len(t.feature), dtype=bool) if t.missing_left is None else t.missing_left for t in trees]
    )


def _categories(trees: Sequence[Tree], starts: Sequence[int]) -> dict[int, Sequence[int]]:
    return {
        start + node: codes
        for tree, start in zip(trees, starts, strict=True)
        for node, codes in (tree.categories or {}).items()
    }
