"""Which rows get the more expensive one of two models: a rule that looks at the position of a row only.

Row i has the number

    u_i = (start + i * g) mod 1        with g = (sqrt(5) - 1) / 2, computed exactly with 64 bits

and gets the more expensive model if u_i < share. These numbers are spread evenly over the unit interval, for any range
of positions (a Weyl sequence). So of n rows in a row, n * share get the more expensive model, up to a few.
"""

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 times g
KEPT_BITS = 53


def are_chosen(positions: np.ndarray, share: float, start: float) -> np.ndarray:
    """Tell which rows get the more expensive model.

    Parameters
    ----------
    positions : ndarray of int, shape (n,)
        At least 0.
    share : float
        The share of these rows, between 0 and 1.
    start : float
        The number of row 0, between 0 and 1.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> are_chosen(np.arange(8), 0.25, 0.0).tolist()
    [True, False, True, False, False, True, False, False]
    """
    turns = np.asarray(positions).astype(np.uint64) * GOLDEN >> np.uint64(64 - KEPT_BITS)
    return (start + turns.astype(float) / 2.0**KEPT_BITS) % 1.0 < share


def positions_of_queries(positions: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Return for each row the position of the first row of its query, so that queries are not divided."""
    _, first, query = np.unique(qid, return_index=True, return_inverse=True)
    return positions[first[query]]
