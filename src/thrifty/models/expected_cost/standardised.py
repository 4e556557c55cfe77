"""Training rows made ready for the solvers: in a canonical order, each once, on columns of unit variance.

The solvers are iterative, and their objective is not convex: a sum taken in another order can end in another tree.
So rows that are alike are merged, their weights added, and rows and columns are put in an order that depends on
nothing but what they hold. Shuffled, repeated instead of weighted, or with columns in another order, the same data
then give the same model. Merging also saves work where negatives were replicated.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from thrifty.models.least_squares.moments import TrainingRows

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
    X: np.ndarray, targets: np.ndarray, count: np.ndarray, prices: np.ndarray, scale_targets: bool
) -> Standardised:
    """Return distinct rows in canonical order on columns of unit variance about 0; missing values become 0."""
    columns = _canonical_columns(X, targets, count, prices)
    rows, count = _distinct_rows(X[:, columns], targets, count)
    data = TrainingRows(np.ascontiguousarray(X[np.ix_(rows, columns)]), targets[rows], count)
    weight = count / count.sum()
    variance = np.array([weight @ (column - mean) ** 2 for column, mean in zip(data.X.T, data.fill, strict=True)])
    deviation = np.where(variance > (CONSTANT * data.fill) ** 2, np.sqrt(variance), 0.0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    standard = (data.X - data.fill.astype(X.dtype)) * scale.astype(X.dtype)
    centre, spread = np.zeros(targets.shape[1]), 1.0
    if scale_targets:
        centre = weight @ data.targets
        spread = float(np.sqrt(weight @ (data.targets - centre) ** 2)[0]) or 1.0
    scales = Scales(columns, data.fill, deviation, centre, spread)
    return Standardised(standard, (data.targets - centre) / spread, count, scales)


def _canonical_columns(X: np.ndarray, targets: np.ndarray, count: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Order the columns by price, then by what they hold."""
    data = TrainingRows(X, targets, count)
    spread = [count @ (column - mean) ** 2 for column, mean in zip(data.X.T, data.fill, strict=True)]
    covariance = [count @ ((column - mean) * targets[:, -1]) for column, mean in zip(data.X.T, data.fill, strict=True)]
    return np.lexsort((covariance, spread, data.fill, prices))


def _distinct_rows(X: np.ndarray, targets: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one of each set of rows that are alike, in an order that depends on their content, and their counts."""
    known = np.nan_to_num(X, nan=np.pi)
    projection = np.random.default_rng(0).normal(size=X.shape[1])
    key = np.einsum("ij,j->i", known.astype(float, copy=False), projection)  # row by row: the same bits anywhere
    label = np.einsum("ij,j->i", targets, np.arange(1.0, targets.shape[1] + 1))
    order = np.lexsort((key, label))
    same = (np.diff(key[order]) == 0) & (np.diff(label[order]) == 0)
    alike = np.flatnonzero(same)
    same[alike] = (known[order[alike]] == known[order[alike + 1]]).all(axis=1)
    group = np.append(0, np.cumsum(~same))
    first = np.append(0, np.flatnonzero(~same) + 1)
    return order[first], np.bincount(group, count[order])
