"""Thresholds for values rounded to float32, converted to thresholds for the values before rounding.

scikit-learn's trees and XGBoost round x to float32 before they compare it with a threshold. Rounding is monotone, so
the doubles that pass the comparison are all doubles up to a largest one. This largest double is the threshold for x
itself, and x goes the same way:

    ... ─── t32 ────────┬──────── next ─── ...      float32 numbers; t32 is the largest that passes
            rounds to t32 │ rounds to next
                          halfway: rounds to the number whose last bit is 0
"""

import numpy as np

BEYOND_FLOAT32 = 2.0**128  # replaces infinity: the next number after the largest float32, if it existed


def at_most(threshold: np.ndarray) -> np.ndarray:
    """Return the largest doubles that are at most the thresholds after rounding to float32.

    Examples
    --------
    >>> import numpy as np
    >>> cut = at_most(np.array([0.1]))
    >>> cut.astype(np.float32) <= np.array([0.1]), np.nextafter(cut, 1).astype(np.float32) <= np.array([0.1])
    (array([ True]), array([False]))
    """
    with np.errstate(over="ignore"):
        nearest = np.asarray(threshold, dtype=np.float64).astype(np.float32)
        last = np.where(nearest > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        after = np.nextafter(last, np.float32(np.inf))
    ends = np.clip(np.array([last, after], dtype=np.float64), -BEYOND_FLOAT32, BEYOND_FLOAT32)
    half_way = ends.mean(axis=0)
    is_even = last.view(np.uint32) % 2 == 0
    return np.where(is_even, half_way, np.nextafter(half_way, -np.inf))


def less_than(threshold: np.ndarray) -> np.ndarray:
    """Return the largest doubles that are less than the thresholds, which are float32, after rounding to float32."""
    return at_most(np.nextafter(np.asarray(threshold, dtype=np.float32), np.float32(-np.inf)))
