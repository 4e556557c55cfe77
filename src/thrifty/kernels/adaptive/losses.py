"""The losses of scores."""

import numpy as np
from numba import njit

LOG_LOSS, SQUARED_LOSS, ERROR_COSTS = 0, 1, 2  # kinds of loss
SMALLEST_PROBABILITY = 1e-12


@njit(cache=True, nogil=True)
def losses_of(scores, targets, error_costs, kind, out):
    """Write the losses (n, m) of scores (n, m, s) of rows with these targets (n,)."""
    for i in range(scores.shape[0]):
        for t in range(scores.shape[1]):
            out[i, t] = loss_of(scores[i, t], targets[i], error_costs, kind)


@njit(cache=True, nogil=True)
def loss_of(scores, target, error_costs, kind):
    """Return the loss of the scores of a row.

    LOG_LOSS: -log of the probability of the class `target`. SQUARED_LOSS: half the squared error. ERROR_COSTS: the
    cost of the answer with the smallest expected cost, error_costs[true class, answer].
    """
    if kind == SQUARED_LOSS:
        return 0.5 * (scores[0] - target) ** 2
    truth = int(target)
    if kind == LOG_LOSS and scores.size == 1:
        signed = scores[0] if truth == 1 else -scores[0]
        return np.log1p(np.exp(-signed)) if signed > 0 else np.log1p(np.exp(signed)) - signed
    n_classes = max(scores.size, 2)
    p = np.empty(n_classes)
    if scores.size == 1:
        p[1] = 1.0 / (1.0 + np.exp(-scores[0]))
        p[0] = 1.0 - p[1]
    else:
        p[:] = np.exp(scores - scores.max())
        p /= p.sum()
    if kind == LOG_LOSS:
        return -np.log(max(p[truth], SMALLEST_PROBABILITY))
    best, least = 0, np.inf
    for answer in range(error_costs.shape[1]):
        expected = 0.0
        for k in range(n_classes):
            expected += p[k] * error_costs[k, answer]
        if expected < least:
            best, least = answer, expected
    return error_costs[truth, best]
