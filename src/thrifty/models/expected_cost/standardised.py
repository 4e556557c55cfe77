"""Training rows as the solvers see them: distinct rows in a canonical order, columns of mean 0 and unit variance.

The solvers are iterative and the objective is not convex, so sums taken in another order can lead to another tree. To
avoid this, identical rows are merged and their weights added, and rows and columns are sorted by their content. The
same data then give the same model if rows are shuffled, repeated instead of weighted, or if columns are reordered.
Merging also saves time on data with replicated rows. If rows live in several blocks, rows are merged and sorted within
each block.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import cast, host_dtype, is_device_array, largest_size, like, namespace_of, part_of, to_host
from thrifty.kernels.moments_arrays import DEVICE_BLOCK_ROWS, present_totals, row_slices
from thrifty.models.expected_cost.rounding import to_bits
from thrifty.models.homes import Here, Home
from thrifty.models.least_squares.moments import FilledRows
from thrifty.models.least_squares.node_rows import RowBlock

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

    Attributes
    ----------
    rows : Home of CanonicalRows
        Where the rows live.
    weight : float
        Total weight of the rows.
    scales : Scales
    """

    rows: Home["CanonicalRows"]
    weight: float
    scales: Scales


@dataclass(frozen=True, eq=False)
class CanonicalRows(RowBlock):
    """A block of rows, each only once, sorted by content, with sorted columns.

    Attributes
    ----------
    X : array of shape (n, d)
        It may be on a device; everything else is in NumPy arrays.
    targets : ndarray of shape (n, m)
    count : ndarray of shape (n,)
        Total weight of the identical rows that were merged into each row.
    keys : ndarray of shape (n,), complex
        By what the rows are sorted: a number for the targets, and one for the values.
    """

    keys: np.ndarray


