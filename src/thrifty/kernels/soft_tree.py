"""Soft traversal of a tree of linear nodes: probabilities from the root down, derivatives from the leaves up.

Xu, Kusner, Weinberger, Chen, Chapelle (2014), Classifier cascades and trees for minimizing feature evaluation cost,
JMLR 15. For n rows and K nodes:

    sigma      (n, K)  probability that a row at a node goes to its upper side, eq. (4):
                       sigma = 1 / (1 + exp(-sharpness * (direction . scores - threshold)))
    reach      (n, K)  probability that a row reaches a node
    mass       (K,)    weighted sum of reach over the rows
    exit_mass  (K, 2)  weighted sum of the probability to end at a terminal element: [k, 0] is the upper side of node k,
                       or the only terminal element of a leaf; [k, 1] is the lower side

A child of -1 means that this side of a node is a terminal element. A child has a larger number than its parent.
"""

import math

import numpy as np
from numba import njit

UPPER, LOWER = 0, 1


@njit(cache=True, nogil=True)
def descend_rows(
    scores, weight, upper, lower, directions, thresholds, sharpness, first, last, sigma, reach, mass, exit_mass
):
    """Write sigma and reach of rows first..last, and add their weighted sums to mass and exit_mass."""
    n_nodes, n_scores = directions.shape
    for i in range(first, last):
        reach[i, 0] = 1.0
        for k in range(n_nodes):
            p = reach[i, k]
            mass[k] += weight[i] * p
            if upper[k] < 0 and lower[k] < 0:
                exit_mass[k, UPPER] += weight[i] * p
                continue
            projected = -thresholds[k]
            for c in range(n_scores):
                projected += directions[k, c] * scores[i, k * n_scores + c]
            up = 1.0 / (1.0 + math.exp(-sharpness * projected))
            sigma[i, k] = up
            if upper[k] >= 0:
                reach[i, upper[k]] = p * up
            else:
                exit_mass[k, UPPER] += weight[i] * p * up
            if lower[k] >= 0:
                reach[i, lower[k]] = p * (1.0 - up)
            else:
                exit_mass[k, LOWER] += weight[i] * p * (1.0 - up)


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
    """Return the expected loss of rows first..last, and write the derivatives of the objective.

    The objective is the expected loss plus a penalty that depends on the masses.

    node_price           (K,)  derivative of the penalty with respect to the mass of each node
    exit_price           (K, 2)  derivative of the penalty with respect to the mass of each terminal element
    by_exit              the loss of a node counts with the probability of ending there, else of reaching it
    residual             (n, K * n_scores)  derivative of the objective with respect to the scores; written
    threshold_gradient   (K,)  derivative of the objective with respect to the thresholds; added to
    """
    n_nodes, n_scores = directions.shape
    by_reach = np.empty(n_nodes)  # derivative of the objective with respect to reach, divided by the weight of the row
    loss_gradient = np.empty(n_scores)
    total = 0.0
    for i in range(first, last):
        # Class weights apply to the loss only. With this ratio, everything else can use the same weight of the row.
        loss_share = loss_weight[i] / weight[i]
        for k in range(n_nodes - 1, -1, -1):
            loss = loss_at(scores, targets, i, k * n_scores, n_scores, logistic, loss_gradient) * loss_share
            leaf = upper[k] < 0 and lower[k] < 0
            loss_probability, by_projection = reach[i, k], 0.0
            if leaf:
                by_reach[k] = node_price[k] + exit_price[k, UPPER] + loss
            else:
                up = sigma[i, k]
                exit_loss = loss if by_exit else 0.0
                above = by_reach[upper[k]] if upper[k] >= 0 else exit_price[k, UPPER] + exit_loss
                below = by_reach[lower[k]] if lower[k] >= 0 else exit_price[k, LOWER] + exit_loss
                by_reach[k] = node_price[k] + up * above + (1.0 - up) * below
                by_projection = weight[i] * reach[i, k] * sharpness * up * (1.0 - up) * (above - below)
                threshold_gradient[k] -= by_projection
                if by_exit:
                    loss_probability *= (up if upper[k] < 0 else 0.0) + (1.0 - up if lower[k] < 0 else 0.0)
                else:
                    by_reach[k] += loss
            total += weight[i] * loss_probability * loss
            for c in range(n_scores):
                residual[i, k * n_scores + c] = (
                    loss_weight[i] * loss_probability * loss_gradient[c] + by_projection * directions[k, c]
                )
    return total


@njit(cache=True, nogil=True, forceinline=True)  # a call for each row and node would take most of the time
def loss_at(scores, targets, i, start, n_scores, logistic, loss_gradient):
    """Return the loss of scores[i, start:start + n_scores], and write its gradient.

    The loss is the squared error or, if `logistic`, the logistic loss: log(1 + exp(-y s)) of one score with a target y
    of -1 or 1, else the cross-entropy of the softmax of several scores with a one-hot target.
    """
    if not logistic:
        loss = 0.0
        for c in range(n_scores):
            error = scores[i, start + c] - targets[i, c]
            loss += error * error
            loss_gradient[c] = 2.0 * error
        return loss
    if n_scores == 1:
        margin = targets[i, 0] * scores[i, start]
        p_wrong = 1.0 / (1.0 + math.exp(margin)) if margin < 700.0 else 0.0  # exp would overflow above 709
        loss_gradient[0] = -targets[i, 0] * p_wrong
        return math.log1p(math.exp(-margin)) if margin > 0 else math.log1p(math.exp(margin)) - margin
    largest = -math.inf
    for c in range(n_scores):
        largest = max(largest, scores[i, start + c])
    total, target_score = 0.0, 0.0
    for c in range(n_scores):
        loss_gradient[c] = math.exp(scores[i, start + c] - largest)
        total += loss_gradient[c]
        target_score += targets[i, c] * (scores[i, start + c] - largest)
    for c in range(n_scores):
        loss_gradient[c] = loss_gradient[c] / total - targets[i, c]
    return math.log(total) - target_score
