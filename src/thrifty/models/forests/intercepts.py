"""Intercepts for the prefixes of a forest: what is added to the sums of a row that could pay for some rounds only.

The sum of the first trees is not a prediction by itself. LightGBM adds its initial score to the leaves of the first
trees, and a booster that starts from 0 learns the shares of the classes step by step. So the prediction after k rounds
adds what the other rounds are expected to add, and nothing after the last round:

    prediction after k rounds  =  link(base + outputs of rounds 1..k + intercepts[k]),   intercepts[n_rounds] = 0

Without rows, the expectation of a tree is the mean of its leaves over the training rows, as the original recorded them;
see `Forest`. With rows, the intercepts after each number of rounds are fitted: the mean prediction is then the mean
target (for classes: the mean probability of each class is its share).
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.optimize import minimize, root_scalar
from scipy.special import logsumexp, softmax

from thrifty.models.forests.task import Task

FIRST_WIDTH, N_DOUBLINGS = 1e-3, 90  # of the interval in which an intercept is searched


def fitted_intercepts(
    prefixes: Iterator[np.ndarray], task: Task, target: np.ndarray, weight: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Return the intercepts with which the mean prediction of each prefix is the mean target.

    Parameters
    ----------
    prefixes : iterator of ndarray, shape (n, n_scores)
        The sums of the rows after 0, 1, ... rounds, without the last.
    task : Task
        How sums become predictions.
    target : ndarray of shape (n_scores,)
        The mean target of the rows: the share of each class in classification, of the second one if there are two.
    weight : ndarray of shape (n,)
        How often each row counts.
    start : ndarray of shape (n_rounds + 1, n_scores)
        The expected intercepts, from which the search starts.

    Returns
    -------
    ndarray of shape (n_rounds + 1, n_scores)
    """
    share = weight / weight.sum()
    found = [_matching(sums, task, target, share, first) for sums, first in zip(prefixes, start[:-1], strict=True)]
    return np.vstack([*found, np.zeros_like(target)])


def _matching(sums: np.ndarray, task: Task, target: np.ndarray, share: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the intercepts for one prefix."""
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
    raise ValueError("the mean of y is not a number that the model can predict. Pass the targets of its own task.")


def _softmax_intercepts(scores: np.ndarray, target: np.ndarray, share: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the intercepts with the smallest log loss: the mean probabilities are then the shares of the classes."""

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        return share @ logsumexp(scores + b, axis=1) - target @ b, share @ softmax(scores + b, axis=1) - target

    return minimize(loss, start, jac=True, method="L-BFGS-B").x
