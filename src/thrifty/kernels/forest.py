"""Walking rows down the trees of a flat forest.

Rows are walked together, all of them one level at a time and as many levels as the tree has: a row that has arrived
stays where it is, because a leaf is its own child. So the inner loop is the same straight line for every row, and the
compiler turns it into vector instructions. A block's values are first copied column by column, for two reasons: rows
at the same node read the same column, and the copy is the place to put something in for a missing value.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

TOGETHER = 32  # rows walked together; a constant, so that the compiler knows how long the inner loop is
GLANCE = 8  # levels after which to see whether all rows have arrived, which they do long before the deepest leaf


class ForestArrays(NamedTuple):
    """The forest as the kernel sees it; ``m`` nodes, ``t`` trees, ``k`` values at each node.

    A leaf has itself for both children. Node numbers are unsigned, because Numba checks every signed index for
    being negative.
    """

    feature: np.ndarray  # (m,) uint32, column that the node looks at; 0 at a leaf
    threshold: np.ndarray  # (m,) right child if the value exceeds it
    left: np.ndarray  # (m,) uint32
    right: np.ndarray  # (m,) uint32
    value: np.ndarray  # (m, k)
    root: np.ndarray  # (t,) uint32
    depth: np.ndarray  # (t,) levels below the root


@njit(cache=True, nogil=True)
def forest_outputs(forest, outputs, columns, fill, X, first, last, out):
    """Write some outputs of rows first..last; output j is value j % k of tree j // k.

    `columns` are those of X that the trees read, `fill` is what stands in for NaN in each column of X. A value that
    is still NaN exceeds no threshold and goes left.
    """
    feature, threshold, left, right = forest.feature, forest.threshold, forest.left, forest.right
    value, root, depth = forest.value, forest.root, forest.depth
    width = value.shape[1]
    values = np.zeros((X.shape[1], TOGETHER))
    node = np.empty(TOGETHER, np.uint32)
    for start in range(first, last, TOGETHER):
        n_rows = min(TOGETHER, last - start)
        for r in range(n_rows):
            for c in columns:
                x = X[start + r, c]
                values[c, r] = fill[c] if np.isnan(x) else x
        walked = -1
        for j in range(outputs.size):
            tree, part = outputs[j] // width, outputs[j] % width
            if tree != walked:  # outputs of one tree follow each other and share its walk
                node[:] = root[tree]
                for level in range(depth[tree]):
                    if level and level % GLANCE == 0 and all_arrived(node, left):
                        break
                    for r in range(TOGETHER):
                        k = node[r]
                        node[r] = right[k] if values[feature[k], r] > threshold[k] else left[k]
                walked = tree
            for r in range(n_rows):
                out[start + r, j] = value[node[r], part]


@njit(cache=True, nogil=True)
def all_arrived(node, left):
    """Tell whether every row is at a leaf."""
    arrived = True
    for r in range(TOGETHER):
        arrived &= left[node[r]] == node[r]
    return arrived
