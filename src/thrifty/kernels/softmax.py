"""Scores of several classes: probabilities, derivatives along one direction, and Newton steps.

s    scores of a row, one per class      p    probabilities, softmax(s)      y    class of a row
u    direction in the space of scores    K    number of classes
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def softmax_along(scores, classes, weight, direction, first, last, p, gradient, hessian):
    """Write p (n, K) and the derivatives (n,) of the log-loss along u: w (u . p - u_y) and w Var_p(u)."""
    n_classes = scores.shape[1]
    for i in range(first, last):
        highest, total = _highest(scores, i), 0.0
        for k in range(n_classes):
            p[i, k] = np.exp(scores[i, k] - highest)
            total += p[i, k]
        mean, square = 0.0, 0.0
        for k in range(n_classes):
            p[i, k] /= total
            mean += p[i, k] * direction[k]
            square += p[i, k] * direction[k] ** 2
        gradient[i] = weight[i] * (mean - direction[classes[i]])
        hessian[i] = weight[i] * max(square - mean**2, 0.0)


@njit(cache=True, nogil=True)
def step_classes(leaves, p, classes, weight, ridge, rate, scores, steps):
    """Write `rate` times the Newton steps of each leaf into `steps` (n_nodes, K), and add them to its rows."""
    for at in range(leaves.node.size):
        step = steps[leaves.node[at]]
        own = leaves.bag[leaves.bag_span[at, 0] : leaves.bag_span[at, 1]]
        newton_steps(own, p, classes, weight, ridge, step)
        step *= rate
        add_steps(own, step, scores)
        add_steps(leaves.rest[leaves.rest_span[at, 0] : leaves.rest_span[at, 1]], step, scores)


@njit(cache=True, nogil=True)
def newton_steps(rows, p, classes, weight, ridge, out):
    """Write the Newton step -G / (H + ridge) of each class over the rows of a leaf, with H = K / (K - 1) p (1 - p)."""
    n_classes = out.size
    correction = n_classes / (n_classes - 1.0)
    H = np.full(n_classes, ridge)
    out[:] = 0.0
    for r in rows:
        w = weight[r]
        for k in range(n_classes):
            out[k] -= w * p[r, k]
            H[k] += correction * w * p[r, k] * (1.0 - p[r, k])
        out[classes[r]] += w
    for k in range(n_classes):
        out[k] = out[k] / H[k] if H[k] > 0 else 0.0


@njit(cache=True, nogil=True)
def add_steps(rows, step, scores):
    """Add the steps of a leaf to the scores (n, K) of its rows."""
    for r in rows:
        for k in range(step.size):
            scores[r, k] += step[k]


@njit(cache=True, nogil=True)
def class_losses(scores, classes, rows, first, last, out):
    """Write the log-loss of rows[first..last]."""
    for at in range(first, last):
        i = rows[at]
        highest, total = _highest(scores, i), 0.0
        for k in range(scores.shape[1]):
            total += np.exp(scores[i, k] - highest)
        out[at] = highest + np.log(total) - scores[i, classes[i]]


@njit(cache=True, nogil=True)
def _highest(scores, i):
    """Return the largest score of a row, faster than ``scores[i].max()``."""
    highest = scores[i, 0]
    for k in range(1, scores.shape[1]):
        highest = max(highest, scores[i, k])
    return highest
