"""From least-squares scores to log-odds.

A node's least-squares score estimates the class probability on a linear scale and, on the rows it was fitted to,
with too much confidence. So the map to log-odds, slope * score + offset, is fitted to leave-one-out scores, which
for least squares come in closed form from the leverages h: y - (y - s) / (1 - h).

The slope is shrunk towards the one that agrees with the linear scale near even odds (2 for +-1 targets, the number
of classes for 0/1 targets), with the weight of about one row, so that a small node stays sane.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

ENOUGH_ROWS = 4096  # a slope and an offset need no more
LARGEST_LEVERAGE = 0.95
SMALLEST_SLOPE = 1e-3


def leave_one_out(scores: np.ndarray, targets: np.ndarray, leverages: np.ndarray) -> np.ndarray:
    """Return what each row's scores (n, k) would be had the row not been in the fit."""
    stay = 1.0 - np.minimum(leverages, LARGEST_LEVERAGE)
    return targets - (targets - scores) / stay[:, None]


def fit_log_odds(scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the slope and the offsets (k,) whose log-odds ``slope * scores + offsets`` fit the targets best."""
    n_scores = scores.shape[1]
    usual_slope = 2.0 if n_scores == 1 else float(n_scores)
    negative_log_likelihood = _binary if n_scores == 1 else _multiclass

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        slope, offsets = parameters[0], parameters[1:]
        loss, residual = negative_log_likelihood(slope * scores + offsets, targets)
        pull = np.concatenate([[slope - usual_slope], offsets])
        gradient = np.concatenate([[np.einsum("i,ij,ij", weight, residual, scores)], weight @ residual])
        return weight @ loss + 0.5 * pull @ pull, gradient + pull

    start = np.concatenate([[usual_slope], np.zeros(n_scores)])
    bounds = [(SMALLEST_SLOPE, None)] + [(None, None)] * n_scores
    best = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(best[0]), best[1:]


def prior_log_odds(targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the log-odds of the classes before anything is known of a row."""
    if targets.shape[1] == 1:
        return np.log(weight @ (targets > 0)) - np.log(weight @ (targets < 0))
    return np.log(weight @ targets) - np.log(weight.sum())


def prior_scores(targets: np.ndarray, weight: np.ndarray, classification: bool) -> np.ndarray:
    """Return the scores of a row of which nothing is known: prior log-odds, or the weighted mean of the targets."""
    return prior_log_odds(targets, weight) if classification else weight @ targets / weight.sum()


def _binary(log_odds: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return loss (n,) and its derivative (n, 1) for targets of +-1."""
    loss = np.logaddexp(0.0, -targets * log_odds)[:, 0]
    return loss, expit(log_odds) - (targets > 0)


def _multiclass(log_odds: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return loss (n,) and its derivative (n, k) for one-hot targets."""
    loss = logsumexp(log_odds, axis=1) - np.einsum("ij,ij->i", targets, log_odds)
    return loss, softmax(log_odds, axis=1) - targets
