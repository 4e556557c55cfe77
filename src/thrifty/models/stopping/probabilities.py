"""From scores to probabilities: as they are where they are log-odds, else by one factor, the one that fits best.

There is no offset, for the decision has to stay where the predictor has it.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, softmax

FACTORS = (1e-3, 1e2)  # smallest and largest, for scores of unit size
ENOUGH_ROWS = 2048  # for one factor


def as_probabilities(log_odds: np.ndarray) -> np.ndarray:
    """Return probabilities (n, n_classes) from log-odds of the second class (n, 1), or from one number a class."""
    if log_odds.shape[1] == 1:
        return np.column_stack([expit(-log_odds), expit(log_odds)])
    return softmax(log_odds, axis=1)


def are_log_odds(estimator: Any, X: Any, scores: np.ndarray) -> bool:
    """Tell whether the probabilities that a predictor itself gives to rows are those of its scores."""
    if not hasattr(estimator, "predict_proba"):
        return False
    return np.allclose(estimator.predict_proba(X), as_probabilities(scores), atol=1e-6)


def best_slope(scores: np.ndarray, targets: np.ndarray, count: np.ndarray) -> float:
    """Return the factor that makes log-odds of full scores (n, n_scores), by likelihood."""
    size = np.sqrt(np.mean(scores**2))
    if size == 0:
        return 1.0

    def loss(log_slope: float) -> float:
        return float(count @ _log_loss(np.exp(log_slope) * scores, targets) / count.sum())

    return float(np.exp(minimize_scalar(loss, bounds=np.log(np.array(FACTORS) / size), method="bounded").x))


def _log_loss(log_odds: np.ndarray, targets: np.ndarray) -> np.ndarray:
    if log_odds.shape[1] == 1:
        return np.logaddexp(0.0, -targets * log_odds)[:, 0]
    return logsumexp(log_odds, axis=1) - np.einsum("ij,ij->i", targets, log_odds)
