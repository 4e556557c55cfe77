"""Weighted sums over some rows of X, without copying the rows.

All sums use x - shift, where `shift` holds the column means of the whole data. Without the shift, second moments of
columns with a large mean would lose digits.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def products(X, rows, shift, factors, first, last, out):
    """Add factors[r, p] * (X[rows[r]] - shift) to out[p] for r in first..last."""
    n_features, n_factors = shift.size, factors.shape[1]
    centred = np.empty(n_features)
    for r in range(first, last):
        row = X[rows[r]]
        for j in range(n_features):
            centred[j] = row[j] - shift[j]
        for p in range(n_factors):
            factor = factors[r, p]
            line = out[p]
            for j in range(n_features):
                line[j] += factor * centred[j]


@njit(cache=True, nogil=True)
def squares(X, rows, shift, weight, first, last, out):
    """Add weight[r] * (X[rows[r]] - shift)**2 to out for r in first..last."""
    n_features = shift.size
    for r in range(first, last):
        row = X[rows[r]]
        w = weight[r]
        for j in range(n_features):
            centred = row[j] - shift[j]
            out[j] += w * centred * centred


@njit(cache=True, nogil=True)
def gather(X, rows, shift, scale, first, last, out):
    """Write scale[r] * (X[rows[r]] - shift) to out[r] for r in first..last, for a matrix product in BLAS."""
    n_features = shift.size
    for r in range(first, last):
        row = X[rows[r]]
        line = out[r]
        for j in range(n_features):
            line[j] = scale[r] * (row[j] - shift[j])
