"""Boundaries: how far from the decision a partial score has to be for a row to stop.

R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012.
R. Pelossof, M. Jones, Z. Ying. Speeding-up Margin Based Learning via Stochastic Curtailment. 2010.

Symbols
    s_k       expected full score of a row at checkpoint k; the decision is at 0
    sigma_k   standard deviation of (full score - s_k)
    S_n       full score, seen as the end of a random walk that starts at `start`
    theta     position of the decision relative to the start of the walk: theta = -start

Constant (Lemma 1 and Theorem 1). A walk that ends at the decision crosses the level tau before its end with probability

    P(max_i S_i >= tau | S_n = theta)  =  exp(-2 tau (tau - theta) / var(S_n))

The boundary is the tau for which this probability is delta:

    tau  =  (theta + sqrt(theta^2 - 2 var(S_n) log(delta))) / 2
         =  sqrt(var(S_n) log(1 / sqrt(delta)))    for theta = 0

Curved (stochastic curtailment, eq. 1). The full score is taken as normal with mean s_k and deviation sigma_k. It has
another sign than s_k with probability Phi(-|s_k| / sigma_k), where Phi is the normal distribution function. This is
below delta if

    |s_k|  >  z sigma_k,    z = Phi^-1(1 - delta)

A number. The boundary is at this distance from 0 at every checkpoint.

Certified, conformal. As curved, but z is chosen on rows that nothing was fitted to; see
`thrifty.models.stopping.certified` and `thrifty.models.stopping.conformal`.

With k > 2 classes, the gap between the two largest scores takes the place of |s_k|. Each of the k - 1 other classes
could win in the end, so the constant and the curved boundary use delta / (k - 1).
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from thrifty.stored import Array, stored

SIDES = ("both", "negative", "positive")


@stored(lower=Array("float64", "n_checkpoints"), upper=Array("float64", "n_checkpoints"))
class Boundary(NamedTuple):
    """Limits of the scores at each checkpoint: a row stops if its score is outside.

    With more than two classes, the gap between the two largest scores is compared with the limits.

    Attributes
    ----------
    lower : ndarray of shape (n_checkpoints,)
        A row stops at checkpoint k if its score is below ``lower[k]``.
    upper : ndarray of shape (n_checkpoints,)
        A row stops at checkpoint k if its score is above ``upper[k]``.
    """

    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def constant(cls, lower: float, upper: float, n_checkpoints: int) -> "Boundary":
        """Return the same limits for all checkpoints."""
        return cls(np.full(n_checkpoints, lower, dtype=float), np.full(n_checkpoints, upper, dtype=float))

    def is_inside(self, k: int, scores: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return which rows with these scores (n, n_scores) at checkpoint k do not stop."""
        compared = score_or_gap(scores)
        return (compared >= self.lower[k]) & (compared <= self.upper[k])

    def can_stop_at(self, k: int) -> bool:
        """Return whether any score stops a row at checkpoint k."""
        return bool(self.lower[k] > -np.inf or self.upper[k] < np.inf)

    def for_sides(self, sides: str) -> "Boundary":
        """Return the boundary that stops only rows of these sides, one of `SIDES`."""
        never = np.full_like(self.lower, np.inf)
        return Boundary(self.lower if sides != "positive" else -never, self.upper if sides != "negative" else never)


def constant_boundary(start: float, variance: float, delta: float, n_checkpoints: int) -> Boundary:
    """Return the constant boundary of walks that start at `start` and whose end has this variance."""
    theta = -start
    upper, lower = (start + constant_threshold(theta, variance, delta, side) for side in (1.0, -1.0))
    return Boundary.constant(lower, upper, n_checkpoints)


def constant_threshold(theta: float, variance: float, delta: float, side: float = 1.0) -> float:
    """Return the tau of Lemma 1, above theta (side 1) or below it (side -1).

    >>> round(float(constant_threshold(0.0, variance=4.0, delta=0.01)), 3)
    3.035
    """
    if delta == 0:
        return side * np.inf
    return 0.5 * (theta + side * np.sqrt(theta**2 - 2.0 * variance * np.log(delta)))


def curved_boundary(deviations: np.ndarray, factor: float) -> Boundary:
    """Return the boundary at `factor` times the deviations sigma_k."""
    limits = factor * deviations if np.isfinite(factor) else np.full(len(deviations), np.inf)
    return Boundary(-limits, limits)


def curved_factor(delta: float, n_rivals: int = 1) -> float:
    """Return z of the curved boundary; `n_rivals` is the number of classes that could still win."""
    return max(float(norm.isf(delta / n_rivals)), 0.0)


def score_or_gap(scores: np.ndarray) -> np.ndarray:
    """Return what is compared with the boundary (n,): the score, or the gap between the two largest of several."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    best_two = np.partition(scores, -2, axis=1)[:, -2:]
    return best_two[:, 1] - best_two[:, 0]


def boundary_ratios(limits: np.ndarray, scores: np.ndarray, sides: str) -> np.ndarray:
    """Return |s_k| / limits[k] of each row at each checkpoint; infinity at the last one, where every row stops.

    Parameters
    ----------
    limits : ndarray of shape (n_checkpoints,)
    scores : ndarray of shape (n, n_checkpoints, n_scores)
        Partial scores.
    sides : str
        One of `SIDES`. If only one side may stop, scores of the other side get a negative ratio.
    """
    compared = np.stack([score_or_gap(scores[:, k]) for k in range(scores.shape[1])], axis=1)
    distances = {"both": np.abs(compared), "negative": -compared, "positive": compared}[sides]
    with np.errstate(over="ignore"):  # a limit may be 0 if no term is left
        ratios = distances / np.maximum(limits, np.finfo(float).tiny)
    ratios[:, -1] = np.inf
    return ratios


def stop_errors(scores: np.ndarray) -> np.ndarray:
    """Return where the answer of partial scores (n, n_checkpoints, n_scores) differs from the answer at the end."""
    answers = scores[..., 0] > 0 if scores.shape[2] == 1 else scores.argmax(axis=2)
    return answers != answers[:, -1:]
