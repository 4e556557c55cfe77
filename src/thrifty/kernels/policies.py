"""Scores of rows that buy factor by factor, and the forward-selection oracle that knows their class.

Columns are sorted by factor: factor f owns the columns starts[f]..starts[f + 1]. Several linear models may stand side
by side (data classifiers, one per fold); `which` tells for each row whose weights count. Of F factors, action F stops.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

TINY = 1e-290  # added to odds, which may vanish all together


class FactorPrices(NamedTuple):
    """What factors cost, in shares of the cost of everything; ``F`` factors, ``S`` units shared by several."""

    own: np.ndarray  # (F,) what a factor pays by itself
    shared: np.ndarray  # (S,) what the shared units cost
    requires: np.ndarray  # (F, S) bool


@njit(cache=True, nogil=True)
def add_factors(totals, rows, factors, values, starts, weights, which):
    """Add to the totals (n, k) of some rows what the factor that each has bought contributes.

    The weights of a column stand side by side (models, d, k): vector registers run over the k totals, while every one
    of these is summed column by column, in one order for batches and single rows.
    """
    for i in range(rows.size):
        r = rows[i]
        for j in range(starts[factors[i]], starts[factors[i] + 1]):
            _add_scaled(totals[r], values[r, j], weights[which[r], j])


@njit(cache=True, nogil=True)
def add_products(totals, values, weights):
    """Add values (n, d) times weights (d, k) to the totals (n, k), again in one order."""
    for r in range(totals.shape[0]):
        for j in range(values.shape[1]):
            if values[r, j] != 0.0:
                _add_scaled(totals[r], values[r, j], weights[j])


@njit(cache=True, nogil=True)
def _add_scaled(total, value, weights):
    for c in range(total.size):
        total[c] += value * weights[c]


@njit(cache=True, nogil=True)
def judge(scores, confidence, guess):
    """Find the likeliest class of each row and its probability."""
    for r in range(scores.shape[0]):
        best = 0
        for c in range(1, scores.shape[1]):
            if scores[r, c] > scores[r, best]:
                best = c
        total = 0.0
        for c in range(scores.shape[1]):
            total += math.exp(scores[r, c] - scores[r, best])
        confidence[r], guess[r] = 1.0 / total, best


@njit(cache=True, nogil=True)
def guide(
    values, starts, weights, which, scores, acquired, labels, prices, cost_weight, wish, first, last, actions, stakes
):
    """Tell what the oracle does in the states first..last, and what is at stake between stopping and going on there.

    A row goes on from its state with the factor of the largest immediate reward until it has all of them; it should
    have stopped where the reward was largest. `wish` (n, F), what the policy prefers times the coach's leniency, counts
    with the rewards of the first step.
    """
    odds = np.empty((acquired.shape[1], scores.shape[1]))
    for i in range(first, last):
        for f in range(odds.shape[0]):
            odds[f] = 0.0
            for j in range(starts[f], starts[f + 1]):
                _add_scaled(odds[f], values[i, j], weights[which[i], j])
            odds[f] = np.exp(odds[f] - odds[f].max())
        held = np.exp(scores[i] - scores[i].max())
        actions[i], stakes[i] = _guide_one(odds, held, acquired[i].copy(), labels[i], prices, cost_weight, wish[i])


@njit(cache=True, nogil=True)
def _guide_one(odds, held, acquired, label, prices, cost_weight, wish):
    """Guide one row; a factor multiplies the odds held by its own, which spares all further exponentials."""
    stop = acquired.size
    paid, spent = _paid(acquired, prices)
    if acquired.all():
        return stop, 0.0
    now = _margin(held, np.ones_like(held), label) - cost_weight * spent
    action, price, best = _best_factor(odds, held, acquired, label, prices, cost_weight, paid, spent, wish)
    chosen, nothing = action, np.zeros_like(wish)
    while True:
        acquired[chosen] = True
        held = held * odds[chosen] + TINY
        held /= held.max()
        paid |= prices.requires[chosen]
        spent += price
        if acquired.all() or best >= 1.0 - cost_weight * spent:  # no margin exceeds 1
            break
        chosen, price, reward = _best_factor(odds, held, acquired, label, prices, cost_weight, paid, spent, nothing)
        best = max(best, reward)
    return action if best > now else stop, abs(best - now)


@njit(cache=True, nogil=True)
def _best_factor(odds, held, acquired, label, prices, cost_weight, paid, spent, wish):
    """Return the factor of the largest immediate reward and wish, its price and its reward."""
    best, best_price, best_reward, largest = -1, 0.0, -np.inf, -np.inf
    for f in range(acquired.size):
        if not acquired[f]:
            price = prices.own[f]
            for u in range(paid.size):
                if prices.requires[f, u] and not paid[u]:
                    price += prices.shared[u]
            reward = _margin(held, odds[f], label) - cost_weight * (spent + price)
            if best < 0 or reward + wish[f] > largest:
                best, best_price, best_reward, largest = f, price, reward, reward + wish[f]
    return best, best_price, best_reward


@njit(cache=True, nogil=True)
def _margin(held, odds, label):
    """Return the probability of the true class less that of the likeliest other, after some odds."""
    total, rival = 0.0, 0.0
    for c in range(held.size):
        weight = held[c] * odds[c] + TINY
        total += weight
        if c != label:
            rival = max(rival, weight)
    return (held[label] * odds[label] + TINY - rival) / total


@njit(cache=True, nogil=True)
def _paid(acquired, prices):
    """Return the shared units that are paid, and the share of the cost of everything that is spent."""
    paid = np.zeros(prices.shared.size, dtype=np.bool_)
    spent = 0.0
    for f in range(acquired.size):
        if acquired[f]:
            paid |= prices.requires[f]
            spent += prices.own[f]
    for u in range(paid.size):
        if paid[u]:
            spent += prices.shared[u]
    return paid, spent
