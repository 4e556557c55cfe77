"""Simulation of the constant boundary (Fig. 3): is the rate of stop-errors at most delta?

R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012.

A walk is a sum of n normal steps with mean `drift` > 0 and variance 1. It stops when it rises above the tau of
Theorem 1, with var(S_n) = n. A walk that stops although it would have ended below 0 is a stop-error. Their rate is
measured among the walks that end below 0.

Such walks are rare, above all long ones. They are therefore drawn directly: given its end, a normal walk is a Brownian
bridge and does not depend on the drift. So the end is drawn from the normal distribution N(drift n, n) truncated to
values below 0, and a walk is bent to this end.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import truncnorm
from sklearn.utils import check_random_state

from thrifty.models.parameters import is_number
from thrifty.models.stopping.boundaries import constant_threshold

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
        Share of stopped walks among the walks that end below 0.
    mean_terms : ndarray of shape (a, b)
        Mean number of terms after which walks stop, over all walks.
    """

    n_terms: np.ndarray
    delta: np.ndarray
    stop_error: np.ndarray
    mean_terms: np.ndarray

    @property
    def growth(self) -> np.ndarray:
        """Slope (b,) of log(mean_terms) over log(n_terms); 0.5 means growth with the square root of n_terms."""
        return np.polyfit(np.log(self.n_terms), np.log(self.mean_terms), 1)[0]


def simulate_stst(
    delta: Any = (0.01, 0.05, 0.1, 0.2, 0.3),
    n_terms: Any = (4096, 8192, 16384),
    *,
    drift: float = 0.05,
    n_walks: int = 1000,
    random_state: Any = None,
) -> STSTSimulation:
    """Simulate the constant sequential thresholded sum test (STST) on random walks with normal steps.

    Parameters
    ----------
    delta : float or array-like of float, default=(0.01, 0.05, 0.1, 0.2, 0.3)
        Rates of stop-errors to compute the boundary for, each above 0 and below 1.
    n_terms : int or array-like of int, default=(4096, 8192, 16384)
        Lengths of the walks.
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
    R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012. Figure 3.

    Examples
    --------
    >>> from thrifty import simulate_stst
    >>> found = simulate_stst([0.05, 0.2], [256, 512], drift=0.2, n_walks=500, random_state=0)
    >>> bool((found.stop_error <= found.delta).all())
    True
    """
    deltas, lengths = np.atleast_1d(np.asarray(delta, dtype=float)), np.atleast_1d(np.asarray(n_terms))
    _refuse_bad_parameters(deltas, lengths, drift, n_walks)
    random = check_random_state(random_state)
    found = np.array([_simulate_length(int(n), deltas, drift, n_walks, random) for n in lengths])
    return STSTSimulation(lengths, deltas, stop_error=found[:, 0], mean_terms=found[:, 1])


def _simulate_length(
    n: int, deltas: np.ndarray, drift: float, n_walks: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rate of stop-errors and the mean number of terms for each delta."""
    tau = np.array([constant_threshold(0.0, float(n), each) for each in deltas])
    n_crossed, n_evaluated = np.zeros(len(tau)), np.zeros(len(tau))
    for first in range(0, n_walks, size := max(1, MAX_STEPS // n)):
        count = min(size, n_walks - first)
        walks = np.cumsum(drift + random.standard_normal((count, n)), axis=1)
        n_evaluated += [_terms_until_above(walks, each).sum() for each in tau]
        peaks = _bent_below_zero(walks, drift, random).max(axis=1)
        n_crossed += (peaks >= tau[:, None]).sum(axis=1)
    return n_crossed / n_walks, n_evaluated / n_walks


def _terms_until_above(walks: np.ndarray, tau: float) -> np.ndarray:
    """Return after how many terms each walk is at least tau; all its terms if it never is."""
    above = walks >= tau
    return np.where(above.any(axis=1), above.argmax(axis=1) + 1, walks.shape[1])


def _bent_below_zero(walks: np.ndarray, drift: float, random: np.random.RandomState) -> np.ndarray:
    """Return bridges: the walks plus a linear trend that leads to random ends below 0."""
    n = walks.shape[1]
    ends = truncnorm.rvs(
        -np.inf, -drift * np.sqrt(n), loc=drift * n, scale=np.sqrt(n), size=len(walks), random_state=random
    )
    return walks + np.outer(ends - walks[:, -1], np.arange(1, n + 1) / n)


def _refuse_bad_parameters(deltas: np.ndarray, lengths: np.ndarray, drift: float, n_walks: int) -> None:
    for name, value, is_valid, expected in (
        ("delta", deltas, ((deltas > 0) & (deltas < 1)).all(), "rates above 0 and below 1"),
        ("n_terms", lengths, np.issubdtype(lengths.dtype, np.integer) and (lengths > 0).all(), "whole numbers above 0"),
        ("drift", drift, is_number(drift) and drift > 0, "a number above 0"),
        ("n_walks", n_walks, is_number(n_walks, 1), "a whole number above 0"),
    ):
        if not is_valid:
            raise ValueError(f"simulate_stst: {name} is {value!r}; expected {expected}.")
