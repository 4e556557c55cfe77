"""Training rows made ready for the solvers: in a canonical order, each once, on columns of unit variance.

The solvers are iterative, and their objective is not convex: a sum taken in another order can end in another tree.
So rows that are alike are merged, their weights added, and rows and columns are put in an order that depends on
nothing but what they hold. Shuffled, repeated instead of weighted, or with columns in another order, the same data
then give the same model. Merging also saves work where negatives were replicated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.models.least_squares.moments import TrainingRows

ROWS_AT_ONCE = 4096
MISSING = np.pi  # what a missing value counts as when rows and columns are put in order
CONSTANT = 1e-10  # deviation, relative to the mean, of a column that rounding alone makes vary


class Scales(NamedTuple):
    """What columns and targets were standardised by; columns in the order that the solvers see them in."""

    columns: np.ndarray  # where each column is in X
    mean: np.ndarray
    deviation: np.ndarray  # zero where a column is constant
    target_mean: np.ndarray
    target_deviation: float


@dataclass(frozen=True, eq=False)
class Standardised:
    """Rows for an objective."""

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
    """Return distinct rows in canonical order on columns of unit variance about 0; missing values become 0.

    A column that tells the same as one that is no dearer, and `private` in that it shares no unit, is left constant:
    a penalised weight may be split between copies at no charge, which in the end pays for both.
    """
    columns = _canonical_columns(X, targets, count, prices)
    rows, count = _distinct_rows(X, columns, targets, count)
    data = TrainingRows(_taken(X, rows, columns), targets[rows], count)
    weight = count / count.sum()
    standard = data.X  # a copy already, so changed in place: X may fill a good part of the memory
    mean = data.fill.astype(X.dtype)  # as it is subtracted: predictions have to use the very same
    standard -= mean
    variance = np.einsum("i,ij,ij->j", weight, standard, standard)
    deviation = np.where(variance > (CONSTANT * mean.astype(float)) ** 2, np.sqrt(variance), 0.0)
    standard *= np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0).astype(X.dtype)
    copies = _dearer_copies(standard, private[columns])
    standard[:, copies], deviation[copies] = 0.0, 0.0
    centre, spread = np.zeros(targets.shape[1]), 1.0
    if scale_targets:
        centre = weight @ data.targets
        spread = float(np.sqrt(weight @ (data.targets - centre) ** 2)[0]) or 1.0
    scales = Scales(columns, mean.astype(float), deviation, centre, spread)
    return Standardised(standard, (data.targets - centre) / spread, count, scales)


def _dearer_copies(X: np.ndarray, private: np.ndarray) -> list[int]:
    """Return the columns that equal an earlier, so no dearer, private one."""
    key = np.round(np.random.default_rng(0).normal(size=len(X)) @ X, 6)
    first: dict[float, int] = {}
    copies = []
    for j in np.flatnonzero(X.any(axis=0)).tolist():
        earlier = first.setdefault(key[j], j)
        if earlier != j and private[earlier] and np.allclose(X[:, earlier], X[:, j], rtol=0, atol=1e-9):
            copies.append(j)
    return copies


def _canonical_columns(X: np.ndarray, targets: np.ndarray, count: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Order the columns by price, then by what they hold; what is summed must not depend on where a column is."""
    sums = np.zeros((3, X.shape[1]))
    for part, columns in _by_columns(X):
        weight = count[part]
        sums[0] += np.einsum("jb,b->j", columns, weight)
        sums[1] += np.einsum("jb,jb,b->j", columns, columns, weight)
        sums[2] += np.einsum("jb,b->j", columns, weight * targets[part, -1])
    return np.lexsort((*sums, prices))


def _distinct_rows(
    X: np.ndarray, columns: np.ndarray, targets: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return one of each set of rows that are alike, in an order that depends on their content, and their counts."""
    key, label = np.zeros(len(X)), np.zeros(len(X))
    factors = np.random.default_rng(0).normal(size=len(columns))
    for part, values in _by_columns(X):
        for factor, j in zip(factors, columns, strict=True):
            key[part] += factor * values[j]  # column by column: the same bits wherever a row is
    for factor, target in enumerate(targets.T, start=1):
        label += factor * target
    order = np.lexsort((key, label))
    same = (np.diff(key[order]) == 0) & (np.diff(label[order]) == 0)
    for at in np.flatnonzero(same):
        same[at] = np.array_equal(X[order[at]], X[order[at + 1]], equal_nan=True)
    group = np.append(0, np.cumsum(~same))
    first = np.append(0, np.flatnonzero(~same) + 1)
    return order[first], np.bincount(group, count[order])


def _by_columns(X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of rows as lines of values, one line per column, with something in place of what is missing."""
    for first in range(0, len(X), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        lines = np.ascontiguousarray(X[part].T, dtype=float)
        yield part, np.where(np.isnan(lines), MISSING, lines)


def _taken(X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return some rows and columns, gathered a few rows at a time."""
    taken = np.empty((len(rows), len(columns)), dtype=X.dtype)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        taken[part] = X[rows[part]][:, columns]
    return taken
