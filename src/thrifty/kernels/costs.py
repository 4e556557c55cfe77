"""Cost of many acquisition masks in one pass.

Shared units are bits of 64-bit words. The shared units that a row has paid are the bitwise OR of the words of its
features. Integer additions and ORs may be done in any order, so that the compiler can use vector instructions. With
very many features and shared units the words would be too large, so a second kernel reads lists of units.
"""

import numpy as np
from numba import njit

BITS = 63  # used of each word; the sign bit stays 0, so that right shifts do not fill in ones


def pack_bits(flags: np.ndarray) -> np.ndarray:
    """Pack flags (d, s) into words (w, d): flag s of a row is bit s % BITS of its word s // BITS."""
    d, s = flags.shape
    words = np.zeros((-(-s // BITS), d), dtype=np.int64)
    for bit in range(s):
        words[bit // BITS] |= flags[:, bit].astype(np.int64) << (bit % BITS)
    return words


@njit(cache=True, nogil=True)
def ticks_paid(acquired, private, words, shared):
    """Return the ticks (n,) that rows pay for masks `acquired` (n, d).

    private   (d,)  ticks of the units that only this feature requires
    words     (w, d)  shared units that each feature requires, from `pack_bits`
    shared    (s,)  ticks of each shared unit
    """
    n, d = acquired.shape
    spent = np.empty(n)
    for i in range(n):
        row = acquired[i]
        ticks = np.int64(0)
        for j in range(d):
            ticks += private[j] * row[j]
        for w in range(words.shape[0]):
            paid = np.int64(0)
            for j in range(d):
                paid |= words[w, j] & -np.int64(row[j])
            first = w * BITS
            for bit in range(min(BITS, shared.size - first)):
                ticks += shared[first + bit] * ((paid >> bit) & 1)
        spent[i] = ticks
    return spent


@njit(cache=True, nogil=True)
def ticks_paid_of_many_units(acquired, private, unit_at, units, shared):
    """Return the ticks (n,) that rows pay for masks `acquired` (n, d).

    private   (d,)  ticks of the units that only this feature requires
    units     (.,)  shared units of all features; those of feature j are units[unit_at[j] : unit_at[j + 1]]
    shared    (s,)  ticks of each shared unit
    """
    n, d = acquired.shape
    spent = np.empty(n)
    last_payer = np.full(shared.size, -1)  # the last row that paid each shared unit
    for i in range(n):
        ticks = np.int64(0)
        for j in range(d):
            if acquired[i, j]:
                ticks += private[j]
                for k in range(unit_at[j], unit_at[j + 1]):
                    if last_payer[units[k]] != i:
                        last_payer[units[k]] = i
                        ticks += shared[units[k]]
        spent[i] = ticks
    return spent
