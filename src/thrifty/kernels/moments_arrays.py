"""Weighted sums over some rows of X in functions of the array API standard, for rows on a device.

They are the sums of `moments`. X stays on the device; positions, weights and factors move there, and the sums, which
are small, come back. Rows are taken in large blocks, to limit the memory in use.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from thrifty.arrays import cast, concatenated, like, namespace_of, place_of, to_host

DEVICE_BLOCK_ROWS = 2**18


def row_slices(n_rows: int, size: int = DEVICE_BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices of blocks of rows."""
    for first in range(0, n_rows, size):
        yield slice(first, min(first + size, n_rows))


def products(X: Any, rows: np.ndarray, shift: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return factors' (X[rows] - shift), of shape (n_factors, n_features)."""
    total = np.zeros((factors.shape[1], X.shape[1]))
    for part in row_slices(len(rows)):
        total += to_host(like(factors[part], X).T @ _centred(X, rows[part], shift))
    return total


def squares(X: Any, rows: np.ndarray, shift: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted sums of (X[rows] - shift)**2."""
    total = np.zeros(X.shape[1])
    for part in row_slices(len(rows)):
        values = _centred(X, rows[part], shift)
        total += to_host(like(weight[part], X) @ (values * values))
    return total


def gram_columns(X: Any, rows: np.ndarray, shift: np.ndarray, weight: np.ndarray, features: list[int]) -> np.ndarray:
    """Return the weighted sums of (x - shift) (x_f - shift_f) for some features f, (len(features), n_features)."""
    total, chosen = np.zeros((len(features), X.shape[1])), like(np.array(features), X)
    for part in row_slices(len(rows)):
        values = _centred(X, rows[part], shift)
        own = namespace_of(X).take(values, chosen, axis=1)
        total += to_host((own * like(weight[part, None], X)).T @ values)
    return total


def full_product(X: Any, rows: np.ndarray, shift: np.ndarray, scale: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the sums of z z' for z = (scale * (X[rows] - shift), others)."""
    width = X.shape[1] + others.shape[1]
    total = np.zeros((width, width))
    for part in row_slices(len(rows)):
        values = like(scale[part, None], X) * _centred(X, rows[part], shift)
        z = concatenated(namespace_of(X), [values, like(others[part], X)], axis=1)
        total += to_host(z.T @ z)
    return total


def present_totals(X: Any, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each feature, the weight of the rows that have a value, and the weighted sum of the values."""
    xp, present, sums = namespace_of(X), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for part in row_slices(X.shape[0]):
        values, weight = X[part, :], like(count[part], X)
        missing = xp.isnan(values)
        present += to_host(weight @ cast(~missing, weight.dtype))
        sums += to_host(weight @ cast(xp.where(missing, xp.zeros_like(values), values), weight.dtype))
    return present, sums


def dot_of_lines(values: Any, weights: np.ndarray, lanes: int) -> Any:
    """Return values @ weights, added in the order of `dot.dot`, so that every bit is the same.

    Products of matrices on a device add in another order. A row on a threshold could then go to another child in
    training than at prediction.
    """
    xp, factors = namespace_of(values), like(weights, values)
    n_in_lanes = len(weights) // lanes * lanes
    sums = xp.zeros((values.shape[0], lanes), dtype=values.dtype, **place_of(values))
    for j in range(0, n_in_lanes, lanes):
        sums = sums + values[:, j : j + lanes] * factors[j : j + lanes]
    while sums.shape[1] > 1:
        sums = sums[:, ::2] + sums[:, 1::2]
    total = sums[:, 0]
    for j in range(n_in_lanes, len(weights)):
        total = total + values[:, j] * factors[j]
    return total


def _centred(X: Any, rows: np.ndarray, shift: np.ndarray) -> Any:
    """Return X[rows] - shift in double precision."""
    xp = namespace_of(X)
    return cast(xp.take(X, like(rows, X), axis=0), xp.float64) - like(shift, X)
