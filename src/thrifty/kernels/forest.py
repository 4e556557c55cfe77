"""Walking rows down the trees of a flat forest.

Rows are walked together, all of them one level at a time and as many levels as the tree has: a row that has arrived
stays where it is, because a leaf is its own child. So the inner loop is the same straight line for every row, and the
compiler turns it into vector instructions. A block's values are first copied column by column, for two reasons: rows
at the same node read the same column, and the copy is the place to put something in for a missing value.

A leaf reads the column behind the last, which is always zero: what it marks as seen there nobody pays for.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

TOGETHER = 32  # rows walked together; a constant, so that the compiler knows how long the inner loop is
GLANCE = 8  # levels after which to see whether all rows have arrived, which they do long before the deepest leaf
BITS = np.uint64(64)  # of a word of a category set
ONE = np.uint64(1)


class ForestArrays(NamedTuple):
    """The forest as the kernels see it; ``m`` nodes, ``t`` trees, ``k`` values at each node.

    A leaf has itself for both children. Node numbers are unsigned, because Numba checks every signed index for
    being negative.
    """

    feature: np.ndarray  # (m,) uint32, column that the node looks at; the one behind the last at a leaf
    threshold: np.ndarray  # (m,) right child if the value exceeds it
    left: np.ndarray  # (m,) uint32
    right: np.ndarray  # (m,) uint32
    missing_right: np.ndarray  # (m,) bool, NaN goes right
    category_set: np.ndarray  # (m,) uint32, where in `category_words` the codes that go left are; 0: compares
    category_words: np.ndarray  # uint64, sets one after another: the number of words, then the words
    categorical: np.ndarray  # (t,) bool, some node of the tree has a category set
    value: np.ndarray  # (m, k)
    root: np.ndarray  # (t,) uint32
    depth: np.ndarray  # (t,) levels below the root
    base: np.ndarray  # (s,) what the scores start from
    score_of: np.ndarray  # (t, k) uint32, the score that a value of a tree adds to


@njit(cache=True, nogil=True)
def forest_outputs(forest, outputs, columns, fill, X, first, last, out):
    """Write some outputs of rows first..last; output j is value j % k of tree j // k.

    `columns` are those of X that the trees read, `fill` is what stands in for NaN in each column of X.
    """
    # Reading a field of the tuple counts a reference, which inside the loops would cost more than the arithmetic.
    feature, threshold, left, right, missing_right, category_set, words = forest[:7]
    categorical, value, root, depth = forest[7:11]
    width = value.shape[1]
    values, seen = np.zeros((X.shape[1] + 1, TOGETHER)), np.zeros((X.shape[1] + 1, TOGETHER), np.uint8)
    node = np.empty(TOGETHER, np.uint32)
    for start in range(first, last, TOGETHER):
        n_rows = min(TOGETHER, last - start)
        holes = copy_columns(X, columns, fill, start, n_rows, values)
        walked = -1
        for j in range(outputs.size):
            tree, part = outputs[j] // width, outputs[j] % width
            if tree != walked:  # outputs of one tree follow each other and share its walk
                node[:] = root[tree]
                descend(
                    *(feature, threshold, left, right, missing_right, category_set, words),
                    *(categorical[tree], holes, depth[tree], values, node, seen),
                )
                walked = tree
            for r in range(n_rows):
                out[start + r, j] = value[node[r], part]


@njit(cache=True, nogil=True)
def add_trees(forest, begin, end, values, holes, node, seen, totals):
    """Add what trees begin..end put out for a block of rows to their scores (s, TOGETHER), one after another."""
    feature, threshold, left, right, missing_right, category_set, words = forest[:7]
    categorical, value, root, depth, _, score_of = forest[7:]
    for tree in range(begin, end):
        node[:] = root[tree]
        descend(
            *(feature, threshold, left, right, missing_right, category_set, words),
            *(categorical[tree], holes, depth[tree], values, node, seen),
        )
        for part in range(value.shape[1]):
            total = totals[score_of[tree, part]]
            for r in range(TOGETHER):
                total[r] += value[node[r], part]


@njit(cache=True, nogil=True)
def copy_columns(X, columns, fill, start, n_rows, values):
    """Copy some columns of a block, with something in place of NaN; tell whether any NaN is left."""
    holes = False
    for r in range(n_rows):
        for c in columns:
            x = X[start + r, c]
            if np.isnan(x):
                x = fill[c]
                holes |= np.isnan(x)
            values[c, r] = x
    return holes


@njit(cache=True, nogil=True)
def descend(
    feature, threshold, left, right, missing_right, category_set, words, categorical, holes, depth, values, node, seen
):
    """Walk a block of rows from the root of a tree to their leaves, marking the columns they look at.

    The loop over the rows is there three times, because the compiler makes more of the simpler ones.
    """
    for level in range(depth):
        if level and level % GLANCE == 0 and all_arrived(node, left):
            break
        if categorical:
            for r in range(TOGETHER):
                k = node[r]
                seen[feature[k], r] = 1
                goes = goes_right(values[feature[k], r], k, threshold, missing_right, category_set, words)
                node[r] = right[k] if goes else left[k]
        elif holes:
            for r in range(TOGETHER):
                k = node[r]
                seen[feature[k], r] = 1
                x = values[feature[k], r]
                goes = (x > threshold[k]) | (np.isnan(x) & missing_right[k])
                node[r] = right[k] if goes else left[k]
        else:
            for r in range(TOGETHER):
                k = node[r]
                seen[feature[k], r] = 1
                node[r] = right[k] if values[feature[k], r] > threshold[k] else left[k]


@njit(cache=True, nogil=True)
def goes_right(x, node, threshold, missing_right, category_set, words):
    """Tell where a value sends its row: NaN where it is told to, categories by their set, numbers by comparison."""
    if np.isnan(x):
        return missing_right[node]
    at = np.uint64(category_set[node])
    if not at:
        return x > threshold[node]
    if not 0 <= x < words[at] * 64.0:
        return True
    code = np.uint64(x)
    return not (words[at + ONE + code // BITS] >> (code % BITS)) & ONE


@njit(cache=True, nogil=True)
def all_arrived(node, left):
    """Tell whether every row is at a leaf."""
    arrived = True
    for r in range(TOGETHER):
        arrived &= left[node[r]] == node[r]
    return arrived
