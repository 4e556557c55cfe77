"""Training rows of policies: distinct rows in an order of their own, dealt into folds, and fitted by weight.

Folds and held-out rows are drawn by chance, and yet it must not matter whether a row comes twice or weighs two, nor in
which order rows come. So equal rows are merged first, and sorted by their content. The first sort key is the row's
values in increasing order, which does not depend on the order of the columns either.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.utils.validation import has_fit_parameter

from thrifty.kernels.threads import n_threads
from thrifty.models.policies.data_classifier import Scores
from thrifty.models.policies.factors import Factors

MASKED_COPIES = (3, 8)  # of each row, at least and at most
ENOUGH_MASKED = 20_000  # copies in all


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

    def without(k: int) -> Any:
        seen = fold != k
        seen |= ~np.isin(rows.labels, rows.labels[seen])
        return fit_classifier(classifier, Z[seen], rows.labels[seen], rows.count[seen], _some(masks, seen))

    fitted = Parallel(n_jobs=n_threads(), prefer="threads")(map(delayed(without), range(fold.max() + 1)))
    return Scores.of(fitted, factors)


def fit_classifier(
    classifier: Any, Z: np.ndarray, labels: np.ndarray, count: np.ndarray, masks: np.ndarray | None = None
) -> Any:
    """Fit a classifier to rows and, where there are masks (n_copies, n, n_columns), to masked copies of them."""
    if masks is None:
        return fit_weighted(classifier, Z, labels, count)
    Z, labels, shared = with_copies(Z, labels, count, masks)
    weighted = has_fit_parameter(classifier, "sample_weight")
    return fit_weighted(classifier, Z, labels, shared if weighted else np.tile(count, 1 + len(masks)))


def with_copies(
    Z: np.ndarray, labels: np.ndarray, count: np.ndarray, masks: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add masked copies, which share the weight of their row: the row keeps half of it."""
    weight = np.append(0.5, np.full(len(masks), 0.5 / len(masks)))
    Z = np.concatenate([Z, *(Z * mask for mask in masks)])
    return Z, np.tile(labels, len(weight)), np.outer(weight, count).ravel()


def likeliest(candidates: list[Any], Z: np.ndarray, rows: DistinctRows, fold: np.ndarray, masks: np.ndarray) -> Any:
    """Return the classifier that makes the first fold, whole and masked, likeliest once fitted to the others."""
    seen = fold != 0
    held = ~seen & np.isin(rows.labels, rows.labels[seen])
    if not held.any() or len(np.unique(rows.labels[seen])) < 2:
        return candidates[0]
    masked, labels, weight = with_copies(Z[held], rows.labels[held], rows.count[held], masks[:, held])

    def loss(classifier: Any) -> float:
        fitted = fit_classifier(classifier, Z[seen], rows.labels[seen], rows.count[seen], masks[:, seen])
        return log_loss(labels, fitted.predict_proba(masked), sample_weight=weight, labels=fitted.classes_)

    return min(candidates, key=loss)


def n_masked_copies(n_rows: int) -> int:
    """Return how many masked copies of each row are worth their time: the more, the fewer rows there are."""
    fewest, most = MASKED_COPIES
    return min(max(ENOUGH_MASKED // n_rows, fewest), most)


def draw_masks(n_rows: int, n_copies: int, factors: Factors, random: np.random.RandomState) -> np.ndarray:
    """Draw masks (n_copies, n_rows, n_columns), the likelier the larger the share of the factors that they keep."""
    share = np.sqrt(random.random_sample((n_copies, n_rows, 1)))
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
