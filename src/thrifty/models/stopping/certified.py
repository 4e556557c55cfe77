"""A boundary with a guarantee on new rows. This is not in the papers, whose boundaries assume independent terms.

With probability `confidence`, new rows are answered unlike the full predictor at a rate of at most `delta`. The order
and the dependence of the terms do not matter. New rows must come from the same distribution as the held-out rows.

A row stops at checkpoint k if |s_k| > z sigma_k (symbols as in `thrifty.models.stopping.boundaries`). Factors z are
tested from the largest to the smallest on n held-out rows that nothing was fitted to. With e stop-errors among them,
the hypothesis "the rate of stop-errors is above delta" is rejected if

    P(B <= e)  <=  1 - confidence,    B ~ Binomial(n, delta)

The first factor that fails this test ends the sequence, and the last factor that passed is used. This is fixed-sequence
testing: A. N. Angelopoulos et al. Learn then Test. 2021.
"""

import numpy as np
from scipy.stats import binom

FACTORS = np.geomspace(16.0, 0.02, 240)  # values of z, in the order of the tests


def rows_needed(delta: float, confidence: float) -> int:
    """Return the smallest number of held-out rows that can certify a rule without stop-errors.

    This is the smallest n with (1 - delta)^n <= 1 - confidence.

    >>> rows_needed(0.01, 0.95)
    299
    """
    return int(np.ceil(np.log1p(-confidence) / np.log1p(-delta)))


def certified_factor(ratios: np.ndarray, errors: np.ndarray, delta: float, confidence: float) -> float:
    """Return the smallest factor z that passes the tests; infinity if none does.

    Parameters
    ----------
    ratios : ndarray of shape (n, n_checkpoints)
        |s_k| / sigma_k; infinity at the last checkpoint.
    errors : ndarray of bool, same shape
        Whether a stop at this checkpoint gives another answer than the full predictor.
    delta : float
        Largest rate of stop-errors.
    confidence : float
        Probability that the guarantee holds.
    """
    passed = np.inf
    for factor in FACTORS:
        stop = np.argmax(ratios > factor, axis=1)
        n_errors = errors[np.arange(len(errors)), stop].sum()
        if binom.cdf(n_errors, len(errors), delta) > 1.0 - confidence:
            break
        passed = float(factor)
    return passed
