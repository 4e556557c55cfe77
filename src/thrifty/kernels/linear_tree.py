"""Routing rows through a tree of linear nodes.

A row's values are kept in the order they were bought, so that they line up with a node's weights:

    root buys 7, 2      child buys 4          held = [x7, x2, x4]
    root weights        [w7, w2]
    child weights       [w7, w2, w4]          one weight for everything on the path

Rows are walked a few at a time, level by level: the reads of one row wait for each other, those of several do not.
Positions are unsigned, because Numba checks every signed index for being negative.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from thrifty.kernels.dot import dot

TOGETHER = np.uint64(32)  # rows whose walks are interleaved
ONE = np.uint64(1)


class TreeArrays(NamedTuple):
    """The flat tree as the kernels see it; ``m`` nodes, ``k`` scores, ``d`` features."""

    at: np.ndarray  # (m + 1,) uint64, node -> where its path starts in `features`, `projection` and `scores`
    bought_at: np.ndarray  # (m,) uint64, node -> where, within its path, its own purchases start
    features: np.ndarray  # uint64, columns held at each node, in order of purchase, node after node
    projection: np.ndarray  # weights of the routing projection, one per feature held
    projection_intercept: np.ndarray  # (m,)
    threshold: np.ndarray  # (m,) upper child if projection > threshold
    scores: np.ndarray  # (k, .) weights of the answers
    score_intercept: np.ndarray  # (m, k)
    upper: np.ndarray  # (m,) int64, child, or -1: the row ends here
    lower: np.ndarray  # (m,)
    path_cost: np.ndarray  # (m,) what a row has paid when it is at the node
    prior: np.ndarray  # (k,) the answer of a row that cannot afford the root
    fill: np.ndarray  # (d,) what stands in for a value that was bought but is missing (NaN)


@njit(cache=True, nogil=True)
def weigh(held, weights, features, fill):
    """Weigh the values held; only if that gives NaN are missing ones looked for, and replaced for good."""
    total = dot(held, weights)
    if np.isnan(total):
        for j in range(features.size):
            if np.isnan(held[j]):
                held[j] = fill[features[j]]
        total = dot(held, weights)
    return total


@njit(cache=True, nogil=True)
def walk_rows(tree, X, cap, first, last, exits, scores):
    """Send rows first..last to their exits, buying only what each may pay for under its cap."""
    # Reading a field of the tuple counts a reference, which inside the loops would cost more than the arithmetic.
    at, bought_at, features, fill = tree.at, tree.bought_at, tree.features, tree.fill
    projection, intercept, threshold = tree.projection, tree.projection_intercept, tree.threshold
    upper, lower, path_cost = tree.upper, tree.lower, tree.path_cost
    score_weights, score_intercept, prior = tree.scores, tree.score_intercept, tree.prior
    held = np.empty((TOGETHER, np.uint64(longest_path(at))))
    walking = np.empty(TOGETHER, np.uint64)  # which of the rows walked together are still on their way
    for start in range(np.uint64(first), np.uint64(last), TOGETHER):
        stop = min(start + TOGETHER, np.uint64(last))
        n_walking = np.uint64(0)
        for i in range(start, stop):
            exits[i] = -1
            if path_cost[0] <= cap[i]:
                exits[i] = 0
                walking[n_walking] = i - start
                n_walking += ONE
        while n_walking:
            for k in range(n_walking):
                row = walking[k]
                node = np.uint64(exits[start + row])
                for j in range(bought_at[node], at[node + ONE]):
                    held[row, j - at[node]] = X[start + row, features[j]]
            n_before, n_walking = n_walking, np.uint64(0)
            for k in range(n_before):
                row = walking[k]
                node = np.uint64(exits[start + row])
                child = upper[node]
                if child != lower[node]:
                    a, b = at[node], at[node + ONE]
                    projected = weigh(held[row], projection[a:b], features[a:b], fill)
                    child = upper[node] if intercept[node] + projected > threshold[node] else lower[node]
                if child >= 0 and path_cost[np.uint64(child)] <= cap[start + row]:
                    exits[start + row] = child
                    walking[n_walking] = row
                    n_walking += ONE
        for i in range(start, stop):
            for c in range(np.uint64(prior.size)):
                if exits[i] < 0:
                    scores[i, c] = prior[c]
                else:
                    node = np.uint64(exits[i])
                    a, b = at[node], at[node + ONE]
                    weighed = weigh(held[i - start], score_weights[c, a:b], features[a:b], fill)
                    scores[i, c] = score_intercept[node, c] + weighed


@njit(cache=True, nogil=True)
def longest_path(at):
    """Return the largest number of features held at a node."""
    longest = np.uint64(0)
    for node in range(at.size - 1):
        longest = max(longest, at[node + 1] - at[node])
    return longest


@njit(cache=True, nogil=True)
def project_rows(X, rows, first, last, features, weights, intercept, out):
    """Projection of some rows on given features, summed exactly as `walk_rows` sums it."""
    held = np.empty(features.size)
    for r in range(first, last):
        row = np.uint64(rows[r])
        for j in range(features.size):
            held[j] = X[row, features[j]]
        out[r] = intercept + dot(held, weights)
