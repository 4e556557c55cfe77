"""Distinct training rows in a canonical order, and random partitions of them.

Folds and validation rows are drawn at random. Still, the result must not depend on the order of the rows, nor on
whether a row is repeated or has a larger weight. Therefore equal rows are merged first, and sorted by their content:
first by stratum (the class, if there are classes), then by the sorted values of the row, which do not depend on the
order of the columns. Targets come last, so that the unit of numbers to predict does not change the order.
"""

import numpy as np

from thrifty.models.rows import Rows


def distinct_rows(X: np.ndarray, targets: np.ndarray, count: np.ndarray, strata: np.ndarray | None = None) -> Rows:
    """Merge equal rows of equal targets; their counts are added.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    targets : ndarray of shape (n,)
        Indices of the classes, or numbers to predict.
    count : ndarray of shape (n,)
        How often each row counts.
    strata : ndarray of int, shape (n,), default=None
        Rows are sorted by these first. None means the targets.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_rows(np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0]), np.ones(3)).weight
    array([2., 1.])
    """
    X = X.astype(float) + 0.0  # turns -0.0 into 0.0
    X[np.isnan(X)] = np.nan  # NaN can have different bits
    first_key = targets if strata is None else strata
    content = np.column_stack([first_key, np.sort(X, axis=1), X, targets + 0.0])
    _, first, group = np.unique(_as_bytes(content), return_index=True, return_inverse=True)
    return Rows(X[first], targets[first], np.bincount(group, count))


def column_order(X: np.ndarray) -> np.ndarray:
    """Return the columns of distinct rows, sorted by content.

    Rounding errors of solvers depend on the order of the columns. In this order they do not depend on that of the user.
    """
    return np.argsort(_as_bytes(X.T), kind="stable")


def assign_folds(strata: np.ndarray, n_folds: int, random: np.random.RandomState) -> np.ndarray:
    """Return the fold of each row; folds are random and stratified."""
    fold = np.empty(len(strata), dtype=np.int64)
    fold[_shuffled_by_stratum(strata, random)] = np.arange(len(strata)) % n_folds
    return fold


def split_validation(
    strata: np.ndarray, fraction: float, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the training rows and of the validation rows, stratified.

    If one of the two parts would be empty, all rows are in both.
    """
    order, edges = _shuffled_by_stratum(strata, random), np.floor(np.arange(len(strata) + 1) * fraction)
    is_validation = np.zeros(len(strata), dtype=bool)
    is_validation[order] = np.diff(edges) > 0
    if not is_validation.any() or is_validation.all():
        return np.arange(len(strata)), np.arange(len(strata))
    return np.flatnonzero(~is_validation), np.flatnonzero(is_validation)


def _shuffled_by_stratum(strata: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Return the rows sorted by stratum, and in random order within a stratum."""
    shuffled = random.permutation(len(strata))
    return shuffled[np.argsort(strata[shuffled], kind="stable")]


def _as_bytes(table: np.ndarray) -> np.ndarray:
    """Return every line of a table as one value that can be compared."""
    table = np.ascontiguousarray(table)
    return table.view(f"V{table.itemsize * table.shape[1]}")[:, 0]
