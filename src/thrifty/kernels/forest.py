"""Evaluation of the trees of a flat forest.

A block of rows goes down a tree together, one level at a time, for as many levels as the tree has. A row that has
reached a leaf stays there, because a leaf is its own child. Therefore the inner loop does the same for every row, and
the compiler turns it into vector instructions.

The values of a block are first copied column by column. Rows at the same node read the same column, and the copy also
replaces missing values.

A leaf reads an extra column behind the last one, which is always 0. Marking this column as seen costs nothing.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

BLOCK_ROWS = 32  # rows of a block; a constant, so that the compiler knows the length of the inner loop
CHECK_LEVELS = 8  # levels between checks whether all rows are at leaves, which often happens far above the deepest leaf
BITS = np.uint64(64)  # of a word of a category set
ONE = np.uint64(1)


class ForestArrays(NamedTuple):
    """Arrays of a forest for the kernels: ``m`` nodes, ``t`` trees, ``k`` values at each node, ``s`` scores.

    Both children of a leaf are the leaf itself. Node numbers are unsigned, because Numba checks whether a signed index
    is negative.
    """

    feature: np.ndarray  # (m,) uint32, column of the split; the extra column behind the last one at a leaf
    threshold: np.ndarray  # (m,) a row goes to the right child if its value is larger
    left: np.ndarray  # (m,) uint32
    right: np.ndarray  # (m,) uint32
    missing_right: np.ndarray  # (m,) bool, NaN goes to the right child
    category_set: np.ndarray  # (m,) uint32, start in `category_words` of the codes that go left; 0: numeric split
    category_words: np.ndarray  # uint64, all sets one after another: the number of words, then the words
    categorical: np.ndarray  # (t,) bool, the tree has a node with a category set
    value: np.ndarray  # (m, k)
    root: np.ndarray  # (t,) uint32
    depth: np.ndarray  # (t,) number of levels below the root
    base: np.ndarray  # (s,) initial scores
    score_of: np.ndarray  # (t, k) uint32, index of the score that each value of a tree is added to


@njit(cache=True, nogil=True)
def forest_outputs(forest, outputs, columns, fill, X, first, last, out):
    """Write some outputs of rows first..last. Output j is value j % k of tree j // k.

    outputs   outputs to compute; consecutive outputs of one tree share one descent
    columns   columns of X that the trees read
    fill      (d,) replacement of NaN in each column of X
    """
    # Reading a field of the tuple changes a reference count, which would be slower than the arithmetic in the loops.
    feature, threshold, left, right, missing_right, category_set, words = forest[:7]
    categorical, value, root, depth = forest[7:11]
    n_values = value.shape[1]
    values, seen = np.zeros((X.shape[1] + 1, BLOCK_ROWS)), np.zeros((X.shape[1] + 1, BLOCK_ROWS), np.uint8)
    node = np.empty(BLOCK_ROWS, np.uint32)
    for start in range(first, last, BLOCK_ROWS):
        n_rows = min(BLOCK_ROWS, last - start)
        has_nan = copy_columns(X, columns, fill, start, n_rows, values)
        previous_tree = -1
        for j in range(outputs.size):
            tree, k = outputs[j] // n_values, outputs[j] % n_values
            if tree != previous_tree:
                node[:] = root[tree]
                descend(
                    *(feature, threshold, left, right, missing_right, category_set, words),
                    *(categorical[tree], has_nan, depth[tree], values, node, seen),
                )
                previous_tree = tree
            for r in range(n_rows):
                out[start + r, j] = value[node[r], k]


@njit(cache=True, nogil=True)
def add_trees(forest, begin, end, values, has_nan, node, seen, totals):
    """Add the values of trees begin..end for a block of rows to their scores `totals` (s, BLOCK_ROWS), in order."""
    feature, threshold, left, right, missing_right, category_set, words = forest[:7]
    categorical, value, root, depth, _, score_of = forest[7:]
    for tree in range(begin, end):
        node[:] = root[tree]
        descend(
            *(feature, threshold, left, right, missing_right, category_set, words),
            *(categorical[tree], has_nan, depth[tree], values, node, seen),
        )
        for k in range(value.shape[1]):
            total = totals[score_of[tree, k]]
            for r in range(BLOCK_ROWS):
                total[r] += value[node[r], k]


@njit(cache=True, nogil=True)
def copy_columns(X, columns, fill, start, n_rows, values):
    """Copy some columns of a block and replace NaN by `fill`; return whether NaN remains because `fill` is NaN."""
    has_nan = False
    for r in range(n_rows):
        for c in columns:
            x = X[start + r, c]
            if np.isnan(x):
                x = fill[c]
                has_nan |= np.isnan(x)
            values[c, r] = x
    return has_nan


@njit(cache=True, nogil=True)
def descend(
    feature, threshold, left, right, missing_right, category_set, words, categorical, has_nan, depth, values, node, seen
):
    """Move a block of rows from the root of a tree to their leaves, and mark the columns that each row reads.

    There are three versions of the loop over rows, because the compiler generates faster code for the simpler ones.
    """
    for level in range(depth):
        if level and level % CHECK_LEVELS == 0 and all_at_leaves(node, left):
            break
        if categorical:
            for r in range(BLOCK_ROWS):
                k = node[r]
                seen[feature[k], r] = 1
                to_right = goes_right(values[feature[k], r], k, threshold, missing_right, category_set, words)
                node[r] = right[k] if to_right else left[k]
        elif has_nan:
            for r in range(BLOCK_ROWS):
                k = node[r]
                seen[feature[k], r] = 1
                x = values[feature[k], r]
                to_right = (x > threshold[k]) | (np.isnan(x) & missing_right[k])
                node[r] = right[k] if to_right else left[k]
        else:
            for r in range(BLOCK_ROWS):
                k = node[r]
                seen[feature[k], r] = 1
                node[r] = right[k] if values[feature[k], r] > threshold[k] else left[k]


@njit(cache=True, nogil=True)
def goes_right(x, node, threshold, missing_right, category_set, words):
    """Return whether a value goes to the right child: NaN by `missing_right`, a category by its set, else by threshold.

    A category that is not in the set goes right; so does a value that is not a possible code.
    """
    if np.isnan(x):
        return missing_right[node]
    start = np.uint64(category_set[node])
    if not start:
        return x > threshold[node]
    if not 0 <= x < words[start] * 64.0:
        return True
    code = np.uint64(x)
    return not (words[start + ONE + code // BITS] >> (code % BITS)) & ONE


@njit(cache=True, nogil=True)
def all_at_leaves(node, left):
    """Return whether every row of a block is at a leaf."""
    arrived = True
    for r in range(BLOCK_ROWS):
        arrived &= left[node[r]] == node[r]
    return arrived
