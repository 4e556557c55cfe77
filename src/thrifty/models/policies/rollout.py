"""States of rows that acquire one factor after another.

The state of a row is the set of factors that it has, with their values. All rows of a rollout advance together, one
factor per step. Batches, sessions and training use the same code, and every sum is taken in the order of acquisition,
so that all of them get exactly the same numbers.

A policy sees the masked row and the meta-features (`thrifty.models.policies.meta_features`).
"""

import numpy as np

from thrifty.models.factors import Factors
from thrifty.models.policies.data_model import Scores
from thrifty.models.policies.meta_features import StateSummary, meta_features, summarise


class Rollout:
    """The states of several rows. Rows have no factors before `start`.

    Parameters
    ----------
    factors : Factors
    scores : Scores
        The scores of the data models.
    Z : ndarray of shape (n, n_columns)
        Encoded rows, columns sorted by factor. The columns of a factor are read when it is acquired.
    which : ndarray of int, shape (n,), default=None
        The number of the data model that scores each row. None means the first.

    Attributes
    ----------
    masked : ndarray of shape (n, n_columns)
        The rows, with 0 in columns that are not acquired.
    acquired : ndarray of bool, shape (n, n_factors)
        The factors of each row.
    score : ndarray of shape (n, n_scores)
        Scores of the data model.
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
        return meta_features(_take(self.now, rows), _take(self.before, rows), self.scores.n_scores)

    def copy_rows(self, rows: np.ndarray) -> "Rollout":
        """Return an independent copy of the states of some rows."""
        twin = Rollout(self.factors, self.scores, self.Z[rows], self.which[rows])
        for name in ("masked", "acquired", "score", "ticks"):
            setattr(twin, name, getattr(self, name)[rows])
        twin.now, twin.before = _take(self.now, rows), _take(self.before, rows)
        return twin

    def _add(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        self.acquired[rows, chosen] = True
        for factor in np.unique(chosen):
            buyers, block = rows[chosen == factor], slice(*self.factors.starts[factor : factor + 2])
            self.masked[buyers, block] = self.Z[buyers, block]
        self.scores.add(self.score, rows, chosen, self.masked, self.which)
        self.ticks[rows] = self.factors.ticks(self.acquired[rows])

    def _summary(self, rows: np.ndarray) -> StateSummary:
        return summarise(self.score[rows], self.factors.share(self.ticks[rows]))


def _take(summary: StateSummary, rows: np.ndarray) -> StateSummary:
    return type(summary)(*(each[rows] for each in summary))
