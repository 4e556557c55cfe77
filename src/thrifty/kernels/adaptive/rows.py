"""Purchases of new rows: one step of a session, or all steps of many rows.

Policies, stops and states are blocks of memory; see `thrifty.kernels.adaptive.memory`.
"""

from thrifty.kernels.adaptive.knowledge import begin_again, read_groups
from thrifty.kernels.adaptive.memory import policy_in, state_in, stops_in
from thrifty.kernels.adaptive.payments import pay_stage
from thrifty.kernels.adaptive.purchases import decide, expect_gains
from thrifty.kernels.adaptive.structures import NOTHING, borrowing


@borrowing()
def go_on(policy_memory, stops_memory, column, share, cap, state_memory, n_planned, row):
    """Read the planned groups, decide what to buy next, and pay for it.

    Return the group as `decide` does, the expected advantage of going on, the expected gain of the group, how many
    groups are planned now, and the ticks that the row has spent.
    """
    policy, stops, state = policy_in(policy_memory), stops_in(stops_memory), state_in(state_memory)
    read_groups(policy, state, n_planned, row)
    if state.counts[2] == policy.n_at_stage.size:
        return NOTHING, 0.0, 0.0, 0, state.counts[0]
    group, going_on = decide(policy, stops, column, share, cap, state)
    if group < 0:
        return group, going_on, 0.0, 0, state.counts[0]
    if policy.candidates.size:
        gain = state.values[state.values.size - 2]
    else:  # the group was chosen without it
        expect_gains(policy, state)
        gain = state.gains[0]
    n_planned = pay_stage(policy, state, group, cap)
    return group, going_on, gain, n_planned, state.counts[0]


@borrowing()
def run_rows(
    policy_memory,
    stops_memory,
    start_memory,
    state_memory,
    n_planned,
    column,
    share,
    X,
    caps,
    first,
    last,
    scores,
    bought,
    ticks,
    exits,
):
    """Let rows first..last buy until going on is not worth its cost, and write their outcome.

    `start_memory` is the state of a row for which `n_planned` free groups are planned, and `state_memory` a copy of it,
    which changes.
    """
    policy, stops = policy_in(policy_memory), stops_in(stops_memory)
    start, state = state_in(start_memory), state_in(state_memory)
    for i in range(first, last):
        begin_again(policy, state, start)
        run_row(policy, stops, column, share, caps[i], state, n_planned, X[i])
        for k in range(scores.shape[1]):
            scores[i, k] = state.scores[k]
        for group in range(bought.shape[1]):
            bought[i, group] = state.bought[group]
        ticks[i], exits[i] = state.counts[0], int(state.counts[2])


@borrowing()
def run_row(policy, stops, column, share, cap, state, n_planned, row):
    """Let a row that starts buy until going on is not worth its cost."""
    read_groups(policy, state, n_planned, row)
    while state.counts[2] < policy.n_at_stage.size:
        group, _ = decide(policy, stops, column, share, cap, state)
        if group < 0:
            break
        read_groups(policy, state, pay_stage(policy, state, group, cap), row)
