"""Soft traversal of a tree of linear nodes: probabilities on the way down, derivatives on the way up.

    sigma   (n, K)  probability of going on to the upper side of a node, eq. (4)
    reach   (n, K)  probability of reaching a node
    exits   (K, 2)  terminal elements: [k, 0] above node k, or the only one of a leaf; [k, 1] below it

A child is -1 where a side ends in a terminal element. Nodes are numbered so that a child follows its parent.
"""

import math

import numpy as np
from numba import njit

UPPER, LOWER = 0, 1


@njit(cache=True, nogil=True)
def descend_rows(
    scores, weight, upper, lower, directions, thresholds, sharpness, first, last, sigma, reach, mass, exit_mass
):
    """Fill sigma and reach of rows first..last, and add their weighted sums to mass (K,) and exit_mass (K, 2)."""
    n_nodes, n_scores = directions.shape
    for i in range(first, last):
        reach[i, 0] = 1.0
        for k in range(n_nodes):
            here = reach[i, k]
            mass[k] += weight[i] * here
            if upper[k] < 0 and lower[k] < 0:
                exit_mass[k, UPPER] += weight[i] * here
                continue
            projected = -thresholds[k]
            for c in range(n_scores):
                projected += directions[k, c] * scores[i, k * n_scores + c]
            up = 1.0 / (1.0 + math.exp(-sharpness * projected))
            sigma[i, k] = up
            if upper[k] >= 0:
                reach[i, upper[k]] = here * up
            else:
                exit_mass[k, UPPER] += weight[i] * here * up
            if lower[k] >= 0:
                reach[i, lower[k]] = here * (1.0 - up)
            else:
                exit_mass[k, LOWER] += weight[i] * here * (1.0 - up)


@njit(cache=True, nogil=True)
def ascend_rows(
    scores,
    targets,
    weight,
    loss_weight,
    upper,
    lower,
    directions,
    sharpness,
    sigma,
    reach,
    node_price,
    exit_price,
    logistic,
    by_exit,
    first,
    last,
    residual,
    threshold_gradient,
):
    """Return the expected loss of rows first..last; fill its derivatives by the scores into `residual`.

    `node_price` and `exit_price` are the derivatives of the penalty by the mass of each node and terminal element.
    A node's loss counts with the probability of reaching it or, `by_exit`, of ending there.
    """
    n_nodes, n_scores = directions.shape
    to_go = np.empty(n_nodes)  # derivative of the objective by the probability of reaching each node
    slope = np.empty(n_scores)
    total = 0.0
    for i in range(first, last):
        # Class weights count for the loss alone: dividing here lets one weight per row be applied throughout.
        loss_share = loss_weight[i] / weight[i]
        for k in range(n_nodes - 1, -1, -1):
            loss = loss_at(scores, targets, i, k * n_scores, n_scores, logistic, slope) * loss_share
            leaf = upper[k] < 0 and lower[k] < 0
            carried, turn = reach[i, k], 0.0
            if leaf:
                to_go[k] = node_price[k] + exit_price[k, UPPER] + loss
            else:
                up = sigma[i, k]
                ending = loss if by_exit else 0.0
                above = to_go[upper[k]] if upper[k] >= 0 else exit_price[k, UPPER] + ending
                below = to_go[lower[k]] if lower[k] >= 0 else exit_price[k, LOWER] + ending
                to_go[k] = node_price[k] + up * above + (1.0 - up) * below
                turn = weight[i] * reach[i, k] * sharpness * up * (1.0 - up) * (above - below)
                threshold_gradient[k] -= turn
                if by_exit:
                    carried *= (up if upper[k] < 0 else 0.0) + (1.0 - up if lower[k] < 0 else 0.0)
                else:
                    to_go[k] += loss
            total += weight[i] * carried * loss
            for c in range(n_scores):
                residual[i, k * n_scores + c] = loss_weight[i] * carried * slope[c] + turn * directions[k, c]
    return total


@njit(cache=True, nogil=True)
def loss_at(scores, targets, i, at, n_scores, logistic, slope):
    """Return the loss of row i's scores from position `at` on, and fill its derivatives into `slope`."""
    if not logistic:
        loss = 0.0
        for c in range(n_scores):
            off = scores[i, at + c] - targets[i, c]
            loss += off * off
            slope[c] = 2.0 * off
        return loss
    if n_scores == 1:
        margin = targets[i, 0] * scores[i, at]
        wrong = 1.0 / (1.0 + math.exp(margin)) if margin < 700.0 else 0.0
        slope[0] = -targets[i, 0] * wrong
        return math.log1p(math.exp(-margin)) if margin > 0 else math.log1p(math.exp(margin)) - margin
    highest = -math.inf
    for c in range(n_scores):
        highest = max(highest, scores[i, at + c])
    total, aimed = 0.0, 0.0
    for c in range(n_scores):
        slope[c] = math.exp(scores[i, at + c] - highest)
        total += slope[c]
        aimed += targets[i, c] * (scores[i, at + c] - highest)
    for c in range(n_scores):
        slope[c] = slope[c] / total - targets[i, c]
    return math.log(total) - aimed
