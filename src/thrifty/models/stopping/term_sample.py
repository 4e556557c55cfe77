"""A sample of training rows with the values of all terms. Orders, weights and deviations are learned from it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from thrifty.models.stopping.terms import Terms

MAX_ROWS = 16_384
MAX_VALUES = 2**25  # term values in memory; more terms mean fewer rows
MIN_ROWS = 2048


@dataclass(frozen=True, eq=False)
class TermSample:
    """The terms of a predictor, evaluated for some training rows.

    Attributes
    ----------
    values : ndarray of shape (n, n_terms)
        Values of the terms.
    scores : ndarray of shape (n, n_scores)
        Full scores.
    count : ndarray of shape (n,)
        How often each row counts.
    targets : ndarray of shape (n, n_scores)
        Classes of the rows: one column of +-1, or one-hot columns.
    weights : ndarray of shape (n_scores, n_terms)
        Weights of the terms in the predictor.
    intercept : ndarray of shape (n_scores,)
        Intercept of the predictor.
    """

    values: np.ndarray
    scores: np.ndarray
    count: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, terms: Terms, X: Any, targets: np.ndarray, count: np.ndarray) -> "TermSample":
        """Evaluate the terms for the rows X, or for evenly spaced rows if there are many."""
        max_rows = min(MAX_ROWS, max(MIN_ROWS, MAX_VALUES // max(terms.n_terms, 1)))
        rows = evenly_spaced(X.shape[0], max_rows)
        block = dense(X[rows])
        rows, block = _without_own_rows(terms, rows, block)
        values = terms.values(block)
        return cls(values, terms.scores(values), count[rows], targets[rows], terms.weights, terms.intercept)

    @cached_property
    def share(self) -> np.ndarray:
        """Weight of each row (n,); the sum is 1."""
        return self.count / self.count.sum()

    @cached_property
    def means(self) -> np.ndarray:
        """Weighted mean of each term."""
        return self.share @ self.values

    @cached_property
    def variances(self) -> np.ndarray:
        """Weighted variance of each term."""
        return self.share @ (self.values - self.means) ** 2

    @cached_property
    def strengths(self) -> np.ndarray:
        """How much each term changes the scores: the standard deviation of its value times the norm of its weights."""
        return np.sqrt(self.variances) * np.linalg.norm(self.weights, axis=0)

    def ordered(self, order: np.ndarray) -> "TermSample":
        """Return the sample with the terms in another order."""
        return replace(self, values=np.ascontiguousarray(self.values[:, order]), weights=self.weights[:, order])


def evenly_spaced(n_rows: int, max_rows: int) -> np.ndarray:
    """Return the positions of at most `max_rows` rows, evenly spaced."""
    return np.linspace(0, n_rows - 1, min(max_rows, n_rows)).astype(int)


def dense(X: Any) -> np.ndarray:
    """Return rows as a dense array."""
    return X.toarray() if issparse(X) else X


def _without_own_rows(terms: Terms, rows: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out rows that are terms themselves, such as support vectors, if at least half of the rows remain."""
    new = ~terms.is_own_row(block)
    return (rows[new], block[new]) if new.mean() >= 0.5 and not new.all() else (rows, block)
