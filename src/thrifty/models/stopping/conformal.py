"""The conformal boundary: the rate of stop-errors on new rows is at most delta, whatever the distribution of the terms.

A row stops at the first checkpoint k where its ratio r_k is above a factor c. For classes, r_k = |s_k| / sigma_k, with
symbols as in `thrifty.models.stopping.boundaries`. The last ratio is infinite. The critical factor of a row,

    a  =  max { r_k : a stop at k is an error, and r_k > r_j for all j < k },    0 if there is no such k

is the largest c below which the row can stop with an error: with any c >= a, it does not. Let a_1..a_n be the critical
factors of n calibration rows. The boundary uses

    c  =  the smallest value with  1 + #{i : a_i > c}  <=  delta (n + 1)

which is the ceil((n + 1) (1 - delta))-th smallest of them. If calibration rows and a new row are exchangeable, then

    P(stop-error of the new row)  <=  P(a > c)  <=  delta

where the probability is over the calibration rows and the new row. With n < 1 / delta - 1 rows no c satisfies this, and
every row is evaluated in full.

V. Vovk, A. Gammerman, G. Shafer. Algorithmic Learning in a Random World. 2005.
A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster. Conformal Risk Control. 2022.
"""

import numpy as np

ROUNDING = 1e-9  # relative; products and quotients with a factor are rounded


def critical_factors(ratios: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return the critical factor (n,) of each row.

    Parameters
    ----------
    ratios : ndarray of shape (n, n_checkpoints)
        A row stops at the first checkpoint with a ratio above the factor.
    errors : ndarray of bool, same shape
        Whether a stop at this checkpoint is an error.
    """
    before = np.maximum.accumulate(ratios, axis=1)[:, :-1]
    is_record = np.column_stack([np.ones(len(ratios), dtype=bool), ratios[:, 1:] > before])
    return np.where(errors & is_record, ratios, 0.0).max(axis=1, initial=0.0)


def conformal_factor(critical: np.ndarray, count: np.ndarray, delta: float) -> float:
    """Return the factor c; infinity if the rows are too few.

    Parameters
    ----------
    critical : ndarray of shape (n,)
        Critical factors of the calibration rows.
    count : ndarray of shape (n,)
        How often each of these rows counts.
    delta : float
        Largest rate of errors.

    >>> conformal_factor(np.array([0.0, 0.0, 3.0, 0.0, 2.0]), np.ones(5), 0.4) > 2.0
    True
    >>> conformal_factor(np.zeros(5), np.ones(5), 0.1)
    inf
    """
    allowed = delta * (count.sum() + 1.0) * (1 + ROUNDING) - 1.0
    if allowed < 0:
        return np.inf
    order = np.argsort(critical)
    n_above = count.sum() - np.cumsum(count[order])
    return float(critical[order][np.argmax(n_above <= allowed)] * (1 + ROUNDING))
