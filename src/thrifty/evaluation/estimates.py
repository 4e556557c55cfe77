"""Estimates from a sample of rows, with standard errors and confidence intervals.

Rows of one query are not independent, so the units of a sample are its rows, or its queries if there are any.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

N_GROUPS = 20


@dataclass(frozen=True)
class Estimate:
    """An estimate with its standard error and a two-sided confidence interval; NaN where the sample is too small.

    Attributes
    ----------
    value : float
    error : float
        The standard error.
    low, high : float
        The ends of the interval.
    """

    value: float
    error: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def student(cls, value: float, error: float, df: int, confidence: float) -> "Estimate":
        """Return the estimate with the interval value -+ t((1 + confidence) / 2, df) * error."""
        if df < 1 or not math.isfinite(error):
            return cls(value)
        reach = float(stats.t.ppf((1.0 + confidence) / 2.0, df)) * error
        return cls(value, error, value - reach, value + reach)

    def within(self, least: float, most: float) -> "Estimate":
        """Return the estimate with an interval that lies between the values that are possible.

        >>> Estimate(0.99, 0.01, 0.97, 1.01).within(0.0, 1.0).high
        1.0
        """
        low, high = np.clip((self.low, self.high), least, most).tolist()  # NaN remains NaN
        return replace(self, low=low, high=high)


def mean_error(values: np.ndarray, units: np.ndarray) -> float:
    """Return the standard error of a mean of rows whose units were drawn at random.

    With n rows in Q units, and r_u the sum of (value - mean) over the rows of unit u:

        error = sqrt(Q / (Q - 1) * sum over u of r_u^2) / n

    If every row is a unit, this is s / sqrt(n), with s the standard deviation of the values.
    """
    residuals = np.bincount(units, values - values.mean())
    n_units = len(residuals)
    if n_units < 2:
        return math.nan
    return math.sqrt(n_units / (n_units - 1) * float(residuals @ residuals)) / len(values)


def share_estimate(share: float, n_rows: int, confidence: float) -> Estimate:
    """Return the estimate of a share of independent rows, with Wilson's interval.

    With n rows, the share p, and z the normal quantile of (1 + confidence) / 2:

        error    = sqrt(p (1 - p) / n)
        interval = (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    z, variance = float(stats.norm.ppf((1.0 + confidence) / 2.0)), share * (1.0 - share) / n_rows
    middle, reach = share + z**2 / (2 * n_rows), z * math.sqrt(variance + z**2 / (4 * n_rows**2))
    scale = 1.0 + z**2 / n_rows
    return Estimate(share, math.sqrt(variance), max((middle - reach) / scale, 0.0), min((middle + reach) / scale, 1.0))


def jackknife(statistic: Callable[[np.ndarray], float], units: np.ndarray, confidence: float) -> Estimate:
    """Return the estimate of any statistic of rows, with the standard error of the delete-a-group jackknife.

    The units are divided at random into K = min(20, number of units) groups. With v_k the statistic without group k:

        error    = sqrt((K - 1) / K * sum over k of (v_k - mean of all v_k)^2)
        interval = value -+ t((1 + confidence) / 2, K - 1) * error

    Parameters
    ----------
    statistic : callable
        Takes the positions of rows.
    units : ndarray of int, shape (n,)
        The unit of each row, numbered from 0.
    confidence : float

    Returns
    -------
    Estimate
        Without an error if the statistic is not defined without some group, such as an AUC of one class.
    """
    value = statistic(np.arange(len(units)))
    n_groups = min(N_GROUPS, int(units.max()) + 1)
    group = np.random.default_rng(0).permutation(int(units.max()) + 1)[units] % n_groups
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns about statistics that are not defined
        try:
            left_out = np.array([statistic(np.flatnonzero(group != k)) for k in range(n_groups)])
        except ValueError:
            return Estimate(value)
    spread = float(((left_out - left_out.mean()) ** 2).sum())
    error = math.sqrt((n_groups - 1) / n_groups * spread) if math.isfinite(spread) else math.nan
    return Estimate.student(value, error, n_groups - 1, confidence)
