"""In which order the terms of a predictor are evaluated.

greedy    what explains most of the full score beside the terms before it, per cost: the selection of ASTC, on the
          Gram matrix of the term values (Kusner et al., 2014)
cost      what varies most in the full score, per cost
weight    the largest weights first
random    as in the experiments of Pelossof and Ying, who found sorting by weight unstable
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from thrifty.models.least_squares.forward_fit import ForwardFit
from thrifty.models.least_squares.moments import Moments, TrainingRows
from thrifty.models.stopping.sample import Sample

ORDERS = ("greedy", "random", "weight", "cost")
CANDIDATES = 1024  # terms, the strongest, among which greedy selection chooses; the others follow
TIE = 1e-9  # relative difference below which the earlier term wins
NO_GAIN = 1e-12  # what rounding errors can pretend to add to R²
FREE = 1e-9  # share of a price below which what is left of it is rounding error


class Prices:
    """What each term costs now: its evaluation, and the units of its features that are not paid yet."""

    def __init__(self, requires: np.ndarray, unit_costs: np.ndarray, evaluation: np.ndarray):
        self._requires, self._unit_costs = requires, unit_costs  # (n_terms, n_units) bool, (n_units,)
        self._paid = np.zeros(len(unit_costs), dtype=bool)
        self._features = requires @ unit_costs
        self._smallest = FREE * self._features
        self._evaluation = evaluation

    @property
    def now(self) -> np.ndarray:
        """The prices (n_terms,)."""
        return np.where(self._features > self._smallest, self._features, 0.0) + self._evaluation

    def buy(self, term: int) -> None:
        """Pay for a term."""
        units = np.flatnonzero(self._requires[term] & ~self._paid)
        if units.size:
            self._features -= self._requires[:, units] @ self._unit_costs[units]
            self._paid[units] = True


def order_terms(
    kind: Any, sample: Sample, prices: Callable[[np.ndarray], Prices], random: np.random.RandomState
) -> np.ndarray:
    """Return the terms in the order asked for; `prices` makes the price list of some terms."""
    n_terms = sample.values.shape[1]
    if kind == "random":
        return random.permutation(n_terms)
    if kind == "weight":
        return np.argsort(-np.linalg.norm(sample.weights, axis=0), kind="stable")
    strongest = np.argsort(-sample.strengths, kind="stable")
    if kind == "cost":
        return _by_gain_per_price(sample.strengths, prices(np.arange(n_terms)))
    candidates = np.sort(strongest[:CANDIDATES])
    chosen = candidates[_greedy(sample, candidates, prices(candidates))]
    return np.concatenate([chosen, strongest[~np.isin(strongest, chosen)]])


def given_order(order: Any, ids: np.ndarray, owner: str) -> np.ndarray:
    """Return the order that an array of the predictor's own numbers of terms asks for."""
    wanted = np.asarray(order)
    if wanted.ndim != 1 or not np.issubdtype(wanted.dtype, np.integer) or len(np.unique(wanted)) != len(wanted):
        raise ValueError(f"{owner}: order is {order!r}; expected one of {ORDERS}, or the terms, each of them once.")
    place = {int(number): k for k, number in enumerate(ids)}
    if missing := sorted(set(place) - set(wanted.tolist())):
        raise ValueError(f"{owner}: order lacks term {missing[0]}. List every term of the predictor once.")
    return np.array([place[number] for number in wanted.tolist() if number in place], dtype=int)


def _by_gain_per_price(gains: np.ndarray, prices: Prices) -> np.ndarray:
    """Take terms by what they bring per cost; what a purchase has paid for counts as free from then on."""
    left = np.ones(len(gains), dtype=bool)
    order = []
    for _ in gains:
        term = _best(np.where(left, gains, -1.0), np.where(left, prices.now, 1.0))
        prices.buy(term)
        left[term] = False
        order.append(term)
    return np.array(order, dtype=int)


def _greedy(sample: Sample, candidates: np.ndarray, prices: Prices) -> list[int]:
    """Take candidates by what they add to R² of the full scores per cost, until nothing is left to add."""
    data = TrainingRows(np.ascontiguousarray(sample.values[:, candidates]), sample.scores, sample.count)
    fit = ForwardFit(Moments(data, np.arange(len(data.X)), data.count, ahead=len(candidates)))
    while (gains := fit.gains()).size and gains.max() > NO_GAIN:
        term = _best(gains, prices.now)
        prices.buy(term)
        fit.add(term)
    return fit.selected


def _best(gains: np.ndarray, prices: np.ndarray) -> int:
    """Return the best of the free ones that bring anything, else the best per cost; the first of equals."""
    free = np.where(prices == 0, gains, 0.0)
    worth = free if free.max() > NO_GAIN else np.divide(gains, prices, out=free, where=prices > 0)
    return int(np.argmax(worth >= worth.max() * (1 - TIE)))
