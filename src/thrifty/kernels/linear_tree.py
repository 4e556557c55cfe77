"""Routing of rows through a tree whose nodes are linear models.

The values of a row are stored in the order of purchase, so that they line up with the weights of a node:

    root buys 7, 2      child buys 4          values held = [x7, x2, x4]
    root weights        [w7, w2]
    child weights       [w7, w2, w4]          one weight for each feature bought on the path

Rows go down the tree in blocks, level by level. Memory accesses of one row wait for each other, but those of several
rows overlap. Positions are unsigned, because Numba checks whether a signed index is negative.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from thrifty.kernels.dot import dot

BLOCK_ROWS = np.uint64(32)
ONE = np.uint64(1)


class TreeArrays(NamedTuple):
    """Arrays of a tree for the kernels: ``m`` nodes, ``k`` scores, ``d`` features."""

    at: np.ndarray  # (m + 1,) uint64, node -> start of its path in `features`, `projection` and `scores`
    bought_at: np.ndarray  # (m,) uint64, node -> start of the features that it buys itself in `features`
    features: np.ndarray  # uint64, columns held at each node in order of purchase, one node after another
    projection: np.ndarray  # weights of the projection that decides the child, one per feature held
    projection_intercept: np.ndarray  # (m,)
    threshold: np.ndarray  # (m,) a row goes to the upper child if its projection is larger
    scores: np.ndarray  # (k, .) weights of the scores
    score_intercept: np.ndarray  # (m, k)
    upper: np.ndarray  # (m,) int64, upper child; -1: the row ends here
    lower: np.ndarray  # (m,) int64, lower child; -1: the row ends here
    path_cost: np.ndarray  # (m,) what a row has paid when it is at the node
    prior: np.ndarray  # (k,) scores of a row that cannot pay for the root
    fill: np.ndarray  # (d,) replacement of values that were bought but are missing (NaN)


@njit(cache=True, nogil=True)
def weigh(held, weights, features, fill):
    """Return the weighted sum of the values held; missing values are replaced in `held` if the sum is NaN.

    Looking for NaN only then is faster, because missing values are rare.
    """
    total = dot(held, weights)
    if np.isnan(total):
        for j in range(features.size):
            if np.isnan(held[j]):
                held[j] = fill[features[j]]
        total = dot(held, weights)
    return total


@njit(cache=True, nogil=True)
def walk_rows(tree, X, cap, first, last, exits, scores):
    """Route rows first..last, each under its cap; write the node where each row ends (-1: none) and its scores."""
    # Reading a field of the tuple changes a reference count, which would be slower than the arithmetic in the loops.
    at, bought_at, features, fill = tree.at, tree.bought_at, tree.features, tree.fill
    projection, intercept, threshold = tree.projection, tree.projection_intercept, tree.threshold
    upper, lower, path_cost = tree.upper, tree.lower, tree.path_cost
    score_weights, score_intercept, prior = tree.scores, tree.score_intercept, tree.prior
    held = np.empty((BLOCK_ROWS, np.uint64(longest_path(at))))
    active = np.empty(BLOCK_ROWS, np.uint64)  # rows of the block that have not ended
    for start in range(np.uint64(first), np.uint64(last), BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, np.uint64(last))
        n_active = np.uint64(0)
        for i in range(start, stop):
            exits[i] = -1
            if path_cost[0] <= cap[i]:
                exits[i] = 0
                active[n_active] = i - start
                n_active += ONE
        while n_active:
            for k in range(n_active):
                row = active[k]
                node = np.uint64(exits[start + row])
                for j in range(bought_at[node], at[node + ONE]):
                    held[row, j - at[node]] = X[start + row, features[j]]
            n_before, n_active = n_active, np.uint64(0)
            for k in range(n_before):
                row = active[k]
                node = np.uint64(exits[start + row])
                child = upper[node]
                if child != lower[node]:
                    a, b = at[node], at[node + ONE]
                    projected = weigh(held[row], projection[a:b], features[a:b], fill)
                    child = upper[node] if intercept[node] + projected > threshold[node] else lower[node]
                if child >= 0 and path_cost[np.uint64(child)] <= cap[start + row]:
                    exits[start + row] = child
                    active[n_active] = row
                    n_active += ONE
        for i in range(start, stop):
            for c in range(np.uint64(prior.size)):
                if exits[i] < 0:
                    scores[i, c] = prior[c]
                else:
                    node = np.uint64(exits[i])
                    a, b = at[node], at[node + ONE]
                    total = weigh(held[i - start], score_weights[c, a:b], features[a:b], fill)
                    scores[i, c] = score_intercept[node, c] + total


@njit(cache=True, nogil=True)
def longest_path(at):
    """Return the largest number of features held at a node."""
    longest = np.uint64(0)
    for node in range(at.size - 1):
        longest = max(longest, at[node + 1] - at[node])
    return longest


@njit(cache=True, nogil=True)
def project_rows(X, rows, first, last, features, weights, intercept, out):
    """Write the projection of some rows on given features, added in the same order as in `walk_rows`."""
    held = np.empty(features.size)
    for r in range(first, last):
        row = np.uint64(rows[r])
        for j in range(features.size):
            held[j] = X[row, features[j]]
        out[r] = intercept + dot(held, weights)
