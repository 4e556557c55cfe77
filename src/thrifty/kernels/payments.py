"""Payments of training rows for the units that their paths through trees require."""

import numpy as np
from numba import njit

_U = np.uint64  # Numba checks whether a signed index is negative


@njit(cache=True, nogil=True)
def pay(paid, rows, price, spend, charged):
    """Charge the price of a unit to the rows that have not paid it; `paid` and `spend` have shape (n,).

    The rows that are charged are written to `charged`, and their number is returned.
    """
    n_charged = 0
    for r in range(rows.size):
        i = _U(rows[r])
        if not paid[i]:
            paid[i] = True
            spend[i] += price
            charged[n_charged] = rows[r]
            n_charged += 1
    return n_charged


@njit(cache=True, nogil=True)
def add_weight_paid(paid, units, rows, weight, out):
    """Add, for some units, the total weight of the rows that have paid the unit; `paid` has shape (n_units, n)."""
    for u in units:
        unit_paid, total = paid[u], 0.0
        for r in range(rows.size):
            i = _U(rows[r])
            total += weight[i] if unit_paid[i] else 0.0
        out[u] += total
