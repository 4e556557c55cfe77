"""Scores of rows that buy factor by factor, and the forward-selection oracle that knows their class.

Columns are sorted by factor: factor f owns the columns starts[f]..starts[f + 1]. Several linear models may stand side
by side (data classifiers, one per fold); `which` tells for each row whose weights count. Of F factors, action F stops.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from thrifty.kernels.dot import dot


class FactorPrices(NamedTuple):
    """What factors cost, in shares of the cost of everything; ``F`` factors, ``S`` units shared by several."""

    own: np.ndarray  # (F,) what a factor pays by itself
    shared: np.ndarray  # (S,) what the shared units cost
    requires: np.ndarray  # (F, S) bool


@njit(cache=True, nogil=True)
def add_factors(totals, rows, factors, values, starts, weights, which):
    """Add to the totals (n, k) of some rows what the factor that each has bought contributes, always in one order."""
    for i in range(rows.size):
        r, first, last = rows[i], starts[factors[i]], starts[factors[i] + 1]
        for c in range(totals.shape[1]):
            totals[r, c] += dot(values[r, first:last], weights[which[r], c, first:last])


@njit(cache=True, nogil=True)
def add_products(totals, values, weights):
    """Add values (n, d) times weights (k, d) to the totals (n, k), always in one order."""
    for r in range(totals.shape[0]):
        for c in range(totals.shape[1]):
            totals[r, c] += dot(values[r], weights[c])


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
    have stopped where the reward was largest. `wish` (n, F + 1), what the policy prefers times the coach's leniency,
    counts with the rewards of the first step.
    """
    gains = np.empty((acquired.shape[1], scores.shape[1]))
    for i in range(first, last):
        for f in range(gains.shape[0]):
            for c in range(gains.shape[1]):
                block = slice(starts[f], starts[f + 1])
                gains[f, c] = dot(values[i, block], weights[which[i], c, block])
        actions[i], stakes[i] = _guide_one(
            gains, scores[i].copy(), acquired[i].copy(), labels[i], prices, cost_weight, wish[i]
        )


@njit(cache=True, nogil=True)
def _guide_one(gains, score, acquired, label, prices, cost_weight, wish):
    stop = acquired.size
    paid, spent = _paid(acquired, prices)
    if acquired.all():
        return stop, 0.0
    now = _margin(score, np.zeros_like(score), label) - cost_weight * spent
    action, price, best = _best_factor(gains, score, acquired, label, prices, cost_weight, paid, spent, wish)
    chosen, nothing = action, np.zeros_like(wish)
    while True:
        acquired[chosen] = True
        score += gains[chosen]
        paid |= prices.requires[chosen]
        spent += price
        if acquired.all() or best >= 1.0 - cost_weight * spent:  # no margin exceeds 1
            break
        chosen, price, reward = _best_factor(gains, score, acquired, label, prices, cost_weight, paid, spent, nothing)
        best = max(best, reward)
    goes_on = best + wish[action] > now + wish[stop]
    return action if goes_on else stop, abs(best - now)


@njit(cache=True, nogil=True)
def _best_factor(gains, score, acquired, label, prices, cost_weight, paid, spent, wish):
    """Return the factor of the largest immediate reward and wish, its price and its reward."""
    best, best_price, best_reward, largest = -1, 0.0, -np.inf, -np.inf
    for f in range(acquired.size):
        if not acquired[f]:
            price = prices.own[f]
            for u in range(paid.size):
                if prices.requires[f, u] and not paid[u]:
                    price += prices.shared[u]
            reward = _margin(score, gains[f], label) - cost_weight * (spent + price)
            if best < 0 or reward + wish[f] > largest:
                best, best_price, best_reward, largest = f, price, reward, reward + wish[f]
    return best, best_price, best_reward


@njit(cache=True, nogil=True)
def _margin(score, gain, label):
    """Return the probability of the true class less that of the likeliest other, a gain being added to the scores."""
    top = -np.inf
    for c in range(score.size):
        top = max(top, score[c] + gain[c])
    total, true, rival = 0.0, 0.0, 0.0
    for c in range(score.size):
        weight = math.exp(score[c] + gain[c] - top)
        total += weight
        if c == label:
            true = weight
        else:
            rival = max(rival, weight)
    return (true - rival) / total


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
