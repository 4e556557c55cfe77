"""A sample of the training rows in this process, the same one wherever the rows live.

Standardised rows are sorted by content (`standardised`): first by label, then by a key of their values. The sample is
evenly spaced in this order. Rows on workers are sorted within each block only. The rows of the sample are then found by
their ranks among all rows: bisection over the possible numbers, with counts that are added over the blocks. Only the
rows of the sample travel.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from thrifty.arrays import namespace_of
from thrifty.models.expected_cost.row_blocks import TrainingRows, n_rows_of
from thrifty.models.homes import Here, Home

LARGEST = np.finfo(float).max

Count = Callable[[np.ndarray], np.ndarray]


def drawn(rows: Home[TrainingRows], size: int) -> Home[TrainingRows]:
    """Return at most `size` rows in this process, evenly spaced in the canonical order, with shares that sum to 1."""
    n_rows = rows.sum(n_rows_of)
    if isinstance(rows, Here) and n_rows <= size:
        return rows
    ranks = np.linspace(0, n_rows - 1, min(n_rows, size)).astype(int)
    sample = rows.block.take(ranks) if isinstance(rows, Here) else _fetched(rows, None if n_rows <= size else ranks)
    if n_rows <= size:
        return Here(sample)
    total = namespace_of(sample.weight).sum(sample.weight)
    return Here(replace(sample, weight=sample.weight / total, loss_weight=sample.loss_weight / total))


def _fetched(rows: Home[TrainingRows], ranks: np.ndarray | None) -> TrainingRows:
    """Return the rows of these ranks, or all rows, in canonical order; identical rows become one."""
    parts = rows.collect(_with_keys, None if ranks is None else keys_at(rows, ranks))
    names = ("X", "targets", "weight", "loss_weight", "keys")
    together = TrainingRows(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    ordered = together.take(np.argsort(together.keys, kind="stable"))
    return _merged(ordered)


def _merged(rows: TrainingRows) -> TrainingRows:
    """Return each row once, with the total weight of the rows that are identical to it."""
    same = (np.diff(rows.keys) == 0) & (rows.X[1:] == rows.X[:-1]).all(axis=1)
    if not same.any():
        return rows
    group = np.append(0, np.cumsum(~same))
    weight, loss_weight = (np.bincount(group, each) for each in (rows.weight, rows.loss_weight))
    return replace(rows.take(np.append(0, np.flatnonzero(~same) + 1)), weight=weight, loss_weight=loss_weight)


def keys_at(rows: Home[TrainingRows], ranks: np.ndarray) -> np.ndarray:
    """Return the keys of the rows with these ranks, counted from 0, among the rows of all blocks."""
    labels = _smallest(lambda label: rows.sum(_n_up_to, label, np.full(len(ranks), np.inf)), ranks)
    keys = _smallest(lambda key: rows.sum(_n_up_to, labels, key), ranks)
    return _pairs(labels, keys)


def _smallest(count_up_to: Count, ranks: np.ndarray) -> np.ndarray:
    """Return for each rank the smallest number up to which there are more rows than the rank says."""
    low, high = (_codes(np.full(len(ranks), end)) for end in (-LARGEST, LARGEST))
    while (low < high).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # their mean without overflow
        enough = count_up_to(_numbers(middle)) > ranks
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return _numbers(low)


def _codes(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers in the order of some floats; neighbouring floats get neighbouring numbers."""
    bits = numbers.view(np.int64)
    return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)


def _numbers(codes: np.ndarray) -> np.ndarray:
    """Return the floats of some codes."""
    return np.where(codes < 0, codes ^ np.iinfo(np.int64).max, codes).view(float)


def _pairs(labels: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return complex numbers, which NumPy sorts by the real part first."""
    pairs = np.empty(len(labels), dtype=complex)
    pairs.real, pairs.imag = labels, keys
    return pairs


def _n_up_to(rows: TrainingRows, labels: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the number of rows up to each pair of a label and a key."""
    return np.searchsorted(rows.keys, _pairs(labels, keys), side="right")


def _with_keys(rows: TrainingRows, keys: np.ndarray | None) -> TrainingRows:
    """Return the rows that have one of these keys, or all rows."""
    return rows if keys is None else rows.take(np.flatnonzero(np.isin(rows.keys, keys)))
