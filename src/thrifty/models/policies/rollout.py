"""Rows on their way through the decision process: what each has, what it paid, what the data classifier makes of it.

All rows move together, one factor a step, and a row's scores change by what its new factor contributes. The same code
serves batches, single lazy rows and training, and every sum is taken in the order of acquisition, so that they agree
to the last bit.
"""

from typing import NamedTuple

import numpy as np

from thrifty.kernels.policies import judge
from thrifty.models.policies.data_classifier import Scores
from thrifty.models.policies.factors import Factors

N_NUMBERS = 6  # meta-features that are numbers; the seventh, the current guess, is one column per class


class Judgement(NamedTuple):
    """What the data classifier thinks of rows, and the share of the cost of everything that they have paid."""

    confidence: np.ndarray
    guess: np.ndarray
    cost: np.ndarray


class Walk:
    """The states of many rows; nothing is acquired before `begin`.

    Parameters
    ----------
    factors : Factors
    scores : Scores
        The data classifier.
    Z : ndarray of shape (n, n_features)
        Standardised rows, columns sorted by factor. A factor's columns are looked at when it is taken, not before.
    which : ndarray of int, shape (n,), optional
        Which of several data classifiers scores each row; the first by default.

    Attributes
    ----------
    masked : ndarray of shape (n, n_features)
        The rows, 0 in what is not acquired.
    acquired : ndarray of bool, shape (n, n_factors)
    score : ndarray of shape (n, n_classes)
    ticks : ndarray of shape (n,)
        What was paid, in the ticks of the cost model.
    now, before : Judgement
        Of the current state, and of the one before the latest factor.
    """

    def __init__(self, factors: Factors, scores: Scores, Z: np.ndarray, which: np.ndarray | None = None):
        n = len(Z)
        self.factors, self.scores, self.Z = factors, scores, Z
        self.which = np.zeros(n, dtype=np.int64) if which is None else which
        self.masked = np.zeros_like(Z)
        self.acquired = np.zeros((n, len(factors)), dtype=bool)
        self.score = scores.start(self.which)
        self.ticks = np.zeros(n)

    def begin(self) -> "Walk":
        """Give every row the factors that are free."""
        everyone = np.arange(len(self))
        for factor in self.factors.free:
            self._acquire(everyone, np.full(len(self), factor))
        self.now, self.before = self._judged(everyone), self._judged(everyone)
        return self

    def __len__(self) -> int:
        return len(self.acquired)

    def take(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        """Let each of some rows acquire a factor."""
        self._acquire(rows, chosen)
        for before, now, new in zip(self.before, self.now, self._judged(rows), strict=True):
            before[rows] = now[rows]
            now[rows] = new

    def ticks_with(self, rows: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return what rows will have paid if each takes a factor."""
        then = self.acquired[rows]
        then[np.arange(len(rows)), chosen] = True
        return self.factors.ticks(then)

    def meta_features(self, rows: np.ndarray) -> np.ndarray:
        """Return the seven meta-features of section 3.3: what a policy sees of rows beside their values."""
        (confidence, guess, cost), (confidence_before, guess_before, cost_before) = (
            (each[rows] for each in judgement) for judgement in (self.now, self.before)
        )
        meta = np.zeros((len(rows), N_NUMBERS + self.scores.n_classes))
        meta[:, 0] = confidence
        meta[:, 1] = confidence - confidence_before
        meta[:, 2] = guess != guess_before
        meta[:, 3] = cost
        meta[:, 4] = cost - cost_before
        meta[:, 5] = cost / confidence
        meta[np.arange(len(rows)), N_NUMBERS + guess] = 1.0
        return meta

    def _acquire(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        self.acquired[rows, chosen] = True
        for factor in np.unique(chosen):
            mine, block = rows[chosen == factor], slice(*self.factors.starts[factor : factor + 2])
            self.masked[mine, block] = self.Z[mine, block]
        self.scores.add(self.score, rows, chosen, self.masked, self.which)
        self.ticks[rows] = self.factors.ticks(self.acquired[rows])

    def _judged(self, rows: np.ndarray) -> Judgement:
        confidence, guess = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
        judge(self.score[rows], confidence, guess)
        return Judgement(confidence, guess, self.factors.share(self.ticks[rows]))

    def part(self, rows: np.ndarray) -> "Walk":
        """Return a copy of some rows' states that goes its own way from here."""
        twin = Walk(self.factors, self.scores, self.Z[rows], self.which[rows])
        for name in ("masked", "acquired", "score", "ticks"):
            setattr(twin, name, getattr(self, name)[rows])
        twin.now, twin.before = (Judgement(*(each[rows] for each in which)) for which in (self.now, self.before))
        return twin
