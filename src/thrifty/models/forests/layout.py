"""The arrays of a forest: checks, traversal, and the form that the kernels read.

Kernels do not check indices, and a forest may come from a file. Therefore every index is checked here, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.kernels.forest import ForestArrays

if TYPE_CHECKING:
    from thrifty.models.forests.forest import Forest

LEAF = -1  # in `feature`, marks a node without children
MAX_FEATURES = 2**20
MAX_CELLS = 2**28  # of the table of the features that each output reads
MAX_LEVELS = 10_000  # of a tree
MAX_WORDS = 2**22  # of all category sets
MAX_CATEGORIES = 2**24  # a set of codes is stored as bits, so its size grows with the largest code
WORD = 64  # bits of a word of a category set


def frozen_column(values: Any, name: str, dtype: type) -> np.ndarray:
    """Return values as a read-only array of shape (n,); raise ValueError if the type cannot hold them."""
    array = np.array(values)
    if array.ndim != 1 or not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(f"Forest: {name} has shape {array.shape} and dtype {array.dtype}; expected {dtype.__name__}s.")
    return frozen(array.astype(dtype))


def frozen(array: np.ndarray) -> np.ndarray:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def all_within(indices: np.ndarray, first: int, end: int) -> bool:
    """Tell whether all indices are in first..end - 1."""
    return not indices.size or bool(indices.min() >= first and indices.max() < end)


# Category sets


def checked_category_sets(
    categories: Mapping[int, Sequence[int]] | None, feature: np.ndarray
) -> dict[int, tuple[int, ...]]:
    """Return the codes that go left at each categorical split, in ascending order; refuse invalid nodes and codes."""
    sets: dict[int, tuple[int, ...]] = {}
    for node, codes in (categories or {}).items():
        given = np.unique(np.asarray(codes))
        if not (0 <= node < len(feature) and feature[node] != LEAF):
            raise ValueError(
                f"Forest: categories has node {node}, which is not a split. Pass only nodes that have children."
            )
        whole = np.issubdtype(given.dtype, np.integer) or given.size == 0
        if not (whole and all_within(given, 0, MAX_CATEGORIES)):
            raise ValueError(
                f"Forest: categories of node {node} are {_abbreviated(given)}; expected whole numbers from 0 to "
                f"{MAX_CATEGORIES - 1}."
            )
        sets[int(node)] = tuple(given.tolist())
    return sets


def flatten_sets(categories: Mapping[int, tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return category sets as three arrays: the nodes, the number of codes of each, and the codes of all."""
    nodes, sizes = [*categories], [len(codes) for codes in categories.values()]
    codes = [code for codes in categories.values() for code in codes]
    return np.array(nodes, dtype=np.int64), np.array(sizes, dtype=np.int64), np.array(codes, dtype=np.int64)


def unflatten_sets(nodes: np.ndarray, sizes: np.ndarray, codes: np.ndarray) -> dict[int, np.ndarray]:
    """Return the category sets from the arrays of `flatten_sets`."""
    return dict(zip(nodes.tolist(), np.split(codes, np.cumsum(sizes))[:-1], strict=True))


def _abbreviated(values: np.ndarray) -> str:
    return str(values.tolist()) if len(values) <= 5 else f"{values[:5].tolist()}..."


# Checks and traversal


def check_arrays(forest: Forest) -> None:
    """Raise ValueError unless all lengths agree, all indices are valid and all values are finite."""
    n_nodes, inner = len(forest.feature), forest.feature != LEAF
    if forest.value.ndim != 2 or forest.base.ndim != 1:
        raise ValueError(
            f"Forest: value has shape {forest.value.shape} and base {forest.base.shape}; expected (n_nodes, n_values) "
            "and (n_scores,)."
        )
    for name in ("threshold", "left", "right", "value", "missing_left"):
        if len(array := getattr(forest, name)) != n_nodes:
            raise ValueError(f"Forest: {name} has {len(array)} entries for {n_nodes} nodes. Pass one per node.")
    if len(forest.score_of) != forest.n_outputs:
        raise ValueError(f"Forest: score_of has {len(forest.score_of)} entries for {forest.n_outputs} outputs.")
    if len(forest.expected) != forest.n_outputs or not np.isfinite(forest.expected).all():
        raise ValueError(f"Forest: expected has to hold {forest.n_outputs} finite numbers, one per output.")
    if not len(forest.starts):
        raise ValueError("Forest: there are no trees. Pass at least one.")
    if forest.n_outputs * forest.n_features > MAX_CELLS:
        raise ValueError(f"Forest: {forest.n_outputs} outputs of {forest.n_features} features are too many.")
    for name, indices, end in (
        ("feature", forest.feature[inner], forest.n_features),
        ("left", forest.left[inner], n_nodes),
        ("right", forest.right[inner], n_nodes),
        ("starts", forest.starts, n_nodes),
        ("score_of", forest.score_of, len(forest.base)),
    ):
        if not all_within(indices, 0, end):
            raise ValueError(f"Forest: {name} holds an index outside 0..{end - 1}.")
    if np.isnan(forest.threshold[inner]).any():
        raise ValueError("Forest: a threshold is NaN; expected numbers.")
    if not (np.isfinite(forest.value[~inner]).all() and np.isfinite(forest.base).all()):
        raise ValueError("Forest: a leaf or the base is not finite; expected finite numbers.")


