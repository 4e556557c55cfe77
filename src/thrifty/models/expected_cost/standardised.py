"""Training rows as the solvers see them: distinct rows in a canonical order, columns of mean 0 and unit variance.

The solvers are iterative and the objective is not convex, so sums taken in another order can lead to another tree. To
avoid this, identical rows are merged and their weights added, and rows and columns are sorted by their content. The
same data then give the same model if rows are shuffled, repeated instead of weighted, or if columns are reordered.
Merging also saves time on data with replicated rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.models.least_squares.moments import FilledRows

BLOCK_ROWS = 4096  # rows that are read or copied at a time
MISSING = np.pi  # replaces NaN in the sums by which rows and columns are sorted
CONSTANT = 1e-10  # a column counts as constant if its standard deviation, relative to its mean, is not larger


class Scales(NamedTuple):
    """How columns and targets were standardised.

    Attributes
    ----------
    columns : ndarray of int, shape (d,)
        Position in X of each standardised column.
    mean : ndarray of shape (d,)
        Mean of each column.
    deviation : ndarray of shape (d,)
        Standard deviation of each column; 0 if the column is constant, or redundant and therefore not used.
    target_mean : ndarray of shape (m,)
        What was subtracted from the targets.
    target_deviation : float
        What the targets were divided by.
    """

    columns: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    target_mean: np.ndarray
    target_deviation: float


@dataclass(frozen=True, eq=False)
class Standardised:
    """Distinct standardised rows, ready for an objective.

    Unlike `Rows`, it holds encoded targets instead of the user's y, each row only once, sorted columns without missing
    values, and the scales needed to return to the columns of X.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    targets : ndarray of shape (n, m)
    count : ndarray of shape (n,)
        Total weight of the identical rows that were merged into each row.
    scales : Scales
    """

    X: np.ndarray
    targets: np.ndarray
    count: np.ndarray
    scales: Scales


def standardise(
    X: np.ndarray,
    targets: np.ndarray,
    count: np.ndarray,
    prices: np.ndarray,
    private: np.ndarray,
    scale_targets: bool,
) -> Standardised:
    """Merge, sort and standardise training rows; missing values become 0, the mean.

    A redundant column is set to 0. A column is redundant if it is a copy of another one that is not more expensive and
    shares no unit with other columns. A solver could split a weight between two copies without a larger penalty, and
    the fitted model would then pay for both.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Columns that the nodes weigh; they may contain NaN.
    targets : ndarray of shape (n, m)
    count : ndarray of shape (n,)
        Weight of each row.
    prices : ndarray of shape (d,)
        What each column costs on its own.
    private : ndarray of bool, shape (d,)
        The columns that share no unit with other columns.
    scale_targets : bool
        Whether to standardise the targets too, as for regression.

    Returns
    -------
    Standardised
    """
    columns = _canonical_columns(X, targets, count, prices)
    rows, count = _distinct_rows(X, columns, targets, count)
    data = FilledRows(_gather(X, rows, columns), targets[rows], count)
    weight = count / count.sum()
    standard = data.X  # already a copy; changed in place because X may fill much of the memory
    mean = data.fill.astype(X.dtype)  # rounded here, because predictions must subtract exactly the same
    standard -= mean
    variance = np.einsum("i,ij,ij->j", weight, standard, standard)
    deviation = np.where(variance > (CONSTANT * mean.astype(float)) ** 2, np.sqrt(variance), 0.0)
    standard *= np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0).astype(X.dtype)
    redundant = _redundant_columns(standard, private[columns])
    standard[:, redundant], deviation[redundant] = 0.0, 0.0
    target_mean, target_deviation = np.zeros(targets.shape[1]), 1.0
    if scale_targets:
        target_mean = weight @ data.targets
        target_deviation = float(np.sqrt(weight @ (data.targets - target_mean) ** 2)[0]) or 1.0
    scales = Scales(columns, mean.astype(float), deviation, target_mean, target_deviation)
    return Standardised(standard, (data.targets - target_mean) / target_deviation, count, scales)


def _redundant_columns(X: np.ndarray, private: np.ndarray) -> list[int]:
    """Return the columns that equal an earlier private one. Columns are sorted by price, so that one is not pricier."""
    key = np.round(np.random.default_rng(0).normal(size=len(X)) @ X, 6)
    first: dict[float, int] = {}
    redundant = []
    for j in np.flatnonzero(X.any(axis=0)).tolist():
        earlier = first.setdefault(key[j], j)
        if earlier != j and private[earlier] and np.allclose(X[:, earlier], X[:, j], rtol=0, atol=1e-9):
            redundant.append(j)
    return redundant


def _canonical_columns(X: np.ndarray, targets: np.ndarray, count: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Sort the columns by price, then by sums of their values that do not depend on the position of the column."""
    sums = np.zeros((3, X.shape[1]))
    for part, columns in _blocks(X):
        weight = count[part]
        sums[0] += np.einsum("jb,b->j", columns, weight)
        sums[1] += np.einsum("jb,jb,b->j", columns, columns, weight)
        sums[2] += np.einsum("jb,b->j", columns, weight * targets[part, -1])
    return np.lexsort((*sums, prices))


def _distinct_rows(
    X: np.ndarray, columns: np.ndarray, targets: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return one of each group of identical rows, sorted by content, and the total weight of each group."""
    key, label = np.zeros(len(X)), np.zeros(len(X))
    factors = np.random.default_rng(0).normal(size=len(columns))
    for part, values in _blocks(X):
        for factor, j in zip(factors, columns, strict=True):
            key[part] += factor * values[j]  # column by column, so that identical rows get identical keys
    for factor, target in enumerate(targets.T, start=1):
        label += factor * target
    order = np.lexsort((key, label))
    same = (np.diff(key[order]) == 0) & (np.diff(label[order]) == 0)
    for at in np.flatnonzero(same):
        same[at] = np.array_equal(X[order[at]], X[order[at + 1]], equal_nan=True)
    group = np.append(0, np.cumsum(~same))
    first = np.append(0, np.flatnonzero(~same) + 1)
    return order[first], np.bincount(group, count[order])


def _blocks(X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of rows, transposed, with NaN replaced by a constant."""
    for first in range(0, len(X), BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        columns = np.ascontiguousarray(X[part].T, dtype=float)
        yield part, np.where(np.isnan(columns), MISSING, columns)


def _gather(X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return X[rows][:, columns], gathered in blocks to limit the memory in use."""
    gathered = np.empty((len(rows), len(columns)), dtype=X.dtype)
    for first in range(0, len(rows), BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        gathered[part] = X[rows[part]][:, columns]
    return gathered
