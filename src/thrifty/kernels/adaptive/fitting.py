"""Fits of masked rows: their codes, and the steps of leaves with many numbers."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def mask_codes(codes, rows, group_of, bought, first, last, missing, out):
    """Copy the codes (n_blocks, n, 8) of some rows; columns that are not bought get the code of missing values.

    group_of    (d,) the group of each column        bought    (len(rows), G) groups that each row has
    """
    for block in range(first, last):
        for r in range(rows.size):
            for c in range(min(8, group_of.size - 8 * block)):
                has = bought[r, group_of[8 * block + c]]
                out[block, r, c] = codes[block, rows[r], c] if has else missing


@njit(cache=True, nogil=True)
def step_numbers(leaves, residual, known, weight, ridge, rate, steps):
    """Write `rate` times the mean residuals of each leaf into `steps` (n_nodes, k), and subtract them from its rows."""
    for at in range(leaves.node.size):
        step = steps[leaves.node[at]]
        own = leaves.bag[leaves.bag_span[at, 0] : leaves.bag_span[at, 1]]
        leaf_means(own, residual, known, weight, ridge, step)
        step *= rate
        subtract_steps(own, step, known, residual)
        subtract_steps(leaves.rest[leaves.rest_span[at, 0] : leaves.rest_span[at, 1]], step, known, residual)


@njit(cache=True, nogil=True)
def leaf_means(rows, residual, known, weight, ridge, out):
    """Write the mean residual of each output over the rows of a leaf; `ridge` counts as rows with a residual of 0."""
    total = np.full(out.size, ridge)
    out[:] = 0.0
    for r in rows:
        for k in range(out.size):
            if known[r, k]:
                out[k] += weight[r] * residual[r, k]
                total[k] += weight[r]
    for k in range(out.size):
        out[k] = out[k] / total[k] if total[k] > 0 else 0.0


@njit(cache=True, nogil=True)
def subtract_steps(rows, step, known, residual):
    """Subtract the step of a leaf from the known residuals of its rows."""
    for r in rows:
        for k in range(step.size):
            if known[r, k]:
                residual[r, k] -= step[k]
