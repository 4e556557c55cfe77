"""The answers of greedy least-squares nodes: predictions in regression, calibrated log-odds in classification."""

import numpy as np

from thrifty.models.least_squares.calibration import ENOUGH_ROWS, fit_log_odds, leave_one_out
from thrifty.models.least_squares.forward_fit import ForwardFit


def plain_answer(fit: ForwardFit) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (n_scores, n_selected) and intercepts (n_scores,) of the least-squares prediction."""
    return fit.coefficients()


def log_odds_answer(fit: ForwardFit) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and intercepts that give calibrated log-odds, again linear in the features."""
    weights, intercepts = fit.coefficients()
    rows, row_weight, probability = fit.moments.sample(ENOUGH_ROWS)
    data = fit.moments.data
    values = data.X[rows[:, None], fit.selected].astype(float)
    targets = data.targets[rows]
    left_out = leave_one_out(values @ weights.T + intercepts, targets, probability * fit.leverages(values))
    slope, offsets = fit_log_odds(left_out, targets, row_weight)
    return slope * weights, slope * intercepts + offsets
