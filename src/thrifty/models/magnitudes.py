"""Refusal of values that are so large or so small that sums of their squares overflow or underflow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from thrifty.arrays import is_device_array, namespace_of, to_host

SMALLEST, LARGEST = 1e-100, 1e100
EXPECTED = f"expected 0, or between {SMALLEST:g} and {LARGEST:g}, because other squares overflow or underflow"


def refuse_extreme_columns(X: Any, names: Any, owner: str) -> None:
    """Raise ValueError if the largest absolute value of a column is extreme."""
    refuse_extreme_sizes([abs(X).max(axis=0).toarray().ravel() if issparse(X) else _largest_sizes(X)], names, owner)


def refuse_extreme_sizes(sizes: Sequence[np.ndarray], names: Any, owner: str) -> None:
    """Raise ValueError if the largest absolute value of a column is extreme, given those of blocks of rows."""
    largest = np.fmax.reduce(sizes)
    for column in np.flatnonzero(_is_extreme(np.nan_to_num(largest)))[:1]:
        what = f"the largest absolute value of column {names[column]!r} of X is {largest[column]:.3g}"
        raise ValueError(f"{owner}: {what}; {EXPECTED}. Scale the column.")


def refuse_extreme(values: np.ndarray, what: str, owner: str, remedy: str = "Scale X and y.") -> None:
    """Raise ValueError if the largest absolute value is extreme."""
    largest = np.abs(values).max(initial=0.0)
    if _is_extreme(largest):
        raise ValueError(f"{owner}: the largest absolute value of {what} is {largest:.3g}; {EXPECTED}. {remedy}")


def largest_sizes(rows: Any) -> np.ndarray:
    """Return the largest absolute value of each column of a block of rows; NaN for a column without values."""
    return _largest_sizes(rows.X) if len(rows) else np.full(rows.X.shape[1], np.nan)


def _largest_sizes(X: Any) -> np.ndarray:
    """Return the largest absolute value of each column, without a copy of X; NaN for a column without values."""
    if is_device_array(X):
        xp = namespace_of(X)
        return to_host(xp.max(xp.where(xp.isnan(X), xp.zeros_like(X), xp.abs(X)), axis=0))
    return np.fmax(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0))


def _is_extreme(largest: Any) -> Any:
    largest = np.asarray(largest, dtype=float)  # the limits overflow float32
    return (largest != 0) & ~((largest >= SMALLEST) & (largest <= LARGEST))
