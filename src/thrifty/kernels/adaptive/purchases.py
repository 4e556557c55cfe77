"""What a row buys next, and whether going on is worth its cost."""

import numpy as np

from thrifty.kernels.adaptive.forests import find_leaf
from thrifty.kernels.adaptive.payments import next_in_order, ticks_of, unpaid_ticks
from thrifty.kernels.adaptive.structures import EVERYTHING, NOTHING, UNAFFORDABLE, borrowing


@borrowing()
def decide(policy, stops, column, share, cap, state):
    """Return what a row buys next, and the expected advantage of going on.

    Instead of a group, NOTHING means that going on is not worth its cost, and UNAFFORDABLE that what would be worth its
    cost exceeds the cap. A row goes on under a cap only if it would go on without the cap.
    """
    describe(policy, state)
    group = choose(policy, state)
    if group == NOTHING:
        return NOTHING, 0.0
    going_on = advantage(stops, column, share, state)
    if going_on <= 0:
        return NOTHING, going_on
    if (state.counts[0] + ticks_of(policy, state, group)) / policy.scale <= cap:
        return group, going_on
    group = choose_within(policy, state, cap)
    if group == NOTHING:
        return UNAFFORDABLE, going_on
    going_on = advantage(stops, column, share, state)
    return (group if going_on > 0 else UNAFFORDABLE), going_on


@borrowing(inline="always")
def describe(policy, state):
    """Write the belief, the counts and the expected gains of a row into its state.

    Without candidates there is nothing to choose, and the expected gain counts as 0.
    """
    at, scores, values = policy.fill.size, state.scores, state.values
    if policy.is_regression:
        values[at] = scores[0]
        at += 1
    elif scores.size == 1:
        p = 1.0 / (1.0 + np.exp(-scores[0]))
        values[at] = p
        values[at + 1] = _entropy_term(p) + _entropy_term(1.0 - p)
        at += 2
    else:
        highest, total, entropy = scores[0], 0.0, 0.0
        for k in range(1, scores.size):
            highest = max(highest, scores[k])
        for k in range(scores.size):
            values[at + k] = np.exp(scores[k] - highest)
            total += values[at + k]
        for k in range(scores.size):
            p = values[at + k] / total
            values[at + k] = p
            entropy += _entropy_term(p)
        values[at + scores.size] = entropy
        at += scores.size + 1
    values[at] = state.counts[1]
    values[at + 1] = state.counts[0] / policy.total
    state.gains[:] = 0.0
    if policy.candidates.size:
        expect_gains(policy, state)


@borrowing(inline="always")
def _entropy_term(p):
    return -p * np.log(p) if p > 0 else 0.0


@borrowing()
def expect_gains(policy, state):
    """Write the expected gain of each candidate, and of the default group, into a state that is described."""
    nodes, words, value, root, base, _ = policy.gains
    gains, values = state.gains, state.values
    for c in range(gains.size):
        gains[c] = base[c]
    for tree in range(root.size):
        node = find_leaf(nodes, words, root[tree], values)
        for c in range(gains.size):
            gains[c] += value[node, c]


@borrowing(inline="always")
def choose(policy, state):
    """Return the group that a row should buy next, or NOTHING if it has all groups.

    The default group, which is the next of the default order, competes with the candidates. The group with the largest
    expected gain per price is chosen; the default group if no other has a larger one, or if no gain is positive.
    """
    stage = int(state.counts[2])
    if stage < policy.first.size and not state.bought[policy.first[stage]]:
        return record_choice(policy, state, policy.first[stage], gain_of(policy, state, policy.first[stage]))
    default = next_in_order(policy, state, np.inf)
    if default == NOTHING:
        return NOTHING
    gain = state.gains[policy.candidates.size]
    best = max(gain / ticks_of(policy, state, default), 0.0)
    group, ratio = best_candidate(policy, state, np.inf)
    if ratio > best:
        return record_choice(policy, state, group, gain_of(policy, state, group))
    return record_choice(policy, state, default, gain)


@borrowing()
def choose_within(policy, state, cap):
    """Return the group that a row buys if it cannot pay for the one that it should buy; NOTHING if it can pay for none.

    It is the candidate with the largest expected gain per price, or the first group of the default order.
    """
    group, ratio = best_candidate(policy, state, cap)
    if ratio > 0:
        return record_choice(policy, state, group, gain_of(policy, state, group))
    group = next_in_order(policy, state, cap)
    return group if group == NOTHING else record_choice(policy, state, group, 0.0)


@borrowing()
def best_candidate(policy, state, cap):
    """Return the candidate with the largest expected gain per price (in ticks) within a cap, and this ratio."""
    bought, candidates, gains = state.bought, policy.candidates, state.gains
    unit_start, units, unit_ticks, paid = policy.unit_start, policy.units, policy.unit_ticks, state.paid
    chosen, best = NOTHING, 0.0
    for c in range(candidates.size):
        group = candidates[c]
        if bought[group] or gains[c] <= 0:
            continue
        ticks = unpaid_ticks(unit_start, units, unit_ticks, paid, group)
        if gains[c] / ticks > best and (state.counts[0] + ticks) / policy.scale <= cap:
            chosen, best = group, gains[c] / ticks
    return chosen, best


@borrowing(inline="always")
def record_choice(policy, state, group, gain):
    """Write the expected gain of a chosen group and its price into the state, and return the group."""
    n_values = state.values.size
    state.values[n_values - 2] = gain
    state.values[n_values - 1] = ticks_of(policy, state, group) / policy.total
    return group


@borrowing(inline="always")
def gain_of(policy, state, group):
    """Return the expected gain of a group; that of the default group if it is not a candidate."""
    for c in range(policy.candidates.size):
        if policy.candidates[c] == group:
            return state.gains[c]
    return state.gains[policy.candidates.size]


@borrowing(inline="always")
def advantage(stops, column, share, state):
    """Return the expected advantage of going on over answering now.

    The cost weight is between those of `column` and the next one: (1 - share) * advantage of the first + share *
    advantage of the second. If `column` is NOTHING, the cost weight is so large that no purchase is worth its price. If
    `share` is EVERYTHING, the cost weight is 0, and everything is bought.
    """
    if column == NOTHING:
        return -np.inf
    if share == EVERYTHING:
        return np.inf
    stage = int(state.counts[2])
    low, high = stops.stage_base[stage, column], stops.stage_base[stage, column + 1]
    nodes, words, value, root, _, _ = stops.forest
    values = state.values
    for tree in range(stops.stage_start[stage], stops.stage_start[stage + 1]):
        leaf = find_leaf(nodes, words, root[tree], values)
        low += value[leaf, column]
        high += value[leaf, column + 1]
    return (1.0 - share) * low + share * high
