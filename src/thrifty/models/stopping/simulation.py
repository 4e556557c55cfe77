"""Simulation of the constant boundary (Fig. 3) and of the curved boundary (section 3.3).

R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012.

A walk S_1..S_n is a sum of n normal steps with mean `drift` > 0 and variance 1. It stops after i < n terms if S_i is at
least tau_i. A walk that stops although it would have ended below 0 is a stop-error.

    constant    tau_i = sqrt(n log(1 / sqrt(delta)))         Theorem 1, with var(S_n) = n
                delta bounds P(stop before n | S_n < 0)      eq. (2)
    curved      tau_i = Phi^-1(1 - delta) sqrt(n - i)        without drift, P(S_n < 0 | S_i = tau_i) = delta
                delta bounds P(S_n < 0 | stop before n)      eq. (1)

Both rates are measured. By Bayes' rule, P(S_n < 0 | stop) = P(stop | S_n < 0) P(S_n < 0) / P(stop).

Such walks are rare, above all long ones. They are therefore drawn directly: given its end, a normal walk is a Brownian
bridge and does not depend on the drift. So the end is drawn from the normal distribution N(drift n, n) truncated to
values below 0, and a walk is bent to this end.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, truncnorm
from sklearn.utils import check_random_state

from thrifty.models.parameters import is_number
from thrifty.models.stopping.boundaries import constant_threshold, curved_factor

SHAPES = ("constant", "curved")
MAX_STEPS = 2**21  # steps of all walks that are in memory at the same time


@dataclass(frozen=True, eq=False)
class STSTSimulation:
    """Result of `simulate_stst`: one row per number of terms and one column per delta.

    Attributes
    ----------
    n_terms : ndarray of shape (a,)
        Lengths of the walks.
    delta : ndarray of shape (b,)
        Rates of stop-errors that the boundary was computed for.
    stop_error : ndarray of shape (a, b)
        P(stop before n | S_n < 0): share of stopped walks among the walks that end below 0.
    error_of_stopped : ndarray of shape (a, b)
        P(S_n < 0 | stop before n): share of walks that end below 0 among the stopped walks; 0 if no walk stops.
    mean_terms : ndarray of shape (a, b)
        Mean number of terms after which walks stop, over all walks.
    """

    n_terms: np.ndarray
    delta: np.ndarray
    stop_error: np.ndarray
    error_of_stopped: np.ndarray
    mean_terms: np.ndarray

    @property
    def growth(self) -> np.ndarray:
        """Slope (b,) of log(mean_terms) over log(n_terms); 0.5 means growth with the square root of n_terms."""
        return np.polyfit(np.log(self.n_terms), np.log(self.mean_terms), 1)[0]


def simulate_stst(
    delta: Any = (0.01, 0.05, 0.1, 0.2, 0.3),
    n_terms: Any = (4096, 8192, 16384),
    *,
    boundary: str = "constant",
    drift: float = 0.05,
    n_walks: int = 1000,
    random_state: Any = None,
) -> STSTSimulation:
    """Simulate a sequential thresholded sum test (STST) on random walks with normal steps.

    Parameters
    ----------
    delta : float or array-like of float, default=(0.01, 0.05, 0.1, 0.2, 0.3)
        Rates of stop-errors to compute the boundary for, each above 0 and below 1.
    n_terms : int or array-like of int, default=(4096, 8192, 16384)
        Lengths of the walks.
    boundary : {"constant", "curved"}, default="constant"
        The level at which a walk of n steps stops. "constant": sqrt(n log(1 / sqrt(delta))) after every step.
        "curved": z sqrt(n - i) after step i, where z is the 1 - delta quantile of the normal distribution.
    drift : float, default=0.05
        Mean of a step, in standard deviations of a step; above 0.
    n_walks : int, default=1000
        Number of walks of each length. As many walks that end below 0 are simulated too.
    random_state : int, RandomState or None, default=None
        Random state of the steps.

    Returns
    -------
    STSTSimulation
        The rates of stop-errors and the mean numbers of terms.

    References
    ----------
    R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012. Figure 3 and section 3.3.

    Examples
    --------
    >>> from thrifty import simulate_stst
    >>> found = simulate_stst([0.05, 0.2], [256, 512], drift=0.2, n_walks=500, random_state=0)
    >>> bool((found.stop_error <= found.delta).all())
    True
    >>> curved = simulate_stst([0.05, 0.2], [256, 512], boundary="curved", drift=0.2, n_walks=500, random_state=0)
    >>> bool((curved.error_of_stopped <= curved.delta).all())
    True
    """
    deltas, lengths = np.atleast_1d(np.asarray(delta, dtype=float)), np.atleast_1d(np.asarray(n_terms))
    _refuse_bad_parameters(deltas, lengths, boundary, drift, n_walks)
    random = check_random_state(random_state)
    found = [_simulate_length(_levels(boundary, int(n), deltas), drift, n_walks, random) for n in lengths]
    stop_error, share_stopped, mean_terms = np.array(found).transpose(1, 0, 2)
    share_below = norm.cdf(-drift * np.sqrt(lengths))[:, None]
    error_of_stopped = np.minimum(stop_error * share_below / np.maximum(share_stopped, stop_error * share_below), 1.0)
    return STSTSimulation(lengths, deltas, stop_error, error_of_stopped, mean_terms)


def _levels(boundary: str, n: int, deltas: np.ndarray) -> np.ndarray:
    """Return tau_i (b, n - 1) for each delta, for the steps before the last."""
    if boundary == "constant":
        return np.array([np.full(n - 1, constant_threshold(0.0, float(n), each)) for each in deltas])
    return np.outer([curved_factor(each) for each in deltas], np.sqrt(n - np.arange(1, n)))


def _simulate_length(
    levels: np.ndarray, drift: float, n_walks: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P(stop | S_n < 0), P(stop) and the mean number of terms for each line of levels."""
    n = levels.shape[1] + 1
    n_errors, n_stopped, n_evaluated = np.zeros((3, len(levels)))
    for first in range(0, n_walks, size := max(1, MAX_STEPS // n)):
        count = min(size, n_walks - first)
        walks = np.cumsum(drift + random.standard_normal((count, n)), axis=1)
        terms = np.array([_terms_until_above(walks, each) for each in levels])
        n_stopped += (terms < n).sum(axis=1)
        n_evaluated += terms.sum(axis=1)
        bent = _bent_below_zero(walks, drift, random)
        n_errors += [(_terms_until_above(bent, each) < n).sum() for each in levels]
    return n_errors / n_walks, n_stopped / n_walks, n_evaluated / n_walks


def _terms_until_above(walks: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return after how many terms each walk is at least at the level of that term; all its terms if it never is."""
    above = np.column_stack([walks[:, :-1] >= levels, np.ones(len(walks), dtype=bool)])
    return above.argmax(axis=1) + 1


def _bent_below_zero(walks: np.ndarray, drift: float, random: np.random.RandomState) -> np.ndarray:
    """Return bridges: the walks plus a linear trend that leads to random ends below 0."""
    n = walks.shape[1]
    ends = truncnorm.rvs(
        -np.inf, -drift * np.sqrt(n), loc=drift * n, scale=np.sqrt(n), size=len(walks), random_state=random
    )
    return walks + np.outer(ends - walks[:, -1], np.arange(1, n + 1) / n)


def _refuse_bad_parameters(deltas: np.ndarray, lengths: np.ndarray, boundary: str, drift: float, n_walks: int) -> None:
    for name, value, is_valid, expected in (
        ("boundary", boundary, boundary in SHAPES, f"one of {SHAPES}"),
        ("delta", deltas, ((deltas > 0) & (deltas < 1)).all(), "rates above 0 and below 1"),
        ("n_terms", lengths, np.issubdtype(lengths.dtype, np.integer) and (lengths > 0).all(), "whole numbers above 0"),
        ("drift", drift, is_number(drift) and drift > 0, "a number above 0"),
        ("n_walks", n_walks, is_number(n_walks, 1), "a whole number above 0"),
    ):
        if not is_valid:
            raise ValueError(f"simulate_stst: {name} is {value!r}; expected {expected}.")
