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

If rows have weights w_i, the new row is drawn with probabilities in proportion to its weight w, which is not known. Let
w_max be the largest weight. Then c is the smallest value with

    w_max + sum {w_i : a_i > c}  <=  delta (sum w_i + w_max)

which implies the same with w for every w <= w_max, and that implies P(a > c) <= delta (Tibshirani et al.). Only ratios
of weights matter: weights of 1000 do not make more rows.

V. Vovk, A. Gammerman, G. Shafer. Algorithmic Learning in a Random World. 2005.
R. J. Tibshirani, R. Foygel Barber, E. J. Candès, A. Ramdas. Conformal Prediction Under Covariate Shift. 2019.
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


def conformal_factor(critical: np.ndarray, weight: np.ndarray, delta: float) -> float:
    """Return the factor c; infinity if the rows are too few.

    Parameters
    ----------
    critical : ndarray of shape (n,)
        Critical factors of the calibration rows.
    weight : ndarray of shape (n,)
        Weights of these rows.
    delta : float
        Largest rate of errors.

    >>> conformal_factor(np.array([0.0, 0.0, 3.0, 0.0, 2.0]), np.ones(5), 0.4) > 2.0
    True
    >>> conformal_factor(np.zeros(5), np.ones(5), 0.1)
    inf
    """
    if are_too_few(weight, delta):
        return np.inf
    order = np.argsort(critical)
    share = weight[order] / weight.max()
    above = np.append(np.cumsum(share[:0:-1])[::-1], 0.0)
    return float(critical[order][np.argmax(above <= _allowed(share, delta))] * (1 + ROUNDING))


def are_too_few(weight: np.ndarray, delta: float) -> bool:
    """Return whether no factor satisfies the bound for calibration rows with these weights."""
    largest = weight.max(initial=0.0)
    return largest == 0 or _allowed(weight / largest, delta) < 0


def _allowed(share: np.ndarray, delta: float) -> float:
    """Return the largest sum over rows with a > c, given weights as shares of the largest weight."""
    return delta * (share.sum() + 1.0) * (1 + ROUNDING) - 1.0
