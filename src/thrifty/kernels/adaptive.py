"""Purchases of single rows, decided step by step from what is known about the row.

A row is a `State`. It starts with nothing (`begin`). Each stage chooses a group of columns (`decide`), pays for it
(`pay_stage`) and reads its values (`read_groups`). Batches, sessions and simulated training rows call the same
functions, so that they agree to the last bit. Python calls those of `thrifty.kernels.adaptive_rows`.

    d    columns, sorted by group    G    groups of columns that are bought together    S    stages
    s    scores of the predictor     C    candidates: groups that may be bought out of the default order
    b    numbers that describe the belief: probabilities and entropy, or the predicted number

    values[0 : d]                columns; NaN if they are not bought
    values[d : d + b]            belief
    values[d + b : d + b + 2]    number of groups bought, and the spend as a share of the cost of everything
    values[d + b + 2 :]          expected gain of the next group, and its price as a share of the cost of everything
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from thrifty.kernels.forest import BITS, ONE

NOTHING, UNAFFORDABLE = -1, -2  # instead of a group; NOTHING also instead of a column of cost weights
EVERYTHING = 2.0  # instead of a share, which is at most 1
LOG_LOSS, SQUARED_LOSS, ERROR_COSTS = 0, 1, 2  # kinds of loss
SMALLEST_PROBABILITY = 1e-12
LIMIT = 3.0  # of a standardised value in the linear part of the scores
NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("feature", np.uint32),
        ("left", np.uint32),  # a leaf is its own child
        ("right", np.uint32),
        ("category_set", np.uint32),  # start in `words` of the codes that go left; 0: numeric split
        ("missing_right", np.uint64),
    ]
)

# Numba counts the references to an array whenever a function reads it from a tuple, which would take most of the time
# here. Functions that neither create nor return arrays do without: whoever calls them holds the arrays.
borrowing = partial(njit, cache=True, nogil=True, _nrt=False)


class PackedForest(NamedTuple):
    """A forest whose nodes are records, because a row that goes down a tree reads all fields of a node together."""

    nodes: np.ndarray  # (m,) of NODE
    words: np.ndarray  # uint64, category sets; see `thrifty.kernels.forest`
    value: np.ndarray  # (m, k)
    root: np.ndarray  # (t,) uint32
    base: np.ndarray  # (s,)
    score_of: np.ndarray  # (t, k) uint32


class Policy(NamedTuple):
    """What decides the purchases of a row, as arrays."""

    predictor: PackedForest  # reads masked columns; its trees are those of phase 0, then those of phase 1, ...
    phase_start: np.ndarray  # (n_phases + 1,) the trees of a phase are phase_start[phase] : phase_start[phase + 1]
    phase_base: np.ndarray  # (n_phases, s) what the scores of a phase start from
    last_count: np.ndarray  # (n_phases,) the largest number of groups that a row has in a phase
    centre: np.ndarray  # (d,) a bought value x that is finite adds
    width: np.ndarray  # (d,) offset + slope * (x - centre) / width
    slope: np.ndarray  # (n_phases, d, s) to the scores of a phase;
    offset: np.ndarray  # (n_phases, d, s) (x - centre) / width is limited to -LIMIT..LIMIT
    is_linear: np.ndarray  # (n_phases,) uint8, whether a phase has slopes and offsets
    gains: PackedForest  # expected decrease of the loss by each candidate, and (last) by the default group
    tree_start: np.ndarray  # (n_phases, G + 1) the trees of a phase that read columns of group g are
    trees: np.ndarray  # trees[tree_start[phase, g] : tree_start[phase, g + 1]]
    groups_above: np.ndarray  # (m,) uint64, bit g % 64 is 1 if a node above splits on a column of group g
    column_start: np.ndarray  # (G + 1,) the columns of group g are column_start[g] : column_start[g + 1]
    source: np.ndarray  # (d,) the column of X that each column is read from
    unit_start: np.ndarray  # (G + 1,) the units that group g requires are
    units: np.ndarray  # units[unit_start[g] : unit_start[g + 1]]
    unit_ticks: np.ndarray  # (n_units,) cost of each unit in ticks
    shares_units: bool  # whether two groups require the same unit, so that a purchase can make another group free
    fill: np.ndarray  # (d,) what NaN in a bought column stands for; NaN: as if it were not bought
    first: np.ndarray  # groups that every row buys first, in this order
    order: np.ndarray  # (G,) default order of the groups
    candidates: np.ndarray  # (C,)
    n_at_stage: np.ndarray  # (S,) how many groups a row buys at each stage
    scale: float  # ticks in a cost of 1
    total: float  # ticks of everything
    is_regression: bool


class State(NamedTuple):
    """What is known about one row."""

    values: np.ndarray  # (d + b + 4,)
    bought: np.ndarray  # (G,) uint8
    paid: np.ndarray  # (n_units,) uint8
    leaf: np.ndarray  # (t,) uint32, the leaf of each tree of the predictor
    scores: np.ndarray  # (s,)
    gains: np.ndarray  # (C + 1,)
    counts: np.ndarray  # ticks spent, groups bought, stage, phase
    plan: np.ndarray  # (G,) the groups that the present stage buys


class Stops(NamedTuple):
    """Expected advantage of going on over answering now, for each stage and several cost weights, as arrays."""

    forest: PackedForest  # the value of a leaf has an entry for each cost weight
    stage_start: np.ndarray  # (S + 1,) the trees of stage t are stage_start[t] : stage_start[t + 1]
    stage_base: np.ndarray  # (S, n_weights) what the trees of a stage start from


@njit(cache=True, nogil=True)
def groups_above_nodes(nodes, root, group_of):
    """Return for each node which groups the nodes above it split on, as bits: that of group g is g % 64.

    Two groups may share a bit. Then a row searches some leaves again that it already has.
    """
    above, stack = np.zeros(nodes.size, np.uint64), np.empty(nodes.size, np.uint32)
    for tree in range(root.size):
        stack[0], n = root[tree], 1
        while n:
            n -= 1
            node = stack[n]
            left, right = nodes[node].left, nodes[node].right
            if left != node:
                here = above[node] | ONE << (np.uint64(group_of[nodes[node].feature]) % BITS)
                above[left] = above[right] = here
                stack[n], stack[n + 1] = left, right
                n += 2
    return above


# One row


@njit(cache=True, nogil=True)
def n_described(policy):
    """Return the number of features of a state behind its columns."""
    if policy.is_regression:
        return 5
    n_scores = policy.phase_base.shape[1]
    return 6 if n_scores == 1 else n_scores + 5


@njit(cache=True, nogil=True)
def new_state(policy):
    """Return the arrays of a state; `begin` fills them."""
    n_groups = policy.order.size
    return State(
        np.empty(policy.fill.size + n_described(policy)),
        np.empty(n_groups, np.uint8),
        np.empty(policy.unit_ticks.size, np.uint8),
        np.empty(policy.predictor.root.size, np.uint32),
        np.empty(policy.phase_base.shape[1]),
        np.empty(policy.candidates.size + 1),
        np.empty(4),
        np.empty(n_groups, np.int64),
    )


@borrowing(inline="always")
def clear(state):
    """Take all columns and payments from a row; its scores are not changed."""
    state.values[:] = np.nan
    state.bought[:] = 0
    state.paid[:] = 0
    state.counts[:] = 0


@borrowing()
def begin(policy, state):
    """Let a row start without any columns."""
    clear(state)
    enter_phase(policy, state, 0)


@borrowing()
def begin_again(policy, state, start):
    """Let another row start; `start` is the state of a row for which free groups are planned."""
    state.values[:] = np.nan
    for group in range(state.bought.size):
        state.bought[group] = start.bought[group]
        state.plan[group] = start.plan[group]
    for unit in range(state.paid.size):
        state.paid[unit] = start.paid[unit]
    for tree in range(policy.phase_start[1]):
        state.leaf[tree] = start.leaf[tree]
    for k in range(state.scores.size):
        state.scores[k] = start.scores[k]
    for k in range(state.counts.size):
        state.counts[k] = start.counts[k]


@borrowing()
def enter_phase(policy, state, phase):
    """Compute the scores of a row by the trees of a phase."""
    nodes, words, value, root, _, score_of = policy.predictor
    values, leaf, scores = state.values, state.leaf, state.scores
    state.counts[3] = phase
    for k in range(scores.size):
        scores[k] = policy.phase_base[phase, k]
    if policy.is_linear[phase]:
        for column in range(policy.fill.size):
            add_linear(policy, state, phase, column)
    for tree in range(policy.phase_start[phase], policy.phase_start[phase + 1]):
        node = find_leaf(nodes, words, root[tree], values)
        leaf[tree] = node
        for k in range(value.shape[1]):
            scores[score_of[tree, k]] += value[node, k]


@borrowing(inline="always")
def add_linear(policy, state, phase, column):
    """Add the linear terms of a column to the scores, if its value is known."""
    x = state.values[column]
    if np.isfinite(x):
        z = (x - policy.centre[column]) / policy.width[column]
        z = min(max(z, -LIMIT), LIMIT)
        for k in range(state.scores.size):
            state.scores[k] += policy.offset[phase, column, k] + policy.slope[phase, column, k] * z


@borrowing(inline="always")
def phase_of(policy, n_bought):
    """Return the phase of a row that has so many groups."""
    phase = 0
    while n_bought > policy.last_count[phase] and phase < policy.last_count.size - 1:
        phase += 1
    return phase


@borrowing(inline="always")
def find_leaf(nodes, words, node, values):
    """Return the leaf that a row reaches from a node."""
    while nodes[node].left != node:
        x = values[nodes[node].feature]
        if np.isnan(x):
            to_right = nodes[node].missing_right == 1
        elif nodes[node].category_set == 0:
            to_right = x > nodes[node].threshold
        else:
            start = np.uint64(nodes[node].category_set)
            to_right = True
            if 0 <= x < words[start] * 64.0:
                code = np.uint64(x)
                to_right = not (words[start + ONE + code // BITS] >> (code % BITS)) & ONE
        node = nodes[node].right if to_right else nodes[node].left
    return node


@borrowing(inline="always")
def ticks_of(policy, state, group):
    """Return the ticks of the units of a group that a row has not paid."""
    return unpaid_ticks(policy.unit_start, policy.units, policy.unit_ticks, state.paid, group)


@borrowing(inline="always")
def unpaid_ticks(unit_start, units, unit_ticks, paid, group):
    """Return the ticks of the units of a group that are not paid. Loops call it with the arrays, which is faster."""
    ticks = 0.0
    for at in range(unit_start[group], unit_start[group + 1]):
        if not paid[units[at]]:
            ticks += unit_ticks[units[at]]
    return ticks


@borrowing(inline="always")
def pay(policy, state, group):
    """Pay the units of a group."""
    state.counts[0] += ticks_of(policy, state, group)
    state.counts[1] += 1
    state.bought[group] = 1
    for at in range(policy.unit_start[group], policy.unit_start[group + 1]):
        state.paid[policy.units[at]] = 1


@borrowing()
def pay_free(policy, state, n_planned):
    """Plan all groups that cost nothing now; return how many groups are planned."""
    bought, paid = state.bought, state.paid
    unit_start, units, unit_ticks = policy.unit_start, policy.units, policy.unit_ticks
    for group in range(bought.size):
        if not bought[group] and unpaid_ticks(unit_start, units, unit_ticks, paid, group) == 0:
            pay(policy, state, group)
            state.plan[n_planned] = group
            n_planned += 1
    return n_planned


@borrowing(inline="always")
def pay_stage(policy, state, group, cap):
    """Pay for a chosen group, further groups of the default order at late stages, and plan what is then free.

    Return how many groups `state.plan` holds. What a stage buys does not depend on the values that it reads.
    """
    pay(policy, state, group)
    state.plan[0] = group
    n_planned = 1
    for _ in range(policy.n_at_stage[int(state.counts[2])] - 1):
        group = next_in_order(policy, state, cap)
        if group == NOTHING:
            break
        pay(policy, state, group)
        state.plan[n_planned] = group
        n_planned += 1
    state.counts[2] += 1
    return pay_free(policy, state, n_planned) if policy.shares_units else n_planned


@borrowing(inline="always")
def read_groups(policy, state, n_planned, row):
    """Copy the values of the planned groups from a row of X, and update the scores."""
    phase = phase_of(policy, state.counts[1])
    if phase == state.counts[3]:
        for at in range(n_planned):
            read_group(policy, state, state.plan[at], row)
    else:
        for at in range(n_planned):
            copy_values(policy, state, state.plan[at], row)
        enter_phase(policy, state, phase)


@borrowing(inline="always")
def copy_values(policy, state, group, row):
    """Copy the values of a group from a row of X."""
    source, fill, values = policy.source, policy.fill, state.values
    for column in range(policy.column_start[group], policy.column_start[group + 1]):
        x = row[source[column]]
        values[column] = fill[column] if np.isnan(x) else x


@borrowing(inline="always")
def read_group(policy, state, group, row):
    """Copy the values of a group from a row of X, and update the scores.

    A tree can have another leaf now only if a node above its present leaf reads a column of the group.
    """
    copy_values(policy, state, group, row)
    nodes, words, value, root, _, score_of = policy.predictor
    trees, leaf, scores, values, phase = policy.trees, state.leaf, state.scores, state.values, int(state.counts[3])
    groups_above, own_bit = policy.groups_above, ONE << (np.uint64(group) % BITS)
    if policy.is_linear[phase]:
        for column in range(policy.column_start[group], policy.column_start[group + 1]):
            add_linear(policy, state, phase, column)
    for at in range(policy.tree_start[phase, group], policy.tree_start[phase, group + 1]):
        tree = trees[at]
        before = leaf[tree]
        if not groups_above[before] & own_bit:
            continue
        after = find_leaf(nodes, words, root[tree], values)
        if before != after:
            leaf[tree] = after
            for k in range(value.shape[1]):
                scores[score_of[tree, k]] += value[after, k] - value[before, k]


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
def _entropy_term(p):
    return -p * np.log(p) if p > 0 else 0.0


@borrowing(inline="always")
def choose(policy, state):
    """Return the group that a row should buy next, or NOTHING if it has all groups.

    The default group, which is the next of the default order, competes with the candidates. The group with the largest
    expected gain per price is chosen; the default group if no other has a larger one, or if no gain is positive.
    """
    stage = int(state.counts[2])
    if stage < policy.first.size and not state.bought[policy.first[stage]]:
        return _chosen(policy, state, policy.first[stage], _gain_of(policy, state, policy.first[stage]))
    default = next_in_order(policy, state, np.inf)
    if default == NOTHING:
        return NOTHING
    gain = state.gains[policy.candidates.size]
    best = max(gain / ticks_of(policy, state, default), 0.0)
    group, ratio = best_candidate(policy, state, np.inf)
    if ratio > best:
        return _chosen(policy, state, group, _gain_of(policy, state, group))
    return _chosen(policy, state, default, gain)


@borrowing()
def choose_within(policy, state, cap):
    """Return the group that a row buys if it cannot pay for the one that it should buy; NOTHING if it can pay for none.

    It is the candidate with the largest expected gain per price, or the first group of the default order.
    """
    group, ratio = best_candidate(policy, state, cap)
    if ratio > 0:
        return _chosen(policy, state, group, _gain_of(policy, state, group))
    group = next_in_order(policy, state, cap)
    return group if group == NOTHING else _chosen(policy, state, group, 0.0)


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
def _chosen(policy, state, group, gain):
    """Write the expected gain of a chosen group and its price into the state, and return the group."""
    n_values = state.values.size
    state.values[n_values - 2] = gain
    state.values[n_values - 1] = ticks_of(policy, state, group) / policy.total
    return group


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
def _gain_of(policy, state, group):
    """Return the expected gain of a group; that of the default group if it is not a candidate."""
    for c in range(policy.candidates.size):
        if policy.candidates[c] == group:
            return state.gains[c]
    return state.gains[policy.candidates.size]


@borrowing(inline="always")
def next_in_order(policy, state, cap):
    """Return the first group of the default order that a row does not have and can pay for, or NOTHING."""
    order, bought, spent, scale = policy.order, state.bought, state.counts[0], policy.scale
    unit_start, units, unit_ticks, paid = policy.unit_start, policy.units, policy.unit_ticks, state.paid
    for at in range(order.size):
        group = order[at]
        if not bought[group] and (spent + unpaid_ticks(unit_start, units, unit_ticks, paid, group)) / scale <= cap:
            return group
    return NOTHING


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


# Many rows


@njit(cache=True, nogil=True)
def start_row(policy):
    """Return the state of a new row, and how many groups are planned: those that are free."""
    state = new_state(policy)
    begin(policy, state)
    return state, pay_free(policy, state, 0)


@njit(cache=True, nogil=True)
def simulate_rows(policy, X, rows, forced, until, first, last, scores, described, ticks, stage_of):
    """Let rows[first..last] buy without stopping, and record every stage.

    forced      (n, S) group to buy at a stage instead of the chosen one, or NOTHING
    until       (n,) how many stages to walk
    scores      (n, S + 1, s) scores before each stage and at the end
    described   (n, S + 1, b + 4) features behind the columns
    ticks       (n, S + 1) ticks spent before each stage and at the end
    stage_of    (n, G) the stage after which a row has each group: 0 if it is free, 1 if the first stage buys it
    """
    (start, n_planned), state = start_row(policy), new_state(policy)
    for i in range(first, last):
        begin_again(policy, state, start)
        stage_of[i] = policy.n_at_stage.size + 1
        outputs = scores[i], described[i], ticks[i], stage_of[i]
        simulate_row(policy, state, n_planned, X[rows[i]], forced[i], until[i], *outputs)


@borrowing()
def simulate_row(policy, state, n_planned, row, forced, until, scores, described, ticks, stage_of):
    """Let a row that starts buy without stopping; the arrays are those of the row."""
    d = policy.fill.size
    for stage in range(until + 1):
        read_groups(policy, state, n_planned, row)
        for at in range(n_planned):
            stage_of[state.plan[at]] = stage
        describe(policy, state)
        group = choose(policy, state)
        n_planned, wanted = 0, NOTHING
        if stage < until:
            wanted = forced[stage]
        if wanted != NOTHING and not state.bought[wanted]:
            group = _chosen(policy, state, wanted, _gain_of(policy, state, wanted))
        ticks[stage] = state.counts[0]
        for k in range(scores.shape[1]):
            scores[stage, k] = state.scores[k]
        for k in range(described.shape[1]):
            described[stage, k] = state.values[d + k]
        if stage < until and group != NOTHING:
            n_planned = pay_stage(policy, state, group, np.inf)


@njit(cache=True, nogil=True)
def gains_of_groups(policy, groups, X, rows, bought, targets, error_costs, kind, first, last, gains, prices, described):
    """Write by how much the loss of states first..last falls if they buy one further group, in the phase of the state.

    rows       (n,) row of X of each state            bought    (n, G) groups that it has
    gains      (n, len(groups) + 1) decrease of the loss by each group, and by the default group; NaN if there is none
    prices     (n, len(groups) + 1) what each group costs in this state, in ticks
    described  (n, b + 4) features behind the columns; the last two are not meaningful
    """
    d = policy.fill.size
    state, before = new_state(policy), new_state(policy)
    for i in range(first, last):
        row, target = X[rows[i]], targets[rows[i]]
        enter_state(policy, state, bought[i], row)
        described[i] = state.values[d:]
        before.leaf[:], before.scores[:], before.values[:] = state.leaf, state.scores, state.values
        loss, default = loss_of(state.scores, target, error_costs, kind), next_in_order(policy, state, np.inf)
        for c in range(groups.size + 1):
            group = groups[c] if c < groups.size else default
            gains[i, c] = prices[i, c] = np.nan
            if group != NOTHING and not bought[i, group]:
                prices[i, c] = read_tentatively(policy, state, group, row)
                gains[i, c] = loss - loss_of(state.scores, target, error_costs, kind)
                forget(policy, state, group, before)


@borrowing()
def enter_state(policy, state, bought, row):
    """Let a row have bought some groups, and describe it."""
    clear(state)
    for group in range(bought.size):
        if bought[group]:
            pay(policy, state, group)
            copy_values(policy, state, group, row)
    enter_phase(policy, state, phase_of(policy, state.counts[1]))
    describe(policy, state)


@borrowing()
def read_tentatively(policy, state, group, row):
    """Read a group without paying for it, and return its price in ticks."""
    read_group(policy, state, group, row)
    return ticks_of(policy, state, group)


@borrowing()
def forget(policy, state, group, before):
    """Take the values of a group from a state that was equal to `before`."""
    phase = int(state.counts[3])
    for k in range(state.scores.size):
        state.scores[k] = before.scores[k]
    for column in range(policy.column_start[group], policy.column_start[group + 1]):
        state.values[column] = before.values[column]
    for at in range(policy.tree_start[phase, group], policy.tree_start[phase, group + 1]):
        state.leaf[policy.trees[at]] = before.leaf[policy.trees[at]]


@njit(cache=True, nogil=True)
def losses_of(scores, targets, error_costs, kind, out):
    """Write the losses (n, m) of scores (n, m, s) of rows with these targets (n,)."""
    for i in range(scores.shape[0]):
        for t in range(scores.shape[1]):
            out[i, t] = loss_of(scores[i, t], targets[i], error_costs, kind)


@njit(cache=True, nogil=True)
def loss_of(scores, target, error_costs, kind):
    """Return the loss of the scores of a row.

    LOG_LOSS: -log of the probability of the class `target`. SQUARED_LOSS: half the squared error. ERROR_COSTS: the
    cost of the answer with the smallest expected cost, error_costs[true class, answer].
    """
    if kind == SQUARED_LOSS:
        return 0.5 * (scores[0] - target) ** 2
    truth = int(target)
    if kind == LOG_LOSS and scores.size == 1:
        signed = scores[0] if truth == 1 else -scores[0]
        return np.log1p(np.exp(-signed)) if signed > 0 else np.log1p(np.exp(signed)) - signed
    n_classes = max(scores.size, 2)
    p = np.empty(n_classes)
    if scores.size == 1:
        p[1] = 1.0 / (1.0 + np.exp(-scores[0]))
        p[0] = 1.0 - p[1]
    else:
        p[:] = np.exp(scores - scores.max())
        p /= p.sum()
    if kind == LOG_LOSS:
        return -np.log(max(p[truth], SMALLEST_PROBABILITY))
    best, least = 0, np.inf
    for answer in range(error_costs.shape[1]):
        expected = 0.0
        for k in range(n_classes):
            expected += p[k] * error_costs[k, answer]
        if expected < least:
            best, least = answer, expected
    return error_costs[truth, best]


# Fitting


@njit(cache=True, nogil=True)
def mask_codes(codes, rows, group_of, bought, first, last, missing, out):
    """Copy the codes (n_blocks, n, 8) of some rows; columns that are not bought get the code of missing values.

    group_of    (d,) the group of each column        bought    (len(rows), G) groups that each row has
    """
    for block in range(first, last):
        for r in range(rows.size):
            for c in range(min(8, group_of.size - 8 * block)):
                has = bought[r, group_of[8 * block + c]]
                out[block, r, c] = codes[block, rows[r], c] if has else missing


@njit(cache=True, nogil=True)
def step_numbers(leaves, residual, known, weight, ridge, rate, steps):
    """Write `rate` times the mean residuals of each leaf into `steps` (n_nodes, k), and subtract them from its rows."""
    for at in range(leaves.node.size):
        step = steps[leaves.node[at]]
        own = leaves.bag[leaves.bag_span[at, 0] : leaves.bag_span[at, 1]]
        leaf_means(own, residual, known, weight, ridge, step)
        step *= rate
        subtract_steps(own, step, known, residual)
        subtract_steps(leaves.rest[leaves.rest_span[at, 0] : leaves.rest_span[at, 1]], step, known, residual)


@njit(cache=True, nogil=True)
def leaf_means(rows, residual, known, weight, ridge, out):
    """Write the mean residual of each output over the rows of a leaf; `ridge` counts as rows with a residual of 0."""
    total = np.full(out.size, ridge)
    out[:] = 0.0
    for r in rows:
        for k in range(out.size):
            if known[r, k]:
                out[k] += weight[r] * residual[r, k]
                total[k] += weight[r]
    for k in range(out.size):
        out[k] = out[k] / total[k] if total[k] > 0 else 0.0


@njit(cache=True, nogil=True)
def subtract_steps(rows, step, known, residual):
    """Subtract the step of a leaf from the known residuals of its rows."""
    for r in rows:
        for k in range(step.size):
            if known[r, k]:
                residual[r, k] -= step[k]


@njit(cache=True, nogil=True)
def add_leaves(forest, values, first, last, out):
    """Add the values of the leaves that states (n, n_features) reach to `out` (n, n_outputs)."""
    nodes, words, value, root, _, _ = forest
    for i in range(first, last):
        state = values[i]
        for tree in range(root.size):
            leaf = find_leaf(nodes, words, root[tree], state)
            for k in range(value.shape[1]):
                out[i, k] += value[leaf, k]
