"""The rows of a tree: sent to the children of a split, and changed by the steps of the leaves that they end in.

The rows of every node are next to each other in an array, first those of its left child, then those of its right one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

LEAF = -1  # instead of the feature of a split

_U = np.uint64  # Numba checks whether a signed index is negative


class Leaves(NamedTuple):
    """The leaves of a tree, and the rows that ended in them.

    Attributes
    ----------
    node : ndarray of int, shape (k,)
        The node of each leaf.
    bag_span, rest_span : ndarray of int, shape (k, 2)
        Leaf i has the rows ``bag[first:last]`` with ``first, last = bag_span[i]``, and likewise of the rest.
    bag, rest : ndarray of uint32
        The rows that the tree was grown on, and others.
    """

    node: np.ndarray
    bag_span: np.ndarray
    rest_span: np.ndarray
    bag: np.ndarray
    rest: np.ndarray


@njit(cache=True, nogil=True)
def partition(code, goes_left, rows, words, spare_rows, spare_words):
    """Reorder rows and their words in place, rows that go left first, otherwise in the same order; return n_left."""
    n_left = write_sides(code, goes_left, rows, words, rows, words, spare_rows, spare_words)
    n_right = rows.size - n_left
    rows[n_left:] = spare_rows[:n_right]
    words[n_left:] = spare_words[:n_right]
    return n_left


@njit(cache=True, nogil=True)
def write_sides(code, goes_left, rows, words, left_rows, left_words, right_rows, right_words):
    """Write the rows that go left, and those that go right, with their words, in the same order; return n_left.

    The arrays for either side have room for all rows. Those for the left side may be `rows` and `words`. Every row is
    written to both sides and counted on one of them. This avoids a branch, which the processor could not predict.
    """
    n_left, n_right = 0, 0
    for r in range(rows.size):
        row = rows[_U(r)]
        left = goes_left[_U(code[_U(row)])]
        for m in range(words.shape[1]):
            word = words[_U(r), _U(m)]
            left_words[_U(n_left), _U(m)] = word
            right_words[_U(n_right), _U(m)] = word
        left_rows[_U(n_left)] = row
        right_rows[_U(n_right)] = row
        n_left += left
        n_right += 1 - left
    return n_left


@njit(cache=True, nogil=True)
def leaf_steps(feature, spans, rows, gradient, hessian, ridge):
    """Return the Newton step -G / (H + ridge) of the rows of each leaf, and 0 for other nodes.

    The rows of a node are ``rows[first:last]``, where `first` and `last` are the line of the node in `spans`.
    """
    steps = np.zeros(len(feature))
    for node in range(len(feature)):
        if feature[node] == LEAF:
            first, last = spans[node, 0], spans[node, 1]
            steps[node] = newton_step(*sums_of_derivatives(rows[first:last], gradient, hessian, ridge))
    return steps


@njit(cache=True, nogil=True)
def sums_of_derivatives(rows, gradient, hessian, ridge):
    """Return the sums G of gradients and H of Hessians of some rows; H starts from `ridge`."""
    G, H = 0.0, ridge
    for r in range(rows.size):
        i = _U(rows[r])
        G += gradient[i]
        H += hessian[i]
    return G, H


@njit(cache=True, nogil=True)
def newton_step(G, H):
    """Return the step -G / H, or 0 if H is 0."""
    return -G / H if H > 0 else 0.0


@njit(cache=True, nogil=True)
def add_steps(feature, spans, rows, steps, scores):
    """Add the steps of leaves to the scores (n,) of the rows that ended in them."""
    for node in range(len(feature)):
        if feature[node] == LEAF:
            for r in range(spans[node, 0], spans[node, 1]):
                scores[_U(rows[r])] += steps[node]
