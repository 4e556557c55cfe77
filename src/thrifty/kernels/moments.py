"""Weighted sums over the rows at a node, without copying them.

Everything is taken about a fixed `shift` (the column means of the whole data), which keeps digits that raw
second moments of far-from-zero columns would lose.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def products(X, rows, shift, factors, first, last, out):
    """Add factors[r, p] * (x_r - shift) to out[p] for rows first..last of the list."""
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
    """Add weight[r] * (x_r - shift)**2 to out for rows first..last of the list."""
    n_features = shift.size
    for r in range(first, last):
        row = X[rows[r]]
        w = weight[r]
        for j in range(n_features):
            centred = row[j] - shift[j]
            out[j] += w * centred * centred


@njit(cache=True, nogil=True)
def gather(X, rows, shift, scale, first, last, out):
    """Copy scale[r] * (x_r - shift) of rows first..last of the list into the same rows of out, ready for BLAS."""
    n_features = shift.size
    for r in range(first, last):
        row = X[rows[r]]
        line = out[r]
        for j in range(n_features):
            line[j] = scale[r] * (row[j] - shift[j])
