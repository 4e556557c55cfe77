"""Scores of rows that buy features factor by factor, and actions of the forward-selection oracle.

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

A factor is a group of columns that are bought together. Columns are sorted by factor: factor f has the columns
starts[f]..starts[f + 1]. There may be several linear models (data models, one per fold); `which[r]` is the model
of row r. Actions 0..F - 1 buy a factor, action F stops.

    reward of a state  =  quality  -  cost_weight * spent
    quality            =  PROBABILITY_MARGIN  probability of the true class - largest probability of another class
                          SCORE_MARGIN        score of the true class - largest score of another class
                          SQUARED_ERROR       -(target - value)^2
    spent              =  share of the cost of all features that is paid
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

PROBABILITY_MARGIN, SCORE_MARGIN, SQUARED_ERROR = 0, 1, 2
TINY = 1e-290  # added to class weights, because all of them may underflow to 0


class RewardRule(NamedTuple):
    """What a reward is made of: the kind of quality, and the weight of the cost."""

    quality: int
    cost_weight: float


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
    values,
    starts,
    weights,
    which,
    scores,
    acquired,
    targets,
    prices,
    rule,
    bonus,
    weighs_stop,
    first,
    last,
    actions,
    stakes,
):
    """Write the action of the oracle in the states first..last, and by how much stopping and continuing differ.

    From its state a row repeatedly buys the factor with the largest reward until it has all factors. The oracle stops
    if no later state has a larger reward than the current one; else it buys the first factor of this sequence.
    `stakes` is the absolute difference between the current reward and the largest later one. `targets` (n,) are indices
    of classes, or numbers to predict.

    `bonus` (n, F + 1) is added to the rewards of the actions when the first factor is chosen; a coach uses it for
    actions that the policy prefers. If `weighs_stop`, the coach stops if that is the action with the largest sum of
    reward and bonus; else the coach stops like the oracle.
    """
    gains = np.empty((acquired.shape[1], scores.shape[1]))
    for i in range(first, last):
        for f in range(gains.shape[0]):
            gains[f] = 0.0
            for j in range(starts[f], starts[f + 1]):
                _add_scaled(gains[f], values[i, j], weights[which[i], j])
        current = scores[i].copy()
        if rule.quality == PROBABILITY_MARGIN:
            current = np.exp(current - current.max())
            for f in range(gains.shape[0]):
                gains[f] = np.exp(gains[f] - gains[f].max())
        actions[i], stakes[i] = _guided_action(
            gains, current, acquired[i].copy(), targets[i], prices, rule, bonus[i], weighs_stop
        )


@njit(cache=True, nogil=True)
def _guided_action(gains, current, acquired, target, prices, rule, bonus, weighs_stop):
    """Return the action and the stake of one row.

    `current` (k,) are the scores, and buying factor f adds gains[f]. For PROBABILITY_MARGIN both are exponentials:
    `current` is proportional to the class probabilities, and buying f multiplies it by gains[f]. Therefore the loop
    needs no exponentials.
    """
    stop = acquired.size
    paid, spent = _paid_units(acquired, prices)
    if acquired.all():
        return stop, 0.0
    now = _quality(rule.quality, current, np.full_like(current, rule.quality == PROBABILITY_MARGIN), target)
    now -= rule.cost_weight * spent
    action, price, best = _best_factor(gains, current, acquired, target, prices, rule, paid, spent, bonus)
    preferred = best + bonus[action]
    chosen, no_bonus = action, np.zeros_like(bonus)
    while True:
        acquired[chosen] = True
        current = _after(rule.quality, current, gains[chosen])
        paid |= prices.requires[chosen]
        spent += price
        if acquired.all() or best >= _largest_quality(rule.quality) - rule.cost_weight * spent:
            break  # no later reward is larger
        chosen, price, reward = _best_factor(gains, current, acquired, target, prices, rule, paid, spent, no_bonus)
        best = max(best, reward)
    continues = preferred > now + bonus[stop] if weighs_stop else best > now
    return action if continues else stop, abs(best - now)


@njit(cache=True, nogil=True)
def _best_factor(gains, current, acquired, target, prices, rule, paid, spent, bonus):
    """Return the factor with the largest sum of reward and bonus, its price and its reward."""
    best, best_price, best_reward, largest = -1, 0.0, -np.inf, -np.inf
    for f in range(acquired.size):
        if not acquired[f]:
            price = prices.own[f]
            for u in range(paid.size):
                if prices.requires[f, u] and not paid[u]:
                    price += prices.shared[u]
            reward = _quality(rule.quality, current, gains[f], target) - rule.cost_weight * (spent + price)
            if best < 0 or reward + bonus[f] > largest:
                best, best_price, best_reward, largest = f, price, reward, reward + bonus[f]
    return best, best_price, best_reward


@njit(cache=True, nogil=True)
def _quality(kind, current, gain, target):
    """Return the quality of the state after a gain; see the top of this file."""
    if kind == PROBABILITY_MARGIN:
        return _probability_margin(current, gain, int(target))
    if kind == SCORE_MARGIN:
        return _score_margin(current, gain, int(target))
    return -((target - current[0] - gain[0]) ** 2)


@njit(cache=True, nogil=True)
def _largest_quality(kind):
    """Return a number that no quality exceeds."""
    if kind == PROBABILITY_MARGIN:
        return 1.0
    return np.inf if kind == SCORE_MARGIN else 0.0


@njit(cache=True, nogil=True)
def _after(kind, current, gain):
    """Return the scores after a gain, or the class weights after it."""
    if kind != PROBABILITY_MARGIN:
        return current + gain
    weights = current * gain + TINY
    return weights / weights.max()


@njit(cache=True, nogil=True)
def _probability_margin(current, multiplier, label):
    """Return the margin after the class weights `current` are multiplied by `multiplier`."""
    total, largest_other = 0.0, 0.0
    for c in range(current.size):
        weight = current[c] * multiplier[c] + TINY
        total += weight
        if c != label:
            largest_other = max(largest_other, weight)
    return (current[label] * multiplier[label] + TINY - largest_other) / total


@njit(cache=True, nogil=True)
def _score_margin(current, gain, label):
    """Return the margin after `gain` is added to the scores `current`."""
    largest_other = -np.inf
    for c in range(current.size):
        if c != label:
            largest_other = max(largest_other, current[c] + gain[c])
    return current[label] + gain[label] - largest_other


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
