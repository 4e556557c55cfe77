"""Trees whose nodes are records: the leaf of a row, and the groups of columns that lead to it."""

import numpy as np
from numba import njit

from thrifty.kernels.adaptive.structures import borrowing
from thrifty.kernels.forest import BITS, ONE


@njit(cache=True, nogil=True)
def groups_above_nodes(nodes, root, group_of):
    """Return for each node which groups the nodes above it split on, as bits: that of group g is g % 64.

    Two groups may share a bit. Then a row searches some leaves again that it already has.
    """
    above, stack = np.zeros(nodes.size, np.uint64), np.empty(nodes.size, np.uint32)
    for tree in range(root.size):
        stack[0], n = root[tree], 1
        while n:
            n -= 1
            node = stack[n]
            left, right = nodes[node].left, nodes[node].right
            if left != node:
                here = above[node] | ONE << (np.uint64(group_of[nodes[node].feature]) % BITS)
                above[left] = above[right] = here
                stack[n], stack[n + 1] = left, right
                n += 2
    return above


@borrowing(inline="always")
def find_leaf(nodes, words, node, values):
    """Return the leaf that a row reaches from a node."""
    while nodes[node].left != node:
        x = values[nodes[node].feature]
        if np.isnan(x):
            to_right = nodes[node].missing_right == 1
        elif nodes[node].category_set == 0:
            to_right = x > nodes[node].threshold
        else:
            start = np.uint64(nodes[node].category_set)
            to_right = True
            if 0 <= x < words[start] * 64.0:
                code = np.uint64(x)
                to_right = not (words[start + ONE + code // BITS] >> (code % BITS)) & ONE
        node = nodes[node].right if to_right else nodes[node].left
    return node


@njit(cache=True, nogil=True)
def add_leaves(forest, values, first, last, out):
    """Add the values of the leaves that states (n, n_features) reach to `out` (n, n_outputs)."""
    nodes, words, value, root, _, _ = forest
    for i in range(first, last):
        state = values[i]
        for tree in range(root.size):
            leaf = find_leaf(nodes, words, root[tree], state)
            for k in range(value.shape[1]):
                out[i, k] += value[leaf, k]
