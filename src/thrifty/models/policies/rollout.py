"""States of rows that acquire one factor after another.

The state of a row is the set of factors that it has, with their values. All rows of a rollout advance together, one
factor per step. Batches, sessions and training use the same code, and every sum is taken in the order of acquisition,
so that all of them get exactly the same numbers.

A policy sees the masked row and the meta-features of section 3.3 of He, Daumé and Eisner (2012). With the class
probabilities p = softmax(scores) of the data classifier and the paid share c of the cost of all features, these are

    0    confidence: max p                           4    change of c by the latest factor
    1    change of max p by the latest factor        5    c / max p
    2    1 if the latest factor changed the          6..  the most likely class, one-hot
         most likely class, else 0
    3    cost: c
"""

from typing import NamedTuple

import numpy as np

from thrifty.kernels.policies import judge
from thrifty.models.policies.data_classifier import Scores
from thrifty.models.policies.factors import Factors

N_SCALARS = 6  # meta-features before the one-hot class


class StateSummary(NamedTuple):
    """Confidence and most likely class of the data classifier, and the paid share of the cost of all features."""

    confidence: np.ndarray
    guess: np.ndarray
    cost: np.ndarray


class Rollout:
    """The states of several rows. Rows have no factors before `start`.

    Parameters
    ----------
    factors : Factors
    scores : Scores
        The data classifier.
    Z : ndarray of shape (n, n_columns)
        Encoded rows, columns sorted by factor. The columns of a factor are read when it is acquired.
    which : ndarray of int, shape (n,), default=None
        The number of the data classifier that scores each row. None means the first.

    Attributes
    ----------
    masked : ndarray of shape (n, n_columns)
        The rows, with 0 in columns that are not acquired.
    acquired : ndarray of bool, shape (n, n_factors)
        The factors of each row.
    score : ndarray of shape (n, n_classes)
        Scores of the data classifier.
    ticks : ndarray of shape (n,)
        What was paid, in the ticks of the cost model.
    now, before : StateSummary
        Summary of the current state, and of the state before the latest factor.
    """

    def __init__(self, factors: Factors, scores: Scores, Z: np.ndarray, which: np.ndarray | None = None):
        n = len(Z)
        self.factors, self.scores, self.Z = factors, scores, Z
        self.which = np.zeros(n, dtype=np.int64) if which is None else which
        self.masked = np.zeros_like(Z)
        self.acquired = np.zeros((n, len(factors)), dtype=bool)
        self.score = scores.start(self.which)
        self.ticks = np.zeros(n)

    def start(self) -> "Rollout":
        """Give every row the free factors, and return the rollout."""
        rows = np.arange(len(self))
        for factor in self.factors.free:
            self._add(rows, np.full(len(self), factor))
        self.now, self.before = self._summary(rows), self._summary(rows)
        return self

    def __len__(self) -> int:
        return len(self.acquired)

    def acquire(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        """Let each of some rows acquire the factor that is chosen for it."""
        self._add(rows, chosen)
        for before, now, new in zip(self.before, self.now, self._summary(rows), strict=True):
            before[rows] = now[rows]
            now[rows] = new

    def ticks_after(self, rows: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return what rows will have paid if each acquires the factor that is chosen for it."""
        acquired = self.acquired[rows]
        acquired[np.arange(len(rows)), chosen] = True
        return self.factors.ticks(acquired)

    def meta_features(self, rows: np.ndarray) -> np.ndarray:
        """Return the meta-features (len(rows), n_meta_features) of some rows."""
        (confidence, guess, cost), (confidence_before, guess_before, cost_before) = (
            (each[rows] for each in summary) for summary in (self.now, self.before)
        )
        meta = np.zeros((len(rows), n_meta_features(self.scores.n_classes)))
        meta[:, 0] = confidence
        meta[:, 1] = confidence - confidence_before
        meta[:, 2] = guess != guess_before
        meta[:, 3] = cost
        meta[:, 4] = cost - cost_before
        meta[:, 5] = cost / confidence
        meta[np.arange(len(rows)), N_SCALARS + guess] = 1.0
        return meta

    def copy_rows(self, rows: np.ndarray) -> "Rollout":
        """Return an independent copy of the states of some rows."""
        twin = Rollout(self.factors, self.scores, self.Z[rows], self.which[rows])
        for name in ("masked", "acquired", "score", "ticks"):
            setattr(twin, name, getattr(self, name)[rows])
        twin.now, twin.before = (StateSummary(*(each[rows] for each in summary)) for summary in (self.now, self.before))
        return twin

    def _add(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        self.acquired[rows, chosen] = True
        for factor in np.unique(chosen):
            buyers, block = rows[chosen == factor], slice(*self.factors.starts[factor : factor + 2])
            self.masked[buyers, block] = self.Z[buyers, block]
        self.scores.add(self.score, rows, chosen, self.masked, self.which)
        self.ticks[rows] = self.factors.ticks(self.acquired[rows])

    def _summary(self, rows: np.ndarray) -> StateSummary:
        confidence, guess = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
        judge(self.score[rows], confidence, guess)
        return StateSummary(confidence, guess, self.factors.share(self.ticks[rows]))


def n_meta_features(n_classes: int) -> int:
    """Return the number of meta-features."""
    return N_SCALARS + n_classes
