"""Training rows that buy without stopping, and the gains of further groups in any state."""

import numpy as np
from numba import njit

from thrifty.kernels.adaptive.knowledge import (
    begin,
    begin_again,
    clear,
    copy_values,
    enter_phase,
    phase_of,
    read_group,
    read_groups,
)
from thrifty.kernels.adaptive.losses import loss_of
from thrifty.kernels.adaptive.payments import next_in_order, pay, pay_free, pay_stage, ticks_of
from thrifty.kernels.adaptive.purchases import choose, describe, gain_of, record_choice
from thrifty.kernels.adaptive.structures import NOTHING, borrowing, new_state


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
            group = record_choice(policy, state, wanted, gain_of(policy, state, wanted))
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