def standardise(rows: Home[RowBlock], prices: np.ndarray, private: np.ndarray, scale_targets: bool) -> Standardised:
    """Merge, sort and standardise training rows; missing values become 0, the mean.

    Identical rows are merged, and rows are sorted, within each block.

    A redundant column is set to 0. A column is redundant if it is a copy of another one that is not more expensive and
    shares no unit with other columns. A solver could split a weight between two copies without a larger penalty, and
    the fitted model would then pay for both.

    Parameters
    ----------
    rows : Home of RowBlock
        X may contain NaN. If it is on a device, the result is too.
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
    columns = np.lexsort((*rows.sum(_column_sums), prices))  # sorted by price, then by the sums
    distinct = rows.map(_distinct_rows, columns)
    total = float(to_bits(distinct.sum(_total_count)))
    filled, fill = _filled(distinct)
    mean = fill.astype(distinct.collect(_dtype)[0])  # rounded here, because predictions must subtract exactly the same
    in_place = isinstance(filled, Here)  # these rows are copies that nothing else uses; tasks may run twice
    centred = filled.map(_centred, mean, in_place)
    variance = centred.sum(_mean_squares, total)
    deviation = to_bits(np.where(variance > (CONSTANT * mean.astype(float)) ** 2, np.sqrt(variance), 0.0))
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    target_mean, target_deviation = np.zeros(filled.collect(_n_targets)[0]), 1.0
    if scale_targets:
        target_mean = to_bits(filled.sum(_target_means, total))
        target_deviation = float(to_bits(np.sqrt(filled.sum(_target_squares, total, target_mean)))[0]) or 1.0
    standard = centred.map(_scaled, scale.astype(mean.dtype), target_mean, target_deviation, in_place)
    redundant = _redundant_columns(standard, private[columns])
    if redundant:
        deviation[redundant] = 0.0
        standard = standard.map(_with_zeros, redundant)
    scales = Scales(columns, mean.astype(float), deviation, target_mean, target_deviation)
    return Standardised(standard, total, scales)


def _total_count(block: RowBlock) -> float:
    return block.count.sum()


def _dtype(block: RowBlock) -> np.dtype:
    return host_dtype(block.X)


def _n_targets(block: RowBlock) -> int:
    return block.targets.shape[1]


def _filled(rows: Home[CanonicalRows]) -> tuple[Home[CanonicalRows], np.ndarray]:
    """Return rows with NaN replaced by column means, and the means; 0 for a column without any value."""
    if not (isinstance(rows, Here) and is_device_array(rows.block.X)):
        data = FilledRows.at(rows, settle=to_bits)
        return data.home, data.fill  # type: ignore[return-value]
    X, (present, sums) = rows.block.X, present_totals(rows.block.X, rows.block.count)
    xp, means = namespace_of(X), to_bits(np.divide(sums, present, out=np.zeros_like(sums), where=present > 0))
    for part in _parts(X):  # in place, because X may fill much of the memory; it is a copy
        X[part, :] = xp.where(xp.isnan(X[part, :]), like(means.astype(host_dtype(X)), X), X[part, :])
    return rows, means


def _centred(block: CanonicalRows, mean: np.ndarray, in_place: bool) -> CanonicalRows:
    X, mean = block.X, like(mean, block.X)
    if not in_place:
        return replace(block, X=X - mean)
    X -= mean
    return block


def _mean_squares(block: CanonicalRows, total: float) -> np.ndarray:
    """Return the sums of the squares of each column, weighted by the share of each row in the total weight."""
    X, weight = block.X, block.count / total
    if not is_device_array(X):
        return np.einsum("i,ij,ij->j", weight, X, X)
    sums = np.zeros(X.shape[1])
    for part in _parts(X):
        share = like(weight[part], X)
        values = cast(X[part, :], share.dtype)
        sums += to_host(share @ (values * values))
    return sums


def _target_means(block: CanonicalRows, total: float) -> np.ndarray:
    return (block.count / total) @ block.targets


def _target_squares(block: CanonicalRows, total: float, mean: np.ndarray) -> np.ndarray:
    return (block.count / total) @ (block.targets - mean) ** 2


def _scaled(
    block: CanonicalRows, scale: np.ndarray, target_mean: np.ndarray, target_deviation: float, in_place: bool
) -> CanonicalRows:
    X, scale = block.X, like(scale, block.X)
    if in_place:
        X *= scale
    else:
        X = X * scale
    return replace(block, X=X, targets=(block.targets - target_mean) / target_deviation)


def _with_zeros(block: CanonicalRows, columns: list[int]) -> CanonicalRows:
    """Return a block in which some columns are 0."""
    X = 1 * block.X
    for j in columns:
        X[:, j] = 0.0
    return replace(block, X=X)


def _redundant_columns(rows: Home[CanonicalRows], private: np.ndarray) -> list[int]:
    """Return the columns that equal an earlier private one. Columns are sorted by price, so that one is not pricier."""
    projections, n_nonzero = rows.sum(_projected_columns)
    key = np.round(projections, 6)
    first: dict[float, int] = {}
    redundant = []
    for j in np.flatnonzero(n_nonzero).tolist():
        earlier = first.setdefault(key[j], j)
        if earlier != j and private[earlier] and max(rows.collect(_difference, earlier, j)) <= SAME:
            redundant.append(j)
    return redundant


def _projected_columns(block: CanonicalRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the products of columns with random numbers, and how many entries of each column are not 0."""
    xp, random = namespace_of(block.X), like(np.random.default_rng(0).normal(size=block.X.shape[0]), block.X)
    return to_host(random @ cast(block.X, random.dtype)), to_host(xp.count_nonzero(block.X, axis=0))


def _difference(block: CanonicalRows, one: int, other: int) -> float:
    """Return the largest difference of the values of two columns."""
    return largest_size(block.X[:, one] - block.X[:, other])


def _column_sums(block: RowBlock) -> np.ndarray:
    """Return sums (3, d) of the values of each column, by which columns are sorted wherever they are in X."""
    X, count, targets = block.X, block.count, block.targets
    sums = np.zeros((3, X.shape[1]))
    for part, columns in _blocks(X):
        weight, target = like(count[part], columns), like(targets[part, -1], columns)
        sums[0] += _dots(columns, weight)
        sums[1] += _dots(columns * columns, weight)
        sums[2] += _dots(columns, weight * target)
    return sums


def _dots(columns: Any, weight: Any) -> np.ndarray:
    """Return the product of each line with the weights; equal lines have equal products."""
    if isinstance(columns, np.ndarray):
        return np.einsum("jb,b->j", columns, weight)
    return to_host(namespace_of(columns).vecdot(columns, weight))


def _distinct_rows(block: RowBlock, columns: np.ndarray) -> CanonicalRows:
    """Return one of each group of identical rows, sorted by content, with the total weight of each group."""
    X, targets, count = block.X, block.targets, block.count
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
    starts = np.append(True, ~same)[:n_rows]
    rows = order[starts]
    keys = np.empty(len(rows), dtype=complex)
    keys.real, keys.imag = label[rows], key[rows]
    merged = np.bincount(np.cumsum(starts) - 1, count[order], len(rows))
    return CanonicalRows(_gather(X, rows, columns), targets[rows], merged, keys)


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
