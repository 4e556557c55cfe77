"""One tree, as converters and boosters write it down, and many of them in one set of arrays."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Tree(NamedTuple):
    """One tree of ``m`` nodes as a converter reads it, the root first; `feature` is -1 at leaves."""

    feature: Any  # (m,)
    threshold: Any  # (m,) at most this: go left
    left: Any  # (m,) children, numbered within the tree; not looked at in leaves
    right: Any
    value: Any  # (m, k) looked at in leaves only
    missing_left: Any = None  # (m,) NaN goes left; None: nobody learned where it should go
    categories: Mapping[int, Sequence[int]] | None = None  # node: the categories that go left, instead of a threshold


def put_together(trees: Sequence[Tree]) -> dict[str, Any]:
    """Return the arrays of a `Forest`: the trees one after another, their children renumbered."""
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
    }


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
