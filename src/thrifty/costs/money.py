"""Exact money: prices counted in whole ticks.

In floating point 0.1 + 0.2 exceeds 0.3, so a row would break a cap of 0.3 that it keeps on paper, and what it
has spent would depend on the order in which it bought. But prices are decimals: with 10**k ticks to the unit
each is a whole number, whole numbers below 2**53 add exactly in any order (BLAS may add them too), and one
division at the end gives the float nearest to the true sum.

Prices that are no short decimals (1/3, a measured time) are counted in ticks of a power of two, the finest
that keeps the total below 2**53. They are rounded down, so that a cap of exactly one price admits it; what
gets lost is of the size of the rounding error of their sum.
"""

import math

import numpy as np

from thrifty.exceptions import CostError

_MOST_TICKS = 2.0**53
_MOST_DECIMALS = 9
_ROUNDING = 2.0**-50
_LARGEST_LOSS = 1e-6  # share of a price that rounding it to ticks may take away


def to_ticks(prices: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the prices as whole numbers of ticks, and how many ticks make one.

    Examples
    --------
    >>> to_ticks(np.array([0.1, 0.25, 3.0]))
    (array([ 10.,  25., 300.]), 100.0)
    """
    total = _total(prices)
    for decimals in range(_MOST_DECIMALS + 1):
        scale = 10.0**decimals
        if total * scale >= _MOST_TICKS * (1 - _ROUNDING):
            break
        ticks = np.rint(prices * scale)
        if np.all(np.abs(ticks - prices * scale) <= _ROUNDING * ticks):
            return ticks, scale
    _, exponent = math.frexp(total)
    scale = math.ldexp(1.0, min(53 - exponent, 1023))
    ticks = np.floor(prices * scale)
    if (lost := prices - ticks / scale > _LARGEST_LOSS * prices).any():
        raise CostError(
            f"the prices {prices[lost].min():g} and {prices.max():g} are too far apart to be added up. "
            "Keep prices within a factor of a thousand million; to rule a feature out, leave it out."
        )
    return ticks, scale


def _total(prices: np.ndarray) -> float:
    try:
        return math.fsum(prices)
    except OverflowError:
        raise CostError("the prices add up to more than a float can hold. Use a larger unit.") from None
