"""Exact sums of prices, which are counted in ticks: whole numbers stored as floats.

In floating point, 0.1 + 0.2 is larger than 0.3. A row that pays 0.1 and 0.2 would therefore break a cap of 0.3, and its
spend would depend on the order of the purchases. Ticks avoid both problems:

    price = ticks / scale        scale: number of ticks in a price of 1

Decimals use scale = 10**k, with the smallest k up to 15 for which all prices are whole numbers of ticks and the total
stays below 2**52 ticks. Whole numbers below 2**53 add exactly in any order, also in BLAS. One division at the end gives
the float nearest to the true sum, and different sums give different floats. If the total is below 2**40
ticks, prices may differ from whole numbers of ticks by 2**-50 of their value, so that 3 * 0.1 is 0.3.

Other prices (1/3, a measured time) are taken as the exact values of the floats. They use the largest power of two as
scale for which the total stays below 2**53, and are rounded up to whole ticks. So a sum is never less than the sum of
the prices, and what a row acquires within a cap truly costs at most the cap. The excess is about as small as the
rounding error of a floating-point sum. If a price had to be rounded, a cap equal to this price does not admit it.
"""

import math

import numpy as np

from thrifty.exceptions import CostError

_MAX_TICKS = 2.0**53
_MAX_DECIMAL_TICKS = 2.0**52  # so that neighbouring numbers of ticks are different floats after the division
_MAX_DECIMALS = 15
_MAX_COMPUTED_TICKS = 2.0**40  # below, prices may have rounding errors of the computation that they come from
_RELATIVE_ROUNDING = 2.0**-50
_MAX_SCALE_EXPONENT = 1023  # the largest power of two that is a float
_MAX_RELATIVE_EXCESS = 1e-6  # largest share of a price that rounding up to ticks may add


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
        if total * scale >= _MAX_DECIMAL_TICKS:
            break
        ticks = np.rint(prices * scale)
        tolerance = _RELATIVE_ROUNDING * prices if total * scale < _MAX_COMPUTED_TICKS else 0.0
        if np.all(np.abs(ticks / scale - prices) <= tolerance):
            return ticks, scale
    return _rounded_up(prices, total)


def difference(total: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return total - part, exact if both hold decimals of at most 15 places: 0.3 - 0.1 is 0.2.

    Examples
    --------
    >>> difference(np.array([0.3, 5.0]), np.array([0.1, 5.0]))
    array([0.2, 0. ])
    """
    for decimals in range(_MAX_DECIMALS + 1):
        scale = 10.0**decimals
        ticks, part_ticks = np.rint(total * scale), np.rint(part * scale)
        if np.array_equal(ticks / scale, total) and np.array_equal(part_ticks / scale, part):
            return (ticks - part_ticks) / scale
    return total - part


def _rounded_up(prices: np.ndarray, total: float) -> tuple[np.ndarray, float]:
    _, exponent = math.frexp(total)
    scale = math.ldexp(1.0, min(53 - exponent, _MAX_SCALE_EXPONENT))
    if total * scale + len(prices) + 1 >= _MAX_TICKS:  # rounding up adds less than one tick per price
        scale /= 2
    ticks = np.ceil(prices * scale)
    if (changed := np.abs(ticks / scale - prices) > _MAX_RELATIVE_EXCESS * prices).any():
        if scale >= 2.0 ** (_MAX_SCALE_EXPONENT - 1):
            raise CostError(
                f"the price {prices[changed].min():g} is too small to be added exactly. Use a smaller unit."
            )
        raise CostError(
            f"the prices {prices[changed].min():g} and {prices.max():g} are too far apart to be added exactly. "
            "Keep prices within a factor of 1e9. To exclude a feature, leave it out."
        )
    return ticks, scale


def _total(prices: np.ndarray) -> float:
    try:
        return math.fsum(prices)
    except OverflowError:
        raise CostError("the sum of the prices is too large for a float. Use a larger unit.") from None
