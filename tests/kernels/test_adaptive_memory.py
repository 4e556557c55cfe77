"""Blocks of memory against the arrays that were copied into them."""

import numpy as np
import pytest

from kernels.purchase_policies import random_policy
from thrifty.kernels.adaptive.memory import as_memory, policy_in, state_in, stops_in
from thrifty.kernels.adaptive.structures import borrowing


@borrowing()
def sums_of_policy(memory, out):
    policy = policy_in(memory)
    for k in range(policy.slope.shape[2]):
        out[0] += policy.slope[0, -1, k] + policy.offset[1, 2, k] + policy.phase_base[1, k]
    for group in range(policy.order.size):
        out[1] += policy.order[group] * policy.tree_start[1, group] + policy.column_start[group]
    for node in range(policy.gains.nodes.size):
        out[2] += policy.gains.nodes[node].feature + policy.gains.value[node, 0]
    out[3] = policy.scale + policy.total + 10 * policy.is_regression + 100 * policy.shares_units


@borrowing()
def change_state(memory):
    state = state_in(memory)
    state.scores[0], state.plan[1], state.bought[2] = 2.5, 7, 1


@borrowing()
def last_of_stops(memory):
    stops = stops_in(memory)
    return stops.stage_base[-1, -1] + stops.stage_start[-1] + stops.forest.root[-1]


@pytest.mark.parametrize(("n_scores", "is_regression"), [(1, False), (4, False), (1, True)])
def test_kernels_find_the_arrays_in_memory(n_scores, is_regression):
    case, out = random_policy(5, n_scores, is_regression), np.zeros(4)
    policy, stops = case.policy.arrays, case.rule.arrays
    sums_of_policy(case.policy.memory, out)
    expected = [
        policy.slope[0, -1].sum() + policy.offset[1, 2].sum() + policy.phase_base[1].sum(),
        (policy.order * policy.tree_start[1, :-1] + policy.column_start[:-1]).sum(),
        policy.gains.nodes["feature"].sum(dtype=float) + policy.gains.value[:, 0].sum(),
        policy.scale + policy.total + 10 * is_regression + 100 * policy.shares_units,
    ]
    np.testing.assert_allclose(out, expected)
    assert last_of_stops(case.rule.memory) == stops.stage_base[-1, -1] + stops.stage_start[-1] + stops.forest.root[-1]


def test_a_copy_of_the_start_changes_alone():
    start = random_policy(0, 1, False).policy.start
    changed = start.memory.copy()
    change_state(changed)
    assert changed[start.scores].view(np.float64)[0] == 2.5
    assert changed[start.plan].view(np.int64)[1] == 7
    assert start.memory[start.scores].view(np.float64)[0] != 2.5


def test_empty_arrays_and_numbers_have_a_place():
    parts = np.empty(0), 3.5, (np.arange(6).reshape(2, 3), True)
    memory = as_memory(parts)
    first = memory[:160].view(np.int64).reshape(4, 5)
    assert first[:, 2:].tolist() == [[0, 1, 1], [1, 1, 1], [2, 3, 1], [1, 1, 1]]
    assert memory[first[1, 0] : first[1, 1]].view(np.float64).tolist() == [3.5]
    assert memory[first[2, 0] : first[2, 1]].view(np.int64).tolist() == list(range(6))
