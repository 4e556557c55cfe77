"""Log-loss: derivatives, and sums.

s    score of a row, the log-odds of class 1      y    its class, 0 or 1      w    its weight
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def log_loss_derivatives(s, y, w, first, last, gradient, hessian):
    """Write w (p - y) and w p (1 - p) of rows first..last, with the probability p of class 1."""
    for i in range(first, last):
        p = 1.0 / (1.0 + np.exp(-s[i]))
        gradient[i] = w[i] * (p - y[i])
        hessian[i] = w[i] * (p * (1.0 - p))


@njit(cache=True, nogil=True)
def sum_of_log_losses(s, y, w):
    """Return the weighted sum of log(1 + exp(s)) - y s, and the sum of the weights."""
    total, weight = 0.0, 0.0
    for i in range(s.size):
        total += w[i] * (max(s[i], 0.0) + np.log1p(np.exp(-abs(s[i]))) - y[i] * s[i])
        weight += w[i]
    return total, weight


@njit(cache=True, nogil=True)
def sum_of_class_log_losses(slope, offsets, scores, targets, w, gradient):
    """Return the weighted sum of the log-losses of the log-odds slope * scores + offsets, for one-hot targets.

    The derivatives by the slope and by the offsets are written to `gradient` (1 + n_classes).
    """
    n_classes = offsets.size
    odds, total_loss = np.empty(n_classes), 0.0
    gradient[:] = 0.0
    for i in range(scores.shape[0]):
        highest = -np.inf
        for k in range(n_classes):
            odds[k] = slope * scores[i, k] + offsets[k]
            highest = max(highest, odds[k])
        total = 0.0
        for k in range(n_classes):
            total += np.exp(odds[k] - highest)
        loss = highest + np.log(total)
        for k in range(n_classes):
            loss -= targets[i, k] * odds[k]
            residual = w[i] * (np.exp(odds[k] - highest) / total - targets[i, k])
            gradient[0] += residual * scores[i, k]
            gradient[1 + k] += residual
        total_loss += w[i] * loss
    return total_loss
