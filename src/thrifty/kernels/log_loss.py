"""Log-loss of two classes: derivatives, and sums.

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