def traverse(forest: Forest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Visit all trees level by level.

    Returns
    -------
    depth : ndarray of int, shape (n_trees,)
        The number of levels below each root.
    reads : ndarray of bool, shape (n_trees, n_features)
        The columns that each tree splits on.
    tree_of : ndarray of int, shape (n_nodes,)
        The tree that each node belongs to, -1 if no tree reaches it.

    Raises
    ------
    ValueError
        If two paths lead to one node.
    """
    depth = np.zeros(forest.n_trees, dtype=np.int64)
    reads = np.zeros((forest.n_trees, forest.n_features), dtype=bool)
    reached, tree_of = np.zeros((2, len(forest.feature)), dtype=np.int64)
    tree_of -= 1
    node, tree, level = forest.starts, np.arange(forest.n_trees), 0
    while node.size:
        np.add.at(reached, node, 1)
        if (twice := node[reached[node] > 1]).size:
            raise ValueError(f"Forest: node {twice.min()} is reached in two ways; expected trees.")
        if level > MAX_LEVELS:
            raise ValueError(f"Forest: a tree has more than {MAX_LEVELS} levels.")
        tree_of[node], depth[tree] = tree, level
        inner = forest.feature[node] != LEAF
        node, tree, level = node[inner], tree[inner], level + 1
        reads[tree, forest.feature[node]] = True
        node, tree = np.concatenate([forest.left[node], forest.right[node]]), np.concatenate([tree, tree])
    return depth, frozen(reads), tree_of


# The form that the kernels read


def kernel_arrays(forest: Forest, depth: np.ndarray, tree_of: np.ndarray) -> ForestArrays:
    """Return the forest as the kernels read it; see `ForestArrays`."""
    leaf, itself = forest.feature == LEAF, np.arange(len(forest.feature))
    category_set, words = _packed_sets(forest.categories, len(leaf))
    categorical = np.zeros(forest.n_trees + 1, dtype=bool)  # the last entry is for nodes that no tree reaches
    categorical[tree_of[category_set > 0]] = True
    return ForestArrays(
        feature=np.where(leaf, forest.n_features, forest.feature).astype(np.uint32),
        threshold=np.where(leaf, np.inf, forest.threshold),
        left=np.where(leaf, itself, forest.left).astype(np.uint32),
        right=np.where(leaf, itself, forest.right).astype(np.uint32),
        missing_right=~leaf & ~forest.missing_left,
        category_set=category_set,
        category_words=words,
        categorical=categorical[:-1].copy(),
        value=forest.value.copy(),
        root=forest.starts.astype(np.uint32),
        depth=depth,
        base=forest.base.copy(),
        score_of=forest.score_of.reshape(forest.n_trees, -1).astype(np.uint32),
    )


def _packed_sets(categories: Mapping[int, tuple[int, ...]], n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where the set of each node starts (0: it has none), and all sets as bits.

    A set is the number of its words, followed by the words. Code c is bit c % 64 of word c // 64.
    """
    if (total := sum(codes[-1] // WORD + 2 for codes in categories.values() if codes)) > MAX_WORDS:
        raise ValueError(f"Forest: the category sets take {total} words; expected at most {MAX_WORDS}.")
    start, words = np.zeros(n_nodes, dtype=np.uint32), [0]
    for node, codes in categories.items():
        start[node] = len(words)
        n_words = codes[-1] // WORD + 1 if codes else 0
        words += [n_words, *([0] * n_words)]
        for code in codes:
            words[start[node] + 1 + code // WORD] |= 1 << code % WORD
    return start, np.array(words, dtype=np.uint64)
