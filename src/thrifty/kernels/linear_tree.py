"""Routing rows through a tree of linear nodes.

A row's values are kept in the order they were bought, so that a node's weights and the row's values line up
as two contiguous vectors:

    root buys 7, 2      child buys 4          held = [x7, x2, x4]
    root weights        [w7, w2]
    child weights       [w7, w2, w4]          one weight for everything on the path
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class TreeArrays(NamedTuple):
    """The flat tree as the kernels see it; ``m`` nodes, ``k`` scores."""

    bought_at: np.ndarray  # (m + 1,) node -> where its purchases start in `bought`
    bought: np.ndarray  # feature columns, node after node, in order of purchase
    weights_at: np.ndarray  # (m + 1,) node -> where its weights start in `projection` and `scores`
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
def dot(held, weights):
    """Sum held * weights over the weights' length, always in the same eight lanes.

    Without fastmath the order is part of the code, so a row scores the same bits alone and in a batch.
    """
    n = weights.size
    whole = n - n % 8
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for j in range(0, whole, 8):
        s0 += held[j] * weights[j]
        s1 += held[j + 1] * weights[j + 1]
        s2 += held[j + 2] * weights[j + 2]
        s3 += held[j + 3] * weights[j + 3]
        s4 += held[j + 4] * weights[j + 4]
        s5 += held[j + 5] * weights[j + 5]
        s6 += held[j + 6] * weights[j + 6]
        s7 += held[j + 7] * weights[j + 7]
    for j in range(whole, n):
        s0 += held[j] * weights[j]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@njit(cache=True, nogil=True)
def next_node(tree, node, held):
    """Tell which child the values held send a row to; -1 if it ends at this node."""
    if tree.upper[node] == tree.lower[node]:  # a pass-through node, or a leaf: nothing to decide
        return tree.upper[node]
    weights = tree.projection[tree.weights_at[node] : tree.weights_at[node + 1]]
    if tree.projection_intercept[node] + dot(held, weights) > tree.threshold[node]:
        return tree.upper[node]
    return tree.lower[node]


@njit(cache=True, nogil=True)
def score_at(tree, node, held, score):
    """Write the answer of a node (-1: of a row that bought nothing) into `score`."""
    for c in range(score.size):
        if node < 0:
            score[c] = tree.prior[c]
        else:
            weights = tree.scores[c, tree.weights_at[node] : tree.weights_at[node + 1]]
            score[c] = tree.score_intercept[node, c] + dot(held, weights)


@njit(cache=True, nogil=True)
def walk_rows(tree, X, cap, first, last, node_acquires, exits, scores, acquired):
    """Send rows first..last to their exits, buying only what each may pay for under its cap."""
    held = np.empty(tree.bought.size)
    for i in range(first, last):
        node, n_held, target = -1, 0, 0
        while target >= 0 and tree.path_cost[target] <= cap[i]:
            node = target
            for j in range(tree.bought_at[node], tree.bought_at[node + 1]):
                value = X[i, tree.bought[j]]
                held[n_held] = tree.fill[tree.bought[j]] if np.isnan(value) else value
                n_held += 1
            target = next_node(tree, node, held)
        exits[i] = node
        score_at(tree, node, held, scores[i])
        acquired[i] = node_acquires[node]  # the last line, [-1], is the empty purchase


@njit(cache=True, nogil=True)
def project_rows(X, rows, first, last, features, weights, intercept, out):
    """Projection of some rows on given features, summed exactly as `next_node` sums it."""
    held = np.empty(features.size)
    for r in range(first, last):
        for j in range(features.size):
            held[j] = X[rows[r], features[j]]
        out[r] = intercept + dot(held, weights)
