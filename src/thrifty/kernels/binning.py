"""Binning: choose the bins of a column, and replace values by the codes of their bins."""

import numpy as np
from numba import njit

TILE = 64  # rows coded together, so that codes are written in whole cache lines


@njit(cache=True, nogil=True)
def choose_cuts(weight, max_bins, cuts):
    """Choose where to cut the sorted distinct values of a column into bins; return the number of cuts.

    `weight[k]` is the total weight of the rows with the k-th distinct value. ``cuts[c] = k`` means that a bin ends
    after value k. The bins have about the same weight. A value is heavy if its weight is at least
    ``weight.sum() / max_bins``. It gets a bin of its own, and the other values share the remaining bins.
    """
    heavy = weight * max_bins >= weight.sum()
    # weight of the values that are not in a bin yet, and the number of bins that are left for them
    light_weight, n_bins = weight[~heavy].sum(), max(max_bins - heavy.sum(), 1)
    n_cuts, bin_weight = 0, 0.0
    for k in range(weight.size - 1):
        bin_weight += weight[k]
        target = light_weight / n_bins
        full = heavy[k] or bin_weight >= target or (heavy[k + 1] and 2 * bin_weight >= target)
        if full and n_cuts < max_bins - 1:
            cuts[n_cuts] = k
            n_cuts += 1
            if not heavy[k]:
                light_weight, n_bins = light_weight - bin_weight, max(n_bins - 1, 1)
            bin_weight = 0.0
    return n_cuts


@njit(cache=True, nogil=True)
def code_rows(X, edges, missing, first, last, codes):
    """Write the codes of rows first..last: the number of edges of the column that are smaller than the value.

    `codes` has shape (ceil(d / 8), n, 8): columns are stored in blocks of eight. `edges` has shape (d, 255). Its rows
    are ascending and padded with infinity, so that every binary search takes exactly eight steps. All rows of a tile
    take a step together, which the compiler turns into vector instructions. NaN gets the code `missing`.
    """
    low = np.empty(TILE, np.uint32)
    values = np.zeros(TILE)
    for start in range(first, last, TILE):
        n_rows = min(TILE, last - start)
        for j in range(X.shape[1]):
            column_edges = edges[j]
            for r in range(n_rows):
                values[r] = X[start + r, j]
            low[:] = 0
            step = 128
            while step > 0:
                for r in range(TILE):
                    low[r] += (
                        np.uint32(step) if column_edges[low[r] + np.uint32(step - 1)] < values[r] else np.uint32(0)
                    )
                step >>= 1
            for r in range(n_rows):
                codes[j >> 3, start + r, j & 7] = missing if np.isnan(values[r]) else low[r]
