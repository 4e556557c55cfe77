"""Training rows as the solvers see them: distinct rows in a canonical order, columns of mean 0 and unit variance.

The solvers are iterative and the objective is not convex, so sums taken in another order can lead to another tree. To
avoid this, identical rows are merged and their weights added, and rows and columns are sorted by their content. The
same data then give the same model if rows are shuffled, repeated instead of weighted, or if columns are reordered.
Merging also saves time on data with replicated rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import cast, host_dtype, is_device_array, largest_size, like, namespace_of, part_of, to_host
from thrifty.kernels.moments_arrays import DEVICE_BLOCK_ROWS, present_totals, row_slices
from thrifty.models.least_squares.moments import FilledRows

BLOCK_ROWS = 4096  # rows that are read or copied at a time
MISSING = np.pi  # replaces NaN in the sums by which rows and columns are sorted
SAME = 1e-9  # largest difference of the values of two columns that count as copies
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
    X : array of shape (n, d)
        It may be on a device; everything else is in NumPy arrays.
    targets : ndarray of shape (n, m)
    count : ndarray of shape (n,)
        Total weight of the identical rows that were merged into each row.
    scales : Scales
    """

    X: Any
    targets: np.ndarray
    count: np.ndarray
    scales: Scales


def standardise(
    X: Any,
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
    X : array of shape (n, d)
        Columns that the nodes weigh; they may contain NaN. If they are on a device, the result is too.
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
    targets = targets[rows]
    standard, fill = _filled(_gather(X, rows, columns), count)
    weight = count / count.sum()
    mean = fill.astype(host_dtype(X))  # rounded here, because predictions must subtract exactly the same
    standard -= like(mean, X)  # already a copy; changed in place because X may fill much of the memory
    variance = _mean_squares(standard, weight)
    deviation = np.where(variance > (CONSTANT * mean.astype(float)) ** 2, np.sqrt(variance), 0.0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    standard *= like(scale.astype(mean.dtype), X)
    redundant = _redundant_columns(standard, private[columns])
    deviation[redundant] = 0.0
    for j in redundant:
        standard[:, j] = 0.0
    target_mean, target_deviation = np.zeros(targets.shape[1]), 1.0
    if scale_targets:
        target_mean = weight @ targets
        target_deviation = float(np.sqrt(weight @ (targets - target_mean) ** 2)[0]) or 1.0
    scales = Scales(columns, mean.astype(float), deviation, target_mean, target_deviation)
    return Standardised(standard, (targets - target_mean) / target_deviation, count, scales)


def _filled(X: Any, count: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return X with NaN replaced by column means, and the means; 0 for a column without any value."""
    if not is_device_array(X):
        data = FilledRows(X, np.empty((len(X), 0)), count)
        return data.X, data.fill
    xp, (present, sums) = namespace_of(X), present_totals(X, count)
    means = np.divide(sums, present, out=np.zeros_like(sums), where=present > 0)
    for part in _parts(X):
        X[part, :] = xp.where(xp.isnan(X[part, :]), like(means.astype(host_dtype(X)), X), X[part, :])
    return X, means


def _mean_squares(X: Any, weight: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the squares of each column."""
    if not is_device_array(X):
        return np.einsum("i,ij,ij->j", weight, X, X)
    total = np.zeros(X.shape[1])
    for part in _parts(X):
        share = like(weight[part], X)
        values = cast(X[part, :], share.dtype)
        total += to_host(share @ (values * values))
    return total


def _redundant_columns(X: Any, private: np.ndarray) -> list[int]:
    """Return the columns that equal an earlier private one. Columns are sorted by price, so that one is not pricier."""
    xp, random = namespace_of(X), like(np.random.default_rng(0).normal(size=X.shape[0]), X)
    key = np.round(to_host(random @ cast(X, random.dtype)), 6)
    first: dict[float, int] = {}
    redundant = []
    for j in np.flatnonzero(to_host(xp.any(X != 0, axis=0))).tolist():
        earlier = first.setdefault(key[j], j)
        if earlier != j and private[earlier] and largest_size(X[:, earlier] - X[:, j]) <= SAME:
            redundant.append(j)
    return redundant


def _canonical_columns(X: Any, targets: np.ndarray, count: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Sort the columns by price, then by sums of their values that do not depend on the position of the column."""
    sums = np.zeros((3, X.shape[1]))
    for part, columns in _blocks(X):
        weight, target = like(count[part], columns), like(targets[part, -1], columns)
        sums[0] += _dots(columns, weight)
        sums[1] += _dots(columns * columns, weight)
        sums[2] += _dots(columns, weight * target)
    return np.lexsort((*sums, prices))


def _dots(columns: Any, weight: Any) -> np.ndarray:
    """Return the product of each line with the weights; equal lines have equal products."""
    if isinstance(columns, np.ndarray):
        return np.einsum("jb,b->j", columns, weight)
    return to_host(namespace_of(columns).vecdot(columns, weight))


def _distinct_rows(
    X: Any, columns: np.ndarray, targets: np.ndarray, count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return one of each group of identical rows, sorted by content, and the total weight of each group."""
    n_rows = X.shape[0]
    key, label = np.zeros(n_rows), np.zeros(n_rows)
    factors = np.random.default_rng(0).normal(size=len(columns))
    for part, values in _blocks(X):
        sums = namespace_of(values).zeros_like(values[0, :])
        for factor, j in zip(factors.tolist(), columns.tolist(), strict=True):
            sums += factor * values[j, :]  # column by column, so that identical rows get identical keys
        key[part] = to_host(sums)
    for factor, target in enumerate(targets.T, start=1):
        label += factor * target
    order = np.lexsort((key, label))
    same = (np.diff(key[order]) == 0) & (np.diff(label[order]) == 0)
    at = np.flatnonzero(same)
    same[at] = _are_equal(X, order[at], order[at + 1])
    group = np.append(0, np.cumsum(~same))
    first = np.append(0, np.flatnonzero(~same) + 1)
    return order[first], np.bincount(group, count[order])


def _are_equal(X: Any, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Tell for each pair of rows whether they are identical; NaN equals NaN."""
    xp, equal = namespace_of(X), np.zeros(len(rows), dtype=bool)
    for part in _parts(rows):
        one, other = (xp.take(X, like(each[part], X), axis=0) for each in (rows, others))
        alike = (one == other) | (xp.isnan(one) & xp.isnan(other))
        equal[part] = to_host(xp.all(alike, axis=1))
    return equal


def _parts(X: Any) -> Iterator[slice]:
    """Yield slices of blocks of rows; on a device they are large, because small ones would be slow."""
    return row_slices(X.shape[0], DEVICE_BLOCK_ROWS if is_device_array(X) else BLOCK_ROWS)


def _blocks(X: Any) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows, transposed, with NaN replaced by a constant."""
    for part in _parts(X):
        if isinstance(X, np.ndarray):
            columns = np.ascontiguousarray(X[part].T, dtype=float)
            yield part, np.where(np.isnan(columns), MISSING, columns)
        else:
            xp = namespace_of(X)
            columns = cast(X[part, :], xp.float64)
            yield part, xp.where(xp.isnan(columns), xp.full_like(columns, MISSING), columns).T


def _gather(X: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Return X[rows][:, columns], in this process gathered in blocks to limit the memory in use."""
    if is_device_array(X):
        return part_of(X, rows, columns)
    gathered = np.empty((len(rows), len(columns)), dtype=X.dtype)
    for part in _parts(rows):
        gathered[part] = X[rows[part]][:, columns]
    return gathered
