"""Values to codes: where to cut a column into bins, and which bin a value falls into."""

import numpy as np
from numba import njit

TILE = 64  # rows coded together, so that codes are written a cache line at a time


@njit(cache=True, nogil=True)
def choose_cuts(weight, max_bins, cuts):
    """Write after which of the distinct values (given by their weights, in order) to cut; return how many cuts.

    Bins weigh about the same, except that a value heavier than a bin should be gets one of its own and leaves more
    bins to the others.
    """
    heavy = weight * max_bins >= weight.sum()
    left_over, n_bins = weight[~heavy].sum(), max(max_bins - heavy.sum(), 1)  # what the others share, and in how many
    n_cuts, inside = 0, 0.0
    for k in range(weight.size - 1):
        inside += weight[k]
        size = left_over / n_bins
        full = heavy[k] or inside >= size or (heavy[k + 1] and 2 * inside >= size)
        if full and n_cuts < max_bins - 1:
            cuts[n_cuts] = k
            n_cuts += 1
            if not heavy[k]:
                left_over, n_bins = left_over - inside, max(n_bins - 1, 1)
            inside = 0.0
    return n_cuts


@njit(cache=True, nogil=True)
def code_rows(X, edges, missing, first, last, codes):
    """Write the codes of rows first..last, in blocks of eight columns: how many edges of its column a value exceeds.

    `codes` is (d / 8, n, 8), rounded up. `edges` is (d, 255), ascending and filled up with infinity, so that every
    search takes the same eight steps; a tile of rows takes each of them together, in vector instructions.
    """
    low = np.empty(TILE, np.uint32)
    values = np.zeros(TILE)
    for start in range(first, last, TILE):
        n_rows = min(TILE, last - start)
        for j in range(X.shape[1]):
            column = edges[j]
            for r in range(n_rows):
                values[r] = X[start + r, j]
            low[:] = 0
            half = 128
            while half > 0:
                for r in range(TILE):
                    low[r] += np.uint32(half) if column[low[r] + np.uint32(half - 1)] < values[r] else np.uint32(0)
                half >>= 1
            for r in range(n_rows):
                codes[j >> 3, start + r, j & 7] = missing if np.isnan(values[r]) else low[r]
