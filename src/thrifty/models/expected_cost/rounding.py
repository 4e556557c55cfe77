"""Sums over rows, rounded so that they do not depend on how the rows are divided.

A sum of floating-point numbers depends on the order of the additions: on the blocks of the rows, the number of threads,
the BLAS library. Such differences are about 1e-16. But L-BFGS on a function that is not convex magnifies them by a
factor of 10 or more in each round, and then ends elsewhere. So sums are rounded to multiples of `GRID`, which is much
larger than the differences, and much smaller than what matters to a solver. Two sums that differ by e are then equal,
unless the middle between two multiples lies between them: with probability 1 - e / GRID. If all sums of a fit are
equal, so are all its steps.

Sums that are the same in all cases are slower than a product of matrices: J. Demmel, H. D. Nguyen. Fast reproducible
floating-point summation. ARITH 2013.
"""

from typing import Any

import numpy as np

GRID = 2.0**-28  # columns, targets and weights are standardised, so the sums of an objective are numbers of about 1
SHIFT = 1.5 * 2.0**52 * GRID  # neighbours of this number differ by GRID, so that adding it rounds numbers up to 2^22
DOUBLE = 8  # bytes of a number in double precision
BITS = 34  # of means and deviations, by which columns are standardised


def on_grid(sums: Any) -> Any:
    """Return a number, an array or a tuple of them, rounded to multiples of `GRID`.

    Arrays in single precision are returned as they are, because their numbers differ by more than `GRID`.

    Examples
    --------
    >>> from thrifty.models.expected_cost.rounding import on_grid
    >>> one, other = 0.1 + (0.2 + 0.3), (0.1 + 0.2) + 0.3
    >>> one == other, bool(on_grid(one) == on_grid(other))
    (False, True)
    """
    if isinstance(sums, tuple):
        return tuple([on_grid(each) for each in sums])
    if getattr(sums, "itemsize", DOUBLE) < DOUBLE:
        return sums
    return (sums + SHIFT) - SHIFT


def to_bits(numbers: np.ndarray) -> np.ndarray:
    """Return numbers rounded to `BITS` significant bits.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.models.expected_cost.rounding import to_bits
    >>> one, other = to_bits(np.array([0.1 + 0.2, 0.3])).tolist()
    >>> 0.1 + 0.2 == 0.3, one == other, abs(one - 0.3) < 1e-10
    (False, True, True)
    """
    fractions, exponents = np.frexp(numbers)
    return np.ldexp(np.rint(np.ldexp(fractions, BITS)), exponents - BITS)
