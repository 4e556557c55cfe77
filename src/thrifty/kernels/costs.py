"""What many rows have paid, in one pass over their acquisition masks.

Shared units are bits of a word, so the units that a row has paid are the bitwise or of its features' words.
Integers may be added and or-ed in any order, which lets the compiler fill vector registers.
"""

import numpy as np
from numba import njit

BITS = 63  # of a signed word; the sign stays clear so that shifts stay plain


def pack_bits(flags: np.ndarray) -> np.ndarray:
    """Pack (d, s) flags into (w, d) words: flag s of a row is bit s % BITS of its word s // BITS."""
    d, s = flags.shape
    words = np.zeros((-(-s // BITS), d), dtype=np.int64)
    for bit in range(s):
        words[bit // BITS] |= flags[:, bit].astype(np.int64) << (bit % BITS)
    return words


@njit(cache=True, nogil=True)
def ticks_paid(acquired, private, words, shared):
    """Return the ticks (n,) that rows of `acquired` (n, d) have paid.

    private (d,) ticks that each feature adds by itself; words: the shared units of each feature, packed;
    shared (s,) ticks of the shared units.
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
