"""Products of the training rows with weights, and of derivatives with the training rows.

The rows may be in single precision. These products then are too, and everything else is in double precision.
"""

from typing import Any

import numpy as np

from thrifty.arrays import cast, is_device_array, like, namespace_of, part_of

N_PARTS, SMALLEST_PART = 64, 1024  # on a device the rows of a product are divided, so that all of its units have work


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b without warnings.

    Some BLAS libraries also compute on memory beyond small single-precision arrays, and then report invalid values
    that are not part of the result.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return a @ b


def scores_of(X: Any, weights: Any) -> Any:
    """Return the scores (n, k) of rows, given k weights of each column (k, d)."""
    if is_device_array(X):
        return cast(cast(weights, X.dtype) @ X.T, weights.dtype).T  # a line per score, as the kernels of a device read
    return product(X, cast(weights.T, X.dtype)).astype(float, copy=False)


def column_slopes(by_score: Any, X: Any) -> Any:
    """Return the derivatives by the weights (k, d), given those by the scores (n, k)."""
    if is_device_array(X):
        return cast(_sum_of_parts(namespace_of(X), cast(by_score.T, X.dtype), X), by_score.dtype)
    return product(cast(by_score.T, X.dtype), X)


def columns_of(X: Any, rows: Any, columns: Any) -> Any:
    """Return the same values, one line for each column."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(part_of(X, rows, columns).T)
    xp = namespace_of(X)
    return xp.take(xp.take(X.T, like(columns, X), axis=0), rows, axis=1)


def _sum_of_parts(xp: Any, left: Any, X: Any) -> Any:
    """Return left @ X as a sum of products of parts of the rows; one product of so few lines would be slow."""
    (n_lines, n_rows), n_columns = left.shape, X.shape[1]
    n_each = n_rows // N_PARTS
    if n_each < SMALLEST_PART:
        return left @ X
    n_whole = N_PARTS * n_each
    lefts = xp.permute_dims(xp.reshape(left[:, :n_whole], (n_lines, N_PARTS, n_each)), (1, 0, 2))
    parts = xp.matmul(lefts, xp.reshape(X[:n_whole, :], (N_PARTS, n_each, n_columns)))
    return xp.sum(parts, axis=0) + left[:, n_whole:] @ X[n_whole:, :]
