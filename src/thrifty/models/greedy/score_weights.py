"""The weights of a node's scores: least squares in regression, calibrated log-odds in classification."""

import numpy as np

from thrifty.models.least_squares.calibration import ENOUGH_ROWS, fit_log_odds, leave_one_out
from thrifty.models.least_squares.forward_fit import ForwardFit

Linear = tuple[np.ndarray, np.ndarray]  # weights (n_scores, n_selected) and intercepts (n_scores,)


def score_weights(fit: ForwardFit, least_squares: Linear, classification: bool) -> Linear:
    """Return the weights and the intercepts of the scores that a node answers with.

    Parameters
    ----------
    fit : ForwardFit
        The least-squares model of the node.
    least_squares : tuple of ndarray
        Its weights and intercepts.
    classification : bool
        Whether to return those of calibrated log-odds instead.

    Returns
    -------
    weights : ndarray of shape (n_scores, n_selected)
    intercepts : ndarray of shape (n_scores,)
    """
    return _log_odds_weights(fit, *least_squares) if classification else least_squares


def _log_odds_weights(fit: ForwardFit, weights: np.ndarray, intercepts: np.ndarray) -> Linear:
    values, targets, row_weight, probability = fit.moments.sample(ENOUGH_ROWS, fit.selected)
    left_out = leave_one_out(values @ weights.T + intercepts, targets, probability * fit.leverages(values))
    slope, offsets = fit_log_odds(left_out, targets, row_weight)
    return slope * weights, slope * intercepts + offsets
