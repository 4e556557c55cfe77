"""Scores of rows that buy features factor by factor, and actions of the forward-selection oracle.

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

A factor is a group of columns that are bought together. Columns are sorted by factor: factor f has the columns
starts[f]..starts[f + 1]. There may be several linear models (data classifiers, one per fold); `which[r]` is the model
of row r. Actions 0..F - 1 buy a factor, action F stops.

    reward of a state  =  margin  -  cost_weight * spent
    margin             =  probability of the true class  -  largest probability of another class
    spent              =  share of the cost of all features that is paid
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

TINY = 1e-290  # added to class weights, because all of them may underflow to 0


class FactorPrices(NamedTuple):
    """Prices of factors as shares of the cost of all features: ``F`` factors, ``S`` units shared by several factors."""

    own: np.ndarray  # (F,) price of the units that only this factor requires
    shared: np.ndarray  # (S,) price of each shared unit
    requires: np.ndarray  # (F, S) bool, shared units that each factor requires


@njit(cache=True, nogil=True)
def add_factors(totals, rows, factors, values, starts, weights, which):
    """Add the contribution of factor factors[i] to the totals (n, k) of row rows[i].

    `weights` has shape (models, d, k), so that vector instructions run over the k totals. Each total adds its columns
    in the same order for batches and for single rows.
    """
    for i in range(rows.size):
        r = rows[i]
        for j in range(starts[factors[i]], starts[factors[i] + 1]):
            _add_scaled(totals[r], values[r, j], weights[which[r], j])


@njit(cache=True, nogil=True)
def add_products(totals, values, weights):
    """Add values (n, d) @ weights (d, k) to totals (n, k), in the same order for batches and for single rows."""
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
    """Write the most likely class of each row and its probability (softmax of the scores)."""
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
    values, starts, weights, which, scores, acquired, labels, prices, cost_weight, bonus, first, last, actions, stakes
):
    """Write the action of the oracle in the states first..last, and by how much stopping and continuing differ.

    From its state a row repeatedly buys the factor with the largest reward until it has all factors. The oracle stops
    if no later state has a larger reward than the current one; else it buys the first factor of this sequence.
    `stakes` is the absolute difference between the current reward and the largest later one. `bonus` (n, F) is added to
    the rewards when the first factor is chosen; a coach uses it to choose factors that the policy prefers.
    """
    multipliers = np.empty((acquired.shape[1], scores.shape[1]))
    for i in range(first, last):
        for f in range(multipliers.shape[0]):
            multipliers[f] = 0.0
            for j in range(starts[f], starts[f + 1]):
                _add_scaled(multipliers[f], values[i, j], weights[which[i], j])
            multipliers[f] = np.exp(multipliers[f] - multipliers[f].max())
        current = np.exp(scores[i] - scores[i].max())
        actions[i], stakes[i] = _oracle_action(
            multipliers, current, acquired[i].copy(), labels[i], prices, cost_weight, bonus[i]
        )


@njit(cache=True, nogil=True)
def _oracle_action(multipliers, current, acquired, label, prices, cost_weight, bonus):
    """Return the action and the stake of one row.

    `current` (k,) is proportional to the class probabilities. Buying factor f multiplies it by multipliers[f], the
    exponential of the contribution of f to the scores. Therefore the loop needs no exponentials.
    """
    stop = acquired.size
    paid, spent = _paid_units(acquired, prices)
    if acquired.all():
        return stop, 0.0
    now = _margin(current, np.ones_like(current), label) - cost_weight * spent
    action, price, best = _best_factor(multipliers, current, acquired, label, prices, cost_weight, paid, spent, bonus)
    chosen, no_bonus = action, np.zeros_like(bonus)
    while True:
        acquired[chosen] = True
        current = current * multipliers[chosen] + TINY
        current /= current.max()
        paid |= prices.requires[chosen]
        spent += price
        if acquired.all() or best >= 1.0 - cost_weight * spent:  # a margin is at most 1, so no later reward is larger
            break
        chosen, price, reward = _best_factor(
            multipliers, current, acquired, label, prices, cost_weight, paid, spent, no_bonus
        )
        best = max(best, reward)
    return action if best > now else stop, abs(best - now)


@njit(cache=True, nogil=True)
def _best_factor(multipliers, current, acquired, label, prices, cost_weight, paid, spent, bonus):
    """Return the factor with the largest sum of reward and bonus, its price and its reward."""
    best, best_price, best_reward, largest = -1, 0.0, -np.inf, -np.inf
    for f in range(acquired.size):
        if not acquired[f]:
            price = prices.own[f]
            for u in range(paid.size):
                if prices.requires[f, u] and not paid[u]:
                    price += prices.shared[u]
            reward = _margin(current, multipliers[f], label) - cost_weight * (spent + price)
            if best < 0 or reward + bonus[f] > largest:
                best, best_price, best_reward, largest = f, price, reward, reward + bonus[f]
    return best, best_price, best_reward


@njit(cache=True, nogil=True)
def _margin(current, multiplier, label):
    """Return the margin after the class weights `current` are multiplied by `multiplier`."""
    total, largest_other = 0.0, 0.0
    for c in range(current.size):
        weight = current[c] * multiplier[c] + TINY
        total += weight
        if c != label:
            largest_other = max(largest_other, weight)
    return (current[label] * multiplier[label] + TINY - largest_other) / total


@njit(cache=True, nogil=True)
def _paid_units(acquired, prices):
    """Return the shared units that are paid, and the share of the cost of all features that is spent."""
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
