"""The order in which the terms of a predictor are evaluated.

    greedy    repeatedly the term with the largest gain in R² of the full scores per cost, given the terms before it:
              the selection of ASTC (Kusner et al., 2014), on the Gram matrix of the term values
    cost      repeatedly the term with the largest strength per cost; the strength of term t is
              standard deviation of its value * norm of its weights
    weight    by the norm of the weights, the largest first
    random    a random permutation, as in the experiments of Pelossof and Ying, who found sorting by weight unstable

The cost of a term is what it adds to what the terms before it have paid: its evaluation, and the unpaid units of the
features that it reads. Terms that are free at the moment come first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.models.least_squares.forward_fit import ForwardFit
from thrifty.models.least_squares.moments import FilledRows, Moments
from thrifty.models.stopping.term_sample import TermSample

ORDERS = ("greedy", "random", "weight", "cost")
MAX_CANDIDATES = 1024  # greedy selection considers the strongest terms only; the others follow by strength
TIE = 1e-9  # relative difference below which the earlier term wins
MIN_GAIN = 1e-12  # smaller gains in R² may be rounding errors


def order_terms(
    kind: str,
    sample: TermSample,
    costs: Callable[[np.ndarray], CostModel],
    evaluation_costs: np.ndarray,
    random: np.random.RandomState,
) -> np.ndarray:
    """Return the positions of the terms in the order of this kind.

    Parameters
    ----------
    kind : str
        One of `ORDERS`.
    sample : TermSample
    costs : callable
        Returns the cost model of some terms, without their evaluation.
    evaluation_costs : ndarray of shape (n_terms,)
    random : RandomState
    """
    n_terms = sample.values.shape[1]
    if kind == "random":
        return random.permutation(n_terms)
    if kind == "weight":
        return np.argsort(-np.linalg.norm(sample.weights, axis=0), kind="stable")
    if n_terms == 0:
        return np.arange(0)
    if kind == "cost":
        return _by_strength(sample.strengths, Ledger(costs(np.arange(n_terms))), evaluation_costs)
    strongest = np.argsort(-sample.strengths, kind="stable")
    candidates = np.sort(strongest[:MAX_CANDIDATES])
    chosen = candidates[_greedy(sample, candidates, Ledger(costs(candidates)), evaluation_costs[candidates])]
    return np.concatenate([chosen, strongest[~np.isin(strongest, chosen)]])


def given_order(order: Any, ids: np.ndarray, owner: str) -> np.ndarray:
    """Return the positions of the terms in the order of a list of ids; ids without a term are ignored."""
    wanted = np.asarray(order)
    if wanted.ndim != 1 or not np.issubdtype(wanted.dtype, np.integer) or len(np.unique(wanted)) != len(wanted):
        raise ValueError(f"{owner}: order is {order!r}; expected one of {ORDERS}, or an array with every term once.")
    position = {int(number): k for k, number in enumerate(ids)}
    if missing := sorted(set(position) - set(wanted.tolist())):
        raise ValueError(f"{owner}: order lacks term {missing[0]}. List every term of the predictor once.")
    return np.array([position[number] for number in wanted.tolist() if number in position], dtype=int)


def _by_strength(strengths: np.ndarray, ledger: Ledger, evaluation_costs: np.ndarray) -> np.ndarray:
    """Return all terms, sorted by their strength per current price."""
    left = np.ones(len(strengths), dtype=bool)
    order = []
    for _ in strengths:
        prices = ledger.prices + evaluation_costs
        term = _best(np.where(left, strengths, -1.0), np.where(left, prices, 1.0))
        ledger.buy(term)
        left[term] = False
        order.append(term)
    return np.array(order, dtype=int)


def _greedy(sample: TermSample, candidates: np.ndarray, ledger: Ledger, evaluation_costs: np.ndarray) -> list[int]:
    """Return candidates sorted by their gain in R² per current price, until no gain is left."""
    data = FilledRows(np.ascontiguousarray(sample.values[:, candidates]), sample.scores, sample.count)
    fit = ForwardFit(Moments(data, ahead=len(candidates)))
    while (gains := fit.gains()).max() > MIN_GAIN:
        term = _best(gains, ledger.prices + evaluation_costs)
        ledger.buy(term)
        fit.add(term)
    return fit.selected


def _best(gains: np.ndarray, prices: np.ndarray) -> int:
    """Return the free term with the largest gain, or, if no free term has a gain, the term with the largest gain/price.

    Of equal terms the first is returned.
    """
    free = np.where(prices == 0, gains, 0.0)
    worth = free if free.max() > MIN_GAIN else np.divide(gains, prices, out=free, where=prices > 0)
    return int(np.argmax(worth >= worth.max() * (1 - TIE)))
