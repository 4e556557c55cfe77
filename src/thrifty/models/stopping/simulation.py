"""The simulation behind Fig. 3 of Pelossof and Ying: does the constant boundary err as rarely as it is asked to?

Walks of n normal steps with a small drift stop when they rise above the tau of Theorem 1. A stopped walk that would
have ended below 0 is a stop-error, and their rate is asked among the walks that do end there. Those are rare, the more
so the longer the walk, but need not be waited for: given where it ends, a normal walk no longer depends on its drift,
so its end is drawn from below 0 and the way there is a bridge.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import truncnorm
from sklearn.utils import check_random_state

from thrifty.models.parameters import is_number
from thrifty.models.stopping.boundaries import crossing

STEPS_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class STSTSimulation:
    """What became of simulated walks, one line per number of terms and one column per delta.

    Attributes
    ----------
    n_terms : ndarray of shape (a,)
    delta : ndarray of shape (b,)
        The rate of stop-errors asked for.
    stop_error : ndarray of shape (a, b)
        The share of stopped walks among those that end below 0.
    mean_terms : ndarray of shape (a, b)
        After how many terms walks stop on average, whatever their end.
    """

    n_terms: np.ndarray
    delta: np.ndarray
    stop_error: np.ndarray
    mean_terms: np.ndarray

    @property
    def growth(self) -> np.ndarray:
        """Slope (b,) of log mean terms over log n; one half where they grow like the square root of n."""
        return np.polyfit(np.log(self.n_terms), np.log(self.mean_terms), 1)[0]


def simulate_stst(
    delta: Any = (0.01, 0.05, 0.1, 0.2, 0.3),
    n_terms: Any = (4096, 8192, 16384),
    *,
    drift: float = 0.05,
    n_walks: int = 1000,
    random_state: Any = None,
) -> STSTSimulation:
    """Simulate the constant sequential thresholded sum test on normal walks.

    Parameters
    ----------
    delta : array-like of float
        Rates of stop-errors to ask for, each above 0 and below 1.
    n_terms : array-like of int
        Lengths of the walks.
    drift : float, default=0.05
        Mean of a step, in its standard deviations; above 0.
    n_walks : int, default=1000
        How many walks of each length to take, and as many again that end below 0.
    random_state : int, RandomState or None

    Returns
    -------
    STSTSimulation

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
    found = np.array([_walks_of_length(int(n), deltas, drift, n_walks, random) for n in lengths])
    return STSTSimulation(lengths, deltas, stop_error=found[:, 0], mean_terms=found[:, 1])


def _walks_of_length(
    n: int, deltas: np.ndarray, drift: float, n_walks: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the stop-error and the mean number of terms for each delta."""
    tau = np.array([crossing(0.0, float(n), each) for each in deltas])
    crossed, stops = np.zeros(len(tau)), np.zeros(len(tau))
    for first in range(0, n_walks, size := max(1, STEPS_AT_ONCE // n)):
        count = min(size, n_walks - first)
        walks = np.cumsum(drift + random.standard_normal((count, n)), axis=1)
        stops += [_first_above(walks, each).sum() for each in tau]
        peaks = _bridges(walks, drift, random).max(axis=1)
        crossed += (peaks >= tau[:, None]).sum(axis=1)
    return crossed / n_walks, stops / n_walks


def _first_above(walks: np.ndarray, tau: float) -> np.ndarray:
    """Return after how many terms walks are above tau, all if they never are."""
    above = walks >= tau
    return np.where(above.any(axis=1), above.argmax(axis=1) + 1, walks.shape[1])


def _bridges(walks: np.ndarray, drift: float, random: np.random.RandomState) -> np.ndarray:
    """Bend walks to ends below 0, distributed as the ends of such walks are."""
    n = walks.shape[1]
    ends = truncnorm.rvs(
        -np.inf, -drift * np.sqrt(n), loc=drift * n, scale=np.sqrt(n), size=len(walks), random_state=random
    )
    return walks + np.outer(ends - walks[:, -1], np.arange(1, n + 1) / n)


def _refuse_bad_parameters(deltas: np.ndarray, lengths: np.ndarray, drift: float, n_walks: int) -> None:
    for what, value, fine, expected in (
        ("delta", deltas, ((deltas > 0) & (deltas < 1)).all(), "rates above 0 and below 1"),
        ("n_terms", lengths, np.issubdtype(lengths.dtype, np.integer) and (lengths > 0).all(), "whole numbers above 0"),
        ("drift", drift, is_number(drift) and drift > 0, "a number above 0"),
        ("n_walks", n_walks, is_number(n_walks, 1), "a whole number above 0"),
    ):
        if not fine:
            raise ValueError(f"simulate_stst: {what} is {value!r}; expected {expected}.")
