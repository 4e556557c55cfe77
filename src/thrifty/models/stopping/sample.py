"""The rows from which orders, weights and deviations are learnt: term values and the full scores they add up to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from thrifty.models.stopping.terms import Terms

MOST_ROWS = 16_384
MOST_CELLS = 2**25  # term values held at a time
FEWEST_ROWS = 2048


@dataclass(frozen=True, eq=False)
class Sample:
    """Values of the terms for some rows.

    values (n, n_terms), scores (n, n_scores): the full ones, count (n,): how many times each row counts, targets
    (n, .): what the rows truly are, weights (n_scores, n_terms) and intercept (n_scores,): those of the predictor.
    """

    values: np.ndarray
    scores: np.ndarray
    count: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray

    @classmethod
    def of(cls, terms: Terms, X: Any, targets: np.ndarray, count: np.ndarray) -> "Sample":
        """Evaluate the terms, on rows that are spread evenly where there are too many."""
        most = min(MOST_ROWS, max(FEWEST_ROWS, MOST_CELLS // max(terms.n_terms, 1)))
        rows = evenly(X.shape[0], most)
        block = dense(X[rows])
        rows, block = _unlike_the_terms(terms, rows, block)
        values = terms.values(block)
        return cls(values, terms.scores(values), count[rows], targets[rows], terms.weights, terms.intercept)

    @cached_property
    def share(self) -> np.ndarray:
        """How much each row counts, in all 1."""
        return self.count / self.count.sum()

    @cached_property
    def means(self) -> np.ndarray:
        """The mean value of each term."""
        return self.share @ self.values

    @cached_property
    def variances(self) -> np.ndarray:
        """The variance of each term."""
        return self.share @ (self.values - self.means) ** 2

    @cached_property
    def strengths(self) -> np.ndarray:
        """How much each term moves the scores: the deviation of its value times the size of its weights."""
        return np.sqrt(self.variances) * np.linalg.norm(self.weights, axis=0)

    def ordered(self, order: np.ndarray) -> "Sample":
        """Return the sample of the same terms in another order."""
        return Sample(
            np.ascontiguousarray(self.values[:, order]),
            self.scores,
            self.count,
            self.targets,
            self.weights[:, order],
            self.intercept,
        )


def evenly(n_rows: int, most: int) -> np.ndarray:
    """Return at most so many rows, evenly spread."""
    return np.linspace(0, n_rows - 1, min(most, n_rows)).astype(int)


def dense(X: Any) -> np.ndarray:
    """Return rows as an array, sparse ones too."""
    return X.toarray() if issparse(X) else X


def _unlike_the_terms(terms: Terms, rows: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out rows that are themselves terms, as support vectors are, unless few others would be left."""
    new = ~terms.own_rows(block)
    return (rows[new], block[new]) if new.mean() >= 0.5 and not new.all() else (rows, block)
