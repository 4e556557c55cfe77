"""What a row knows: the values of the columns that it has bought, and the scores of the predictor."""

import numpy as np

from thrifty.kernels.adaptive.forests import find_leaf
from thrifty.kernels.adaptive.structures import borrowing
from thrifty.kernels.forest import BITS, ONE

LIMIT = 3.0  # of a standardised value in the linear part of the scores


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


@borrowing(inline="always")
def clear(state):
    """Take all columns and payments from a row; its scores are not changed."""
    state.values[:] = np.nan
    state.bought[:] = 0
    state.paid[:] = 0
    state.counts[:] = 0


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
def copy_values(policy, state, group, row):
    """Copy the values of a group from a row of X."""
    source, fill, values = policy.source, policy.fill, state.values
    for column in range(policy.column_start[group], policy.column_start[group + 1]):
        x = row[source[column]]
        values[column] = fill[column] if np.isnan(x) else x


@borrowing(inline="always")
def phase_of(policy, n_bought):
    """Return the phase of a row that has so many groups."""
    phase = 0
    while n_bought > policy.last_count[phase] and phase < policy.last_count.size - 1:
        phase += 1
    return phase


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
