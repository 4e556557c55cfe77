"""Conversion of scores to log-odds: log-odds = slope * score.

The slope is 1 if the predictor's own probabilities are those of its scores. Otherwise it maximises the likelihood of
the training rows. There is no offset, so that the decision of the predictor stays at 0.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, softmax

SLOPES = (1e-3, 1e2)  # smallest and largest slope, for scores with a root mean square of 1
ENOUGH_ROWS = 2048  # more rows would not make the slope much more precise


def as_probabilities(log_odds: np.ndarray) -> np.ndarray:
    """Return probabilities (n, n_classes) from log-odds of the second class (n, 1), or from one score per class."""
    if log_odds.shape[1] == 1:
        return np.column_stack([expit(-log_odds), expit(log_odds)])
    return softmax(log_odds, axis=1)


def are_log_odds(estimator: Any, X: Any, scores: np.ndarray) -> bool:
    """Return whether the scores (n, n_scores) of rows give the probabilities that the predictor itself returns."""
    if not hasattr(estimator, "predict_proba"):
        return False
    return np.allclose(estimator.predict_proba(X), as_probabilities(scores), atol=1e-6)


def best_slope(scores: np.ndarray, targets: np.ndarray, count: np.ndarray) -> float:
    """Return the slope with the largest likelihood of the targets.

    Parameters
    ----------
    scores : ndarray of shape (n, n_scores)
        Full scores.
    targets : ndarray of shape (n, n_scores)
        One column of +-1, or one-hot columns.
    count : ndarray of shape (n,)
        How often each row counts.
    """
    size = np.sqrt(np.mean(scores**2))
    if size == 0:
        return 1.0

    def loss(log_slope: float) -> float:
        return float(count @ _log_loss(np.exp(log_slope) * scores, targets) / count.sum())

    return float(np.exp(minimize_scalar(loss, bounds=np.log(np.array(SLOPES) / size), method="bounded").x))


def _log_loss(log_odds: np.ndarray, targets: np.ndarray) -> np.ndarray:
    if log_odds.shape[1] == 1:
        return np.logaddexp(0.0, -targets * log_odds)[:, 0]
    return logsumexp(log_odds, axis=1) - np.einsum("ij,ij->i", targets, log_odds)
