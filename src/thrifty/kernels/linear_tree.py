"""Routing rows through a tree of linear nodes.

A row's values are kept in the order they were bought, so that they line up with a node's weights:

    root buys 7, 2      child buys 4          held = [x7, x2, x4]
    root weights        [w7, w2]
    child weights       [w7, w2, w4]          one weight for everything on the path

Rows are walked a few at a time, level by level: the reads of one row wait for each other, those of several do not.
Functions take indices instead of slices, because a slice is an object with a reference count.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

TOGETHER = 16  # rows whose walks are interleaved


class TreeArrays(NamedTuple):
    """The flat tree as the kernels see it; ``m`` nodes, ``k`` scores, ``d`` features."""

    at: np.ndarray  # (m + 1,) node -> where its path starts in `features`, `projection` and `scores`
    bought_at: np.ndarray  # (m,) node -> where, within its path, its own purchases start
    features: np.ndarray  # columns held at each node, in order of purchase, node after node
    projection: np.ndarray  # weights of the routing projection, one per feature held
    projection_intercept: np.ndarray  # (m,)
    threshold: np.ndarray  # (m,) upper child if projection > threshold
    scores: np.ndarray  # (k, .) weights of the answers
    score_intercept: np.ndarray  # (m, k)
    upper: np.ndarray  # (m,) child, or -1: the row ends here
    lower: np.ndarray  # (m,)
    path_cost: np.ndarray  # (m,) what a row has paid when it is at the node
    prior: np.ndarray  # (k,) the answer of a row that cannot afford the root
    fill: np.ndarray  # (d,) what stands in for a value that was bought but is missing (NaN)


@njit(cache=True, nogil=True)
def dot(held, row, weights, line, first, last):
    """Sum a row's held values times weights[line, first:last], always in the same eight lanes.

    Without fastmath the order is part of the code, so a row scores the same bits alone and in a batch.
    """
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = (last - first) // 8 * 8
    for j in range(0, whole, 8):
        s0 += held[row, j] * weights[line, first + j]
        s1 += held[row, j + 1] * weights[line, first + j + 1]
        s2 += held[row, j + 2] * weights[line, first + j + 2]
        s3 += held[row, j + 3] * weights[line, first + j + 3]
        s4 += held[row, j + 4] * weights[line, first + j + 4]
        s5 += held[row, j + 5] * weights[line, first + j + 5]
        s6 += held[row, j + 6] * weights[line, first + j + 6]
        s7 += held[row, j + 7] * weights[line, first + j + 7]
    for j in range(whole, last - first):
        s0 += held[row, j] * weights[line, first + j]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@njit(cache=True, nogil=True, inline="always")
def buy(tree, X, i, node, held, row):
    """Put what the node buys of X's row i behind the values held."""
    start = tree.at[node]
    for j in range(tree.bought_at[node], tree.at[node + 1]):
        held[row, j - start] = X[i, tree.features[j]]


@njit(cache=True, nogil=True)
def fill_missing(features, fill, first, last, held, row):
    """Replace NaN among the values held; looked for only where a sum came out as NaN."""
    for j in range(last - first):
        if np.isnan(held[row, j]):
            held[row, j] = fill[features[first + j]]


@njit(cache=True, nogil=True, inline="always")
def weigh(tree, weights, line, node, held, row):
    """Weigh the values held at a node."""
    first, last = tree.at[node], tree.at[node + 1]
    total = dot(held, row, weights, line, first, last)
    if np.isnan(total):
        fill_missing(tree.features, tree.fill, first, last, held, row)
        total = dot(held, row, weights, line, first, last)
    return total


@njit(cache=True, nogil=True)
def next_node(tree, node, held, row):
    """Tell which child the values held send a row to; -1 if it ends at this node."""
    child = tree.upper[node]
    if child != tree.lower[node]:  # else a pass-through node, or a leaf: nothing to decide
        projected = tree.projection_intercept[node] + weigh(tree, tree.projection, 0, node, held, row)
        if not projected > tree.threshold[node]:
            child = tree.lower[node]
    return child


@njit(cache=True, nogil=True)
def answer(tree, node, held, row, scores, out_row):
    """Write the scores of a row at a node (-1: of a row that bought nothing)."""
    for c in range(scores.shape[1]):
        if node < 0:
            scores[out_row, c] = tree.prior[c]
        else:
            scores[out_row, c] = tree.score_intercept[node, c] + weigh(tree, tree.scores, c, node, held, row)


@njit(cache=True, nogil=True)
def walk_rows(tree, X, cap, first, last, exits, scores):
    """Send rows first..last to their exits, buying only what each may pay for under its cap."""
    held = np.empty((TOGETHER, np.diff(tree.at).max()))
    walking = np.empty(TOGETHER, np.int64)
    for start in range(first, last, TOGETHER):
        stop = min(start + TOGETHER, last)
        n_walking = 0
        for i in range(start, stop):
            exits[i] = -1
            if tree.path_cost[0] <= cap[i]:
                exits[i] = 0
                walking[n_walking] = i
                n_walking += 1
        while n_walking:
            for k in range(n_walking):
                buy(tree, X, walking[k], exits[walking[k]], held, walking[k] - start)
            still = 0
            for k in range(n_walking):
                i = walking[k]
                child = next_node(tree, exits[i], held, i - start)
                if child >= 0 and tree.path_cost[child] <= cap[i]:
                    exits[i] = child
                    walking[still] = i
                    still += 1
            n_walking = still
        for i in range(start, stop):
            answer(tree, exits[i], held, i - start, scores, i)


@njit(cache=True, nogil=True)
def project_rows(X, rows, first, last, features, weights, intercept, out):
    """Projection of some rows on given features, summed exactly as `next_node` sums it."""
    held = np.empty((1, features.size))
    for r in range(first, last):
        for j in range(features.size):
            held[0, j] = X[rows[r], features[j]]
        out[r] = intercept + dot(held, 0, weights, 0, 0, features.size)
