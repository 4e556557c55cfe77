"""Exact sums of prices, which are counted in ticks: whole numbers stored as floats.

In floating point, 0.1 + 0.2 is larger than 0.3. A row that pays 0.1 and 0.2 would therefore break a cap of 0.3, and its
spend would depend on the order of the purchases. Ticks avoid both problems:

    price = ticks / scale        scale: number of ticks in a price of 1

Short decimals use scale = 10**k, with the smallest k for which all prices are whole numbers of ticks. Whole numbers
below 2**53 add exactly in any order, also in BLAS. One division at the end gives the float nearest to the true sum.

Other prices (1/3, a measured time) use the largest power of two as scale for which the total stays below 2**53. They
are rounded down, so that a cap equal to a price allows this price. The loss is as small as the rounding error of a
floating-point sum of the prices.
"""

import math

import numpy as np

from thrifty.exceptions import CostError

_MAX_TICKS = 2.0**53
_MAX_DECIMALS = 9
_RELATIVE_ROUNDING = 2.0**-50
_MAX_RELATIVE_LOSS = 1e-6  # largest share of a price that rounding down to ticks may remove


def to_ticks(prices: np.ndarray) -> tuple[np.ndarray, float]:
    """Return prices in ticks, and the number of ticks in a price of 1.

    Parameters
    ----------
    prices : ndarray of shape (n,)
        Finite numbers, 0 or more.

    Returns
    -------
    ticks : ndarray of shape (n,)
        Floats with whole values, whose sum is below 2**53.
    scale : float
        Number of ticks in a price of 1.

    Examples
    --------
    >>> to_ticks(np.array([0.1, 0.25, 3.0]))
    (array([ 10.,  25., 300.]), 100.0)
    """
    total = _total(prices)
    for decimals in range(_MAX_DECIMALS + 1):
        scale = 10.0**decimals
        if total * scale >= _MAX_TICKS * (1 - _RELATIVE_ROUNDING):
            break
        ticks = np.rint(prices * scale)
        if np.all(np.abs(ticks - prices * scale) <= _RELATIVE_ROUNDING * ticks):
            return ticks, scale
    _, exponent = math.frexp(total)
    scale = math.ldexp(1.0, min(53 - exponent, 1023))
    ticks = np.floor(prices * scale)
    if (lost := prices - ticks / scale > _MAX_RELATIVE_LOSS * prices).any():
        raise CostError(
            f"the prices {prices[lost].min():g} and {prices.max():g} are too far apart to be added exactly. "
            "Keep prices within a factor of 1e9. To exclude a feature, leave it out."
        )
    return ticks, scale


def _total(prices: np.ndarray) -> float:
    try:
        return math.fsum(prices)
    except OverflowError:
        raise CostError("the sum of the prices is too large for a float. Use a larger unit.") from None
