"""How decided a partial score has to be for a row to stop.

R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2010.

    constant    Theorem 1 and Lemma 1: a walk that will end at the threshold crosses tau with probability delta
    curved      eq. (1), stochastic curtailment: given what is known, a change of sign has probability delta
    a number    the same distance from the threshold at every checkpoint
    certified   as curved, with the factor that held-out rows permit; see `thrifty.models.stopping.certified`

Scores are taken so that the decision is at 0.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

SIDES = ("both", "negative", "positive")


class Boundary(NamedTuple):
    """A row stops at checkpoint k if its score is below lower[k] or above upper[k]; of several classes, its gap."""

    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def around(cls, lower: Any, upper: Any, n_checkpoints: int) -> "Boundary":
        """Return the same limits, or one each, for all checkpoints."""
        return cls(np.full(n_checkpoints, lower, dtype=float), np.full(n_checkpoints, upper, dtype=float))

    def on(self, sides: str) -> "Boundary":
        """Return the boundary that stops only rows of one side."""
        never = np.full_like(self.lower, np.inf)
        return Boundary(self.lower if sides != "positive" else -never, self.upper if sides != "negative" else never)


def constant_boundary(start: float, variance: float, delta: float, n_checkpoints: int) -> Boundary:
    """Return the constant boundary of walks that start at `start` and whose end has this variance."""
    theta = -start  # where the decision is, seen from the start of the walk
    upper, lower = (start + crossing(theta, variance, delta, side) for side in (1.0, -1.0))
    return Boundary.around(lower, upper, n_checkpoints)


def crossing(theta: float, variance: float, delta: float, side: float = 1.0) -> float:
    """Return the tau of Lemma 1: exp(-2 tau (tau - theta) / variance) = delta, above theta or (side -1) below it.

    >>> round(float(crossing(0.0, variance=4.0, delta=0.01)), 3)
    3.035
    """
    if delta == 0:
        return side * np.inf
    return 0.5 * (theta + side * np.sqrt(theta**2 - 2.0 * variance * np.log(delta)))


def curved_boundary(deviations: np.ndarray, factor: float) -> Boundary:
    """Return a boundary of so many deviations of what is still to come."""
    limits = factor * deviations if np.isfinite(factor) else np.full(len(deviations), np.inf)
    return Boundary(-limits, limits)


def curtailing_factor(delta: float, n_rivals: int = 1) -> float:
    """Return how many deviations make it improbable that any of the rivals turns the outcome."""
    return max(float(norm.isf(delta / n_rivals)), 0.0)


def decidedness(scores: np.ndarray) -> np.ndarray:
    """Return what is held against the boundary: the score itself, or the gap between the best two classes."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    best_two = np.partition(scores, -2, axis=1)[:, -2:]
    return best_two[:, 1] - best_two[:, 0]
