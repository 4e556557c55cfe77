"""Calibration of the prefixes of a forest: predictions for rows that could pay for some rounds only.

The sum of the first trees is not a prediction by itself. LightGBM adds its initial score to the leaves of the first
trees, and a booster that starts from 0 learns the shares of the classes step by step. So the prediction after k rounds
adds what the other rounds are expected to add, and nothing after the last round:

    prediction after k rounds  =  link(base + multipliers[k] * (outputs of rounds 1..k) + intercepts[k])

The multiplier is 1 unless the forest is an average of n trees, whose leaves are divided by n. It is then n / (k + 1):
the prior counts as one more tree, because one or two trees are often worse than the prior by themselves.

Without rows, the intercept is the sum of what is expected of the other trees; see `Forest`. With rows, the intercepts
after each number of rounds are fitted: the mean prediction is then the mean target (for classes: the mean probability
of each class is its share). The multipliers of an average are fitted too, by least squares.

If probabilities are averaged, the prediction after k rounds is w * (average of k trees) + (1 - w) * (shares of the
classes), where w is fitted and at most k / (k + 1). Free intercepts could make a probability 0 or less.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import minimize, root_scalar
from scipy.special import logsumexp, softmax

from thrifty.models.forests.task import Task

FIRST_WIDTH, N_DOUBLINGS = 1e-3, 90  # of the interval in which an intercept is searched


def best_multiplier(deviation: np.ndarray, target: np.ndarray, share: np.ndarray, largest: float) -> float:
    """Return the multiplier of the sums that fits the targets best, from 0 to `largest`.

    With the sums d above the base and the targets t, both centred, it minimises sum of share * (t - multiplier * d)^2.

    Parameters
    ----------
    deviation, target : ndarray of shape (n, n_scores)
    share : ndarray of shape (n,)
        The weight of each row; they add up to 1.
    largest : float
        The largest multiplier to consider.

    Returns
    -------
    float
    """
    deviation, target = deviation - share @ deviation, target - share @ target
    spread = (share @ deviation**2).sum()
    return float(np.clip((share @ (deviation * target)).sum() / spread, 0.0, largest)) if spread > 0 else 0.0


def matching_intercepts(
    sums: np.ndarray, task: Task, target: np.ndarray, share: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Return the intercepts with which the mean prediction is the mean target.

    Parameters
    ----------
    sums : ndarray of shape (n, n_scores)
        The sums of the rows after some rounds.
    task : Task
        How sums become predictions.
    target : ndarray of shape (n_scores,)
        The mean target of the rows: the share of each class in classification, of the second one if there are two.
    share : ndarray of shape (n,)
        The weight of each row; they add up to 1.
    start : ndarray of shape (n_scores,)
        The expected intercepts, from which the search starts.

    Returns
    -------
    ndarray of shape (n_scores,)
    """
    if task.is_softmax and sums.shape[1] > 1:
        return _softmax_intercepts(task.scale * sums, target, share, task.scale * start) / task.scale

    def excess(intercept: float, score: int) -> float:
        return float(share @ task.means(sums[:, score] + intercept) - target[score])

    with np.errstate(over="ignore"):  # the ends of a search may be far away
        return np.array([_root(partial(excess, score=k), start[k]) for k in range(len(target))])


def _root(excess: Callable[[float], float], start: float) -> float:
    """Return where an increasing function is 0."""
    below, above = (_bound(excess, start, side) for side in (-1.0, 1.0))
    return float(root_scalar(excess, bracket=(below, above)).root)


def _bound(excess: Callable[[float], float], start: float, side: float) -> float:
    """Return a number on one side of `start` at which the function has that sign."""
    for width in FIRST_WIDTH * 2.0 ** np.arange(N_DOUBLINGS):
        if side * excess(start + side * width) >= 0:
            return start + side * width
    raise ValueError(
        "Forest: the mean of y is not a number that the model can predict. Pass the targets of its own task."
    )


def _softmax_intercepts(scores: np.ndarray, target: np.ndarray, share: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the intercepts with the smallest log loss: the mean probabilities are then the shares of the classes."""

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        return share @ logsumexp(scores + b, axis=1) - target @ b, share @ softmax(scores + b, axis=1) - target

    return minimize(loss, start, jac=True, method="L-BFGS-B").x
