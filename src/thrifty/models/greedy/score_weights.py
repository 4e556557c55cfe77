"""The weights of a node's scores: least squares in regression, calibrated log-odds in classification."""

import numpy as np

from thrifty.models.least_squares.calibration import ENOUGH_ROWS, fit_log_odds, leave_one_out
from thrifty.models.least_squares.forward_fit import ForwardFit


def score_weights(fit: ForwardFit, classification: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the scores that a node answers with.

    Parameters
    ----------
    fit : ForwardFit
        The least-squares model of the node.
    classification : bool
        Whether to return the weights of calibrated log-odds instead of those of the least-squares prediction.

    Returns
    -------
    weights : ndarray of shape (n_scores, n_selected)
    intercepts : ndarray of shape (n_scores,)
    """
    return _log_odds_weights(fit) if classification else fit.coefficients()


def _log_odds_weights(fit: ForwardFit) -> tuple[np.ndarray, np.ndarray]:
    weights, intercepts = fit.coefficients()
    values, targets, row_weight, probability = fit.moments.sample(ENOUGH_ROWS, fit.selected)
    left_out = leave_one_out(values @ weights.T + intercepts, targets, probability * fit.leverages(values))
    slope, offsets = fit_log_odds(left_out, targets, row_weight)
    return slope * weights, slope * intercepts + offsets
