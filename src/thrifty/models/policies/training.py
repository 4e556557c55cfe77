"""Training rows of policies: distinct rows in an order of their own, dealt into folds, and fitted by weight.

Folds and held-out rows are drawn by chance, and yet it must not matter whether a row comes twice or weighs two, nor in
which order rows come. So equal rows are merged first, and sorted by their content. The first sort key is the row's
values in increasing order, which does not depend on the order of the columns either.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from thrifty.models.policies.data_classifier import Scores
from thrifty.models.policies.factors import Factors

MASKED_WEIGHT = 0.25  # of a masked copy: with more, whole rows are classified worse than they need be


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows that differ, the numbers of their classes, and how often each counts."""

    X: np.ndarray
    labels: np.ndarray
    count: np.ndarray


def distinct_rows(X: np.ndarray, labels: np.ndarray, count: np.ndarray) -> DistinctRows:
    """Merge equal rows of equal class.

    >>> import numpy as np
    >>> distinct_rows(np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0]), np.ones(3)).count
    array([2., 1.])
    """
    X = X.astype(float) + 0.0  # -0.0 is 0.0
    X[np.isnan(X)] = np.nan  # whatever its sign and payload
    content = np.hstack([labels[:, None], np.sort(X, axis=1), X])
    _, first, group = np.unique(_as_bytes(content), return_index=True, return_inverse=True)
    return DistinctRows(X[first], labels[first], np.bincount(group, count))


def order_of_columns(X: np.ndarray) -> np.ndarray:
    """Return the columns sorted by their content, given distinct rows: solvers round by the order they are shown."""
    return np.argsort(_as_bytes(X.T), kind="stable")


def shuffled_by_class(labels: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Return the rows class after class, within a class by chance: every k-th of them is a fair share of all."""
    shuffled = random.permutation(len(labels))
    return shuffled[np.argsort(labels[shuffled], kind="stable")]


def deal_folds(labels: np.ndarray, n_folds: int, random: np.random.RandomState) -> np.ndarray:
    """Return the fold of each row."""
    fold = np.empty(len(labels), dtype=np.int64)
    fold[shuffled_by_class(labels, random)] = np.arange(len(labels)) % n_folds
    return fold


def hold_out(labels: np.ndarray, fraction: float, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from and the rows held out; of too few rows, all serve as both."""
    order, edges = shuffled_by_class(labels, random), np.floor(np.arange(len(labels) + 1) * fraction)
    held = np.zeros(len(labels), dtype=bool)
    held[order] = np.diff(edges) > 0
    if not held.any() or held.all():
        return np.arange(len(labels)), np.arange(len(labels))
    return np.flatnonzero(~held), np.flatnonzero(held)


def out_of_fold(
    classifier: Any, Z: np.ndarray, rows: DistinctRows, fold: np.ndarray, factors: Factors, masks: np.ndarray | None
) -> Scores:
    """Return classifiers each of which has not seen one of the folds, numbered as the folds are.

    A class that a fold holds alone is shown to its classifier all the same, for all have to know the same classes.
    """
    fitted = []
    for k in range(fold.max() + 1):
        seen = fold != k
        seen |= ~np.isin(rows.labels, rows.labels[seen])
        fitted.append(fit_classifier(classifier, Z[seen], rows.labels[seen], rows.count[seen], _some(masks, seen)))
    return Scores.of(fitted, factors)


def fit_classifier(
    classifier: Any, Z: np.ndarray, labels: np.ndarray, count: np.ndarray, masks: np.ndarray | None = None
) -> Any:
    """Fit a classifier to rows and, where there are masks (n_copies, n, n_features), to masked copies of them."""
    if masks is not None:
        weight = MASKED_WEIGHT if has_fit_parameter(classifier, "sample_weight") else 1.0
        Z = np.concatenate([Z, *(Z * mask for mask in masks)])
        labels = np.tile(labels, 1 + len(masks))
        count = np.concatenate([count, *(weight * count for _ in masks)])
    return fit_weighted(classifier, Z, labels, count)


def draw_masks(n_rows: int, n_copies: int, factors: Factors, random: np.random.RandomState) -> np.ndarray:
    """Draw masks (n_copies, n_rows, n_features), every share of the factors being as likely as any other."""
    share = random.random_sample((n_copies, n_rows, 1))
    kept = random.random_sample((n_copies, n_rows, len(factors))) < share
    return np.stack([factors.widened(each) for each in kept])


def fit_weighted(classifier: Any, X: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> Any:
    """Fit a clone; where it takes no weights, rows are repeated."""
    if has_fit_parameter(classifier, "sample_weight"):
        return clone(classifier).fit(X, labels, sample_weight=weight)
    times = weight.astype(int)
    if (times != weight).any():
        raise ValueError(
            f"{type(classifier).__name__} takes no sample_weight, and rows cannot be repeated {weight.min():g} times. "
            "Pass whole weights, or a classifier that takes weights."
        )
    return clone(classifier).fit(np.repeat(X, times, axis=0), np.repeat(labels, times))


def _as_bytes(table: np.ndarray) -> np.ndarray:
    """Return every line of a table as one value that can be compared."""
    table = np.ascontiguousarray(table)
    return table.view(f"V{table.itemsize * table.shape[1]}")[:, 0]


def _some(masks: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if masks is None else masks[:, rows]
