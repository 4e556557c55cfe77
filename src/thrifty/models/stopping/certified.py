"""A boundary with a guarantee: on new rows the answer differs from the full predictor's with probability at most delta.

Beyond the paper, whose boundaries assume independent terms and many of them. Rules are tried from the strictest to the
laxest on rows that nothing was learnt from, and each must pass an exact binomial test of "this rule errs more often
than delta"; the first that fails ends the trial (fixed-sequence testing, Angelopoulos et al., Learn then Test, 2021).
So the last that passed errs more often with probability at most 1 - confidence, whatever the order, the weights, and
the dependence of the terms, as long as new rows come from where the held-out ones did.
"""

import numpy as np
from scipy.stats import binom

FACTORS = np.geomspace(16.0, 0.02, 240)  # deviations within which the outcome counts as open


def rows_needed(delta: float, confidence: float) -> int:
    """Return how many held-out rows it takes to certify a rule that never errs on them.

    >>> rows_needed(0.01, 0.95)
    299
    """
    return int(np.ceil(np.log1p(-confidence) / np.log1p(-delta)))


def certified_factor(ratios: np.ndarray, errs: np.ndarray, delta: float, confidence: float) -> float:
    """Return the smallest factor that passes, infinite if none does.

    Parameters
    ----------
    ratios : ndarray of shape (n, n_checkpoints)
        How many deviations rows are from the decision; infinite at the last checkpoint.
    errs : ndarray of bool, same shape
        Whether stopping there gives another answer than the full predictor.
    """
    passed = np.inf
    for factor in FACTORS:
        stop = np.argmax(ratios > factor, axis=1)
        n_errors = errs[np.arange(len(errs)), stop].sum()
        if binom.cdf(n_errors, len(errs), delta) > 1.0 - confidence:
            break
        passed = float(factor)
    return passed
