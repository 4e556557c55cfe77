"""Distinct training rows in a canonical order, and random partitions of them.

Folds and validation rows are drawn at random. Still, the result must not depend on the order of the rows, nor on
whether a row is repeated or has a larger weight. Therefore equal rows are merged first, and sorted by their content.
The first sort key is the sorted values of the row, which do not depend on the order of the columns.
"""

import numpy as np

from thrifty.models.rows import Rows


def distinct_rows(X: np.ndarray, labels: np.ndarray, count: np.ndarray) -> Rows:
    """Merge equal rows of equal class; their counts are added.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    labels : ndarray of int, shape (n,)
        Indices of the classes.
    count : ndarray of shape (n,)
        How often each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_rows(np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0]), np.ones(3)).weight
    array([2., 1.])
    """
    X = X.astype(float) + 0.0  # turns -0.0 into 0.0
    X[np.isnan(X)] = np.nan  # NaN can have different bits
    content = np.hstack([labels[:, None], np.sort(X, axis=1), X])
    _, first, group = np.unique(_as_bytes(content), return_index=True, return_inverse=True)
    return Rows(X[first], labels[first], np.bincount(group, count))


def column_order(X: np.ndarray) -> np.ndarray:
    """Return the columns of distinct rows, sorted by content.

    Rounding errors of solvers depend on the order of the columns. In this order they do not depend on that of the user.
    """
    return np.argsort(_as_bytes(X.T), kind="stable")


def assign_folds(labels: np.ndarray, n_folds: int, random: np.random.RandomState) -> np.ndarray:
    """Return the fold of each row; folds are random and stratified by class."""
    fold = np.empty(len(labels), dtype=np.int64)
    fold[_shuffled_by_class(labels, random)] = np.arange(len(labels)) % n_folds
    return fold


def split_validation(
    labels: np.ndarray, fraction: float, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the training rows and of the validation rows, stratified by class.

    If one of the two parts would be empty, all rows are in both.
    """
    order, edges = _shuffled_by_class(labels, random), np.floor(np.arange(len(labels) + 1) * fraction)
    is_validation = np.zeros(len(labels), dtype=bool)
    is_validation[order] = np.diff(edges) > 0
    if not is_validation.any() or is_validation.all():
        return np.arange(len(labels)), np.arange(len(labels))
    return np.flatnonzero(~is_validation), np.flatnonzero(is_validation)


def _shuffled_by_class(labels: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Return the rows sorted by class, and in random order within a class."""
    shuffled = random.permutation(len(labels))
    return shuffled[np.argsort(labels[shuffled], kind="stable")]


def _as_bytes(table: np.ndarray) -> np.ndarray:
    """Return every line of a table as one value that can be compared."""
    table = np.ascontiguousarray(table)
    return table.view(f"V{table.itemsize * table.shape[1]}")[:, 0]
