"""Conversion of least-squares scores to log-odds.

The least-squares score s of a node is an estimate of the class probability on a linear scale. On the rows that the
node was fitted to, it is overconfident. Therefore the conversion

    log-odds = slope * s + offset

is fitted to leave-one-out scores. For least squares these have a closed form, y - (y - s) / (1 - h), where y is the
target of the row and h its leverage.

The slope and the offset are chosen by maximum likelihood with a penalty of about the weight of one row. The penalty
keeps the log-odds of small nodes moderate. It pulls the offset to 0 and the slope to the value at which log-odds and
linear scale agree for equally likely classes: 2 for targets of +-1, the number of classes for one-hot targets.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from thrifty.arrays import namespace_of
from thrifty.kernels.log_loss import sum_of_class_log_losses

ENOUGH_ROWS = 4096  # more rows would not make a slope and an offset much more precise
LARGEST_LEVERAGE = 0.95
SMALLEST_SLOPE = 1e-3


def leave_one_out(scores: Any, targets: Any, leverages: Any) -> Any:
    """Return the scores that each row would have if the fit had left it out.

    Parameters
    ----------
    scores : array of shape (n, k)
        Scores of a least-squares fit to the targets.
    targets : array of shape (n, k)
    leverages : array of shape (n,)
        Diagonal of the hat matrix of the fit.

    Returns
    -------
    array of shape (n, k)
    """
    residual_share = 1.0 - namespace_of(leverages).clip(leverages, None, LARGEST_LEVERAGE)
    return targets - (targets - scores) / residual_share[:, None]


def fit_log_odds(scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the slope and the offsets for which the log-odds ``slope * scores + offsets`` fit the targets best.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
    targets : ndarray of shape (n, k)
        One column of +-1, or one-hot columns.
    weight : ndarray of shape (n,)
        Weight of each row.

    Returns
    -------
    slope : float
    offsets : ndarray of shape (k,)
    """
    n_scores = scores.shape[1]
    usual = np.concatenate([[2.0 if n_scores == 1 else float(n_scores)], np.zeros(n_scores)])
    scores, targets, weight = (np.ascontiguousarray(each, dtype=float) for each in (scores, targets, weight))
    negative_log_likelihood = _binary_loss if n_scores == 1 else _multiclass_loss

    def objective(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = negative_log_likelihood(parameters[0], parameters[1:], scores, targets, weight)
        shift = parameters - usual  # the penalty is |shift|² / 2
        return loss + 0.5 * shift @ shift, gradient + shift

    bounds = [(SMALLEST_SLOPE, None)] + [(None, None)] * n_scores
    best = minimize(objective, usual, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(best[0]), best[1:]


class PriorSums(NamedTuple):
    """Sums over rows that the scores of a row without any feature are computed from.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    targets : ndarray of shape (k,)
        Weighted sums of the targets.
    above, below : ndarray of shape (k,)
        Weight of the rows with a target above zero, and below zero.
    """

    weight: float
    targets: np.ndarray
    above: np.ndarray
    below: np.ndarray


def prior_sums(block: Any) -> PriorSums:
    """Return the sums over a block of rows with `targets` and a `count` of each row."""
    targets, weight = block.targets, block.count
    return PriorSums(weight.sum(), weight @ targets, weight @ (targets > 0), weight @ (targets < 0))


def prior_of(sums: Sequence[Any], classification: bool) -> np.ndarray:
    """Return the scores of a row without any feature from the `PriorSums` of all rows.

    They are the log-odds of the classes, for targets of +-1 or one-hot targets, or the weighted means of the targets.
    """
    weight, targets, above, below = sums
    if not classification:
        return targets / weight
    if len(targets) == 1:
        return np.log(above) - np.log(below)
    return np.log(targets) - np.log(weight)


def prior_scores(targets: np.ndarray, weight: np.ndarray, classification: bool) -> np.ndarray:
    """Return the scores of a row without any feature: prior log-odds, or the weighted mean of the targets."""
    return prior_of(prior_sums(SimpleNamespace(targets=targets, count=weight)), classification)


def _binary_loss(
    slope: float, offsets: np.ndarray, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the weighted loss for targets of +-1, and its derivatives by the slope and the offset."""
    log_odds = slope * scores + offsets
    loss, residual = np.logaddexp(0.0, -targets * log_odds)[:, 0], expit(log_odds) - (targets > 0)
    return weight @ loss, np.concatenate([[np.einsum("i,ij,ij", weight, residual, scores)], weight @ residual])


def _multiclass_loss(
    slope: float, offsets: np.ndarray, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the weighted loss for one-hot targets, and its derivatives by the slope and the offsets."""
    gradient = np.empty(1 + len(offsets))
    return sum_of_class_log_losses(slope, offsets, scores, targets, weight, gradient), gradient
