"""Kernels of the adaptive model against plain loops, on random forests and random costs."""

import numpy as np
import pytest

from kernels.purchase_policies import CATEGORICAL, CODES, N_COLUMNS, random_policy, random_trees
from reference import adaptive as reference
from thrifty.kernels.adaptive.fitting import leaf_means, mask_codes, step_numbers, subtract_steps
from thrifty.kernels.adaptive.forests import add_leaves, groups_above_nodes
from thrifty.kernels.adaptive.losses import ERROR_COSTS, LOG_LOSS, SQUARED_LOSS, loss_of, losses_of
from thrifty.kernels.adaptive.rows import run_rows
from thrifty.kernels.adaptive.simulation import gains_of_groups, simulate_rows
from thrifty.kernels.adaptive.structures import EVERYTHING, NODE, NOTHING, UNAFFORDABLE
from thrifty.kernels.tree_rows import Leaves
from thrifty.models.adaptive.policy import packed

CAPS = [0.0, 3.0, 6.0, 9.0, 12.0, 20.0, np.inf]
# Column of cost weights, and share of the next one
POINTS = [(0, 0.0), (0, 0.6), (1, 0.3), (1, 1.0), (1, EVERYTHING), (NOTHING, 0.0)]
KINDS = [(1, False), (4, False), (1, True)]  # number of scores, and whether they are predicted numbers
CASES = [(seed, *KINDS[seed % 3]) for seed in range(9)]
ERRORS = np.array([[0.0, 3.0, 1.0, 4.0], [9.0, 0.0, 2.0, 3.0], [5.0, 1.0, 0.0, 1.0], [7.0, 2.0, 2.0, 0.0]])


@pytest.fixture(scope="module")
def problems():
    return [random_policy(*case) for case in CASES]


def run(case, column, share, caps, first=0, last=None):
    n, n_scores = len(case.X), case.policy.n_scores
    scores, ticks = np.full((n, n_scores), np.nan), np.full(n, np.nan)
    bought, exits = np.zeros((n, len(case.factors)), dtype=np.uint8), np.full(n, -9)
    last = n if last is None else last
    start, n_planned = case.policy.start[:2]
    fixed = case.policy.memory, case.rule.memory, start, start.copy(), n_planned, column, share, case.X, caps
    run_rows(*fixed, first, last, scores, bought, ticks, exits)
    return scores, bought, case.factors.spend(ticks), exits


def test_rows_buy_what_the_reference_buys(problems):
    ends, out_of_order = set(), 0
    for case in problems:
        caps = np.resize(CAPS, len(case.X))
        for column, share in POINTS:
            scores, bought, spend, exits = run(case, column, share, caps)
            for i, x in enumerate(case.sorted_X):
                groups, stage, end = reference.run(case.plain, case.plain_stops, column, share, x, caps[i])
                assert set(np.flatnonzero(bought[i])) == set(groups)
                assert (spend[i], exits[i]) == (reference.spend(case.plain, groups), stage)
                assert scores[i].tolist() == reference.scores_of(case.plain, x, groups)
                assert spend[i] <= caps[i]
                ends.add((end, stage == len(case.plain.n_at_stage)))
                in_order = [group for group in case.plain.order if group in groups]
                out_of_order += [group for group in groups if group in in_order] != in_order
    assert ends == {(NOTHING, False), (NOTHING, True), (UNAFFORDABLE, False)}
    assert out_of_order > 100


def test_only_the_rows_asked_for_are_run(problems):
    case = problems[0]
    caps = np.full(len(case.X), np.inf)
    whole, part = run(case, 1, 0.5, caps), run(case, 1, 0.5, caps, 7, 12)
    for all_rows, some in zip(whole, part, strict=True):
        np.testing.assert_array_equal(some[7:12], all_rows[7:12])
    assert np.isnan(part[0][:7]).all()
    assert np.isnan(part[0][12:]).all()


def simulate(case, rows, forced, until):
    policy, n, n_stages = case.policy, len(rows), case.policy.n_stages
    shape = (n, n_stages + 1)
    scores, described = np.zeros((*shape, policy.n_scores)), np.zeros((*shape, policy.n_described))
    ticks, stage_of = np.zeros(shape), np.zeros((n, len(case.factors)), dtype=np.int64)
    outputs = scores, described, ticks, stage_of
    simulate_rows(policy.training_arrays, case.sorted_X, rows, forced, until, 0, n, *outputs)
    return scores, described, case.factors.spend(ticks), stage_of


def test_simulated_rows_walk_as_in_the_reference(problems):
    n_forced = 0
    for case in problems:
        random, n_groups, n_stages = case.random, len(case.factors), case.policy.n_stages
        rows = random.integers(0, len(case.X), 30)
        forced = random.integers(0, n_groups, (30, n_stages))
        forced[random.random(forced.shape) < 0.6] = NOTHING
        until = random.integers(0, n_stages + 1, 30)
        scores, described, spend, stage_of = simulate(case, rows, forced, until)
        for i, row in enumerate(rows):
            x = case.sorted_X[row]
            history = reference.simulate(case.plain, x, forced[i].tolist(), int(until[i]))
            for stage, (groups, group, gain) in enumerate(history):
                assert scores[i, stage].tolist() == reference.scores_of(case.plain, x, groups)
                assert spend[i, stage] == reference.spend(case.plain, groups)
                assert set(np.flatnonzero(stage_of[i] <= stage)) == set(groups)
                expected = np.array(reference.described(case.plain, x, groups, group, gain)[N_COLUMNS:])
                known = slice(None) if group != NOTHING else slice(-2)  # nothing is left to buy
                np.testing.assert_allclose(described[i, stage][known], expected[known], rtol=1e-12, atol=1e-15)
                n_forced += stage < until[i] and group == forced[i, stage]
    assert n_forced > 100


def test_free_groups_are_bought_before_the_first_stage(problems):
    n_free = 0
    for case in problems:
        rows = np.arange(len(case.X))
        forced = np.full((len(rows), case.policy.n_stages), NOTHING)
        *_, stage_of = simulate(case, rows, forced, np.full(len(rows), case.policy.n_stages))
        assert (stage_of[:, case.factors.free] == 0).all()
        assert (np.delete(stage_of, case.factors.free, axis=1) > 0).all()
        assert (stage_of <= case.policy.n_stages).all()
        n_free += len(case.factors.free)
    assert n_free > 0


def loss_kinds(case):
    """The losses that suit a policy: the kernel's kind, error costs, targets, and the loss in the reference."""
    targets = case.random.integers(0, max(case.policy.n_scores, 2), len(case.X)).astype(float)
    if case.policy.is_regression:
        return [(SQUARED_LOSS, ERRORS, case.random.normal(size=len(case.X)), reference.squared_loss)]
    costs = np.ascontiguousarray(ERRORS[: max(case.policy.n_scores, 2), : max(case.policy.n_scores, 2)])

    def error_cost(scores, target):
        return reference.error_cost(scores, target, costs.tolist())

    return [(LOG_LOSS, costs, targets, reference.log_loss), (ERROR_COSTS, costs, targets, error_cost)]


def test_gains_are_differences_of_two_predictions(problems):
    for case in problems:
        policy, random = case.policy, case.random
        rows, n_groups = random.integers(0, len(case.X), 25), len(case.factors)
        bought = (random.random((25, n_groups)) < random.random((25, 1))).astype(np.uint8)
        bought[0] = 1
        groups = random.permutation(n_groups)[: n_groups - 1]
        for kind, costs, targets, loss in loss_kinds(case):
            gains, prices = np.zeros((25, len(groups) + 1)), np.zeros((25, len(groups) + 1))
            described = np.zeros((25, policy.n_described))
            arrays = policy.training_arrays
            fixed = arrays, groups, case.sorted_X, rows, bought, targets, costs, kind
            gains_of_groups(*fixed, 0, 25, gains, prices, described)
            for i, row in enumerate(rows):
                x, has, target = case.sorted_X[row], np.flatnonzero(bought[i]).tolist(), targets[row]
                state = reference.state(case.plain, x, has)
                np.testing.assert_allclose(described[i, :-2], state[N_COLUMNS:], rtol=1e-12)
                for c, group in enumerate([*groups, reference.next_in_order(case.plain, has)]):
                    if group == NOTHING or group in has:
                        assert np.isnan(gains[i, c])
                        assert np.isnan(prices[i, c])
                        continue
                    expected = reference.one_step_gain(
                        case.plain, x, has, group, lambda scores, target=target, loss=loss: loss(scores, target)
                    )
                    np.testing.assert_allclose(gains[i, c], expected, rtol=1e-9, atol=1e-12)
                    assert case.factors.spend(prices[i, c]) == reference.price(case.plain, has, group)


@pytest.mark.parametrize("n_scores", [1, 4])
def test_losses_equal_the_reference(n_scores):
    random = np.random.default_rng(n_scores)
    n_classes = max(n_scores, 2)
    scores, targets = 2 * random.normal(size=(30, 3, n_scores)), random.integers(0, n_classes, 30).astype(float)
    costs = np.ascontiguousarray(ERRORS[:n_classes, :n_classes])
    for kind, expected in (
        (LOG_LOSS, reference.log_loss),
        (SQUARED_LOSS, reference.squared_loss),
        (ERROR_COSTS, lambda s, target: reference.error_cost(s, target, costs.tolist())),
    ):
        out = np.empty((30, 3))
        losses_of(scores, targets, costs, kind, out)
        for i, line in enumerate(scores):
            for t, each in enumerate(line):
                np.testing.assert_allclose(out[i, t], expected(each.tolist(), targets[i]), rtol=1e-9)
                assert out[i, t] == loss_of(each, targets[i], costs, kind)


def test_losses_of_certain_and_wrong_answers_are_finite():
    for target, score in ((0.0, 800.0), (1.0, -800.0)):
        assert loss_of(np.array([score]), target, ERRORS, LOG_LOSS) == pytest.approx(800.0)
    assert loss_of(np.array([800.0]), 1.0, ERRORS, LOG_LOSS) == 0.0
    assert loss_of(np.array([900.0, 0.0, 0.0]), 1.0, ERRORS, LOG_LOSS) == pytest.approx(-np.log(1e-12))


def test_error_costs_are_those_of_the_cheapest_answer_not_of_the_likeliest_class():
    costs = np.array([[0.0, 1.0], [10.0, 0.0]])
    unlikely = np.array([-1.0])  # 27% for the second class, which is expensive to miss
    assert loss_of(unlikely, 0.0, costs, ERROR_COSTS) == 1.0
    assert loss_of(unlikely, 1.0, costs, ERROR_COSTS) == 0.0


@pytest.mark.parametrize("n_columns", [5, 8, 19])
def test_codes_are_masked_by_group(n_columns):
    random, n_groups = np.random.default_rng(n_columns), 4
    n_blocks, missing = (n_columns + 7) // 8, 255
    codes = random.integers(0, 255, (n_blocks, 12, 8)).astype(np.uint8)
    group_of, rows = random.integers(0, n_groups, n_columns), random.integers(0, 12, 20)
    bought = random.random((20, n_groups)) < 0.5
    out = np.zeros((n_blocks, 20, 8), dtype=np.uint8)
    mask_codes(codes, rows, group_of, bought, 0, n_blocks, np.uint8(missing), out)
    for r, row in enumerate(rows):
        for j in range(8 * n_blocks):
            if j >= n_columns:
                expected = 0
            elif bought[r, group_of[j]]:
                expected = codes[j // 8, row, j % 8]
            else:
                expected = missing
            assert out[j // 8, r, j % 8] == expected


def test_leaves_of_many_outputs_are_added():
    random = np.random.default_rng(0)
    plain, forest = random_trees(random, 9, N_COLUMNS, [0.5, -1.0, 2.0], 3, CATEGORICAL)
    states = random.normal(size=(20, N_COLUMNS))
    states[:, CATEGORICAL] = random.choice([*CODES, 5, 200, -1], size=(20, 2))
    states[random.random(states.shape) < 0.2] = np.nan
    out = np.tile(forest.base, (20, 1))
    add_leaves(packed(forest), states, 4, 20, out)
    assert (out[:4] == forest.base).all()
    assert out[4:].tolist() == [reference.sums(plain, state) for state in states[4:]]


def test_means_of_leaves_count_known_residuals_only():
    random = np.random.default_rng(0)
    residual, weight = random.normal(size=(10, 3)), random.uniform(1, 2, 10)
    known = random.random((10, 3)) < 0.6
    known[:, 2] = False
    rows = np.array([1, 2, 5, 8, 9], dtype=np.uint32)
    for ridge in (0.0, 3.0):
        out = np.full(3, 99.0)
        leaf_means(rows, residual, known, weight, ridge, out)
        for k in range(3):
            counted = [r for r in rows if known[r, k]]
            total = sum(weight[r] for r in counted) + ridge
            expected = sum(weight[r] * residual[r, k] for r in counted) / total if total else 0.0
            assert out[k] == pytest.approx(expected)


def test_steps_are_subtracted_from_known_residuals_of_the_leaf():
    random = np.random.default_rng(0)
    residual, known = random.normal(size=(6, 2)), random.random((6, 2)) < 0.5
    before, step, rows = residual.copy(), np.array([0.25, -0.5]), np.array([0, 3, 4], dtype=np.uint32)
    subtract_steps(rows, step, known, residual)
    expected = before - np.where(np.isin(np.arange(6), rows)[:, None] & known, step, 0.0)
    np.testing.assert_array_equal(residual, expected)


def test_every_leaf_makes_its_own_step():
    random = np.random.default_rng(1)
    residual, known, weight = random.normal(size=(8, 2)), random.random((8, 2)) < 0.7, random.uniform(1, 2, 8)
    bag, rest = np.array([5, 0, 3, 7], dtype=np.uint32), np.array([2, 6], dtype=np.uint32)
    leaves = Leaves(np.array([1, 2]), np.array([[0, 3], [3, 4]]), np.array([[0, 1], [1, 2]]), bag, rest)
    before, steps, mean = residual.copy(), np.zeros((3, 2)), np.empty(2)
    step_numbers(leaves, residual, known, weight, 2.0, 0.5, steps)
    assert (steps[0] == 0).all()
    for node, own, others in ((1, bag[:3], rest[:1]), (2, bag[3:], rest[1:])):
        leaf_means(own, before, known, weight, 2.0, mean)
        np.testing.assert_allclose(steps[node], 0.5 * mean)
        for row in (*own, *others):
            np.testing.assert_allclose(residual[row], before[row] - np.where(known[row], steps[node], 0.0))
    np.testing.assert_array_equal(residual[[1, 4]], before[[1, 4]])  # rows of no leaf


def test_groups_above_a_node_are_those_of_the_splits_on_the_way_to_it():
    #          0: column 0           columns 0 and 1 are group 0, column 2 is group 1, column 3 is group 65
    #     4: column 2    1: leaf
    #  3: leaf  2: column 3
    #           5: leaf  6: leaf
    nodes = np.zeros(7, dtype=NODE)
    for leaf in (1, 3, 5, 6):
        nodes["left"][leaf] = nodes["right"][leaf] = leaf
    for node, feature, left, right in ((0, 0, 4, 1), (4, 2, 3, 2), (2, 3, 5, 6)):
        nodes["feature"][node], nodes["left"][node], nodes["right"][node] = feature, left, right
    above = groups_above_nodes(nodes, np.array([0], dtype=np.uint32), np.array([0, 0, 1, 65]))
    assert above.tolist() == [0, 0b1, 0b11, 0b11, 0b1, 0b11, 0b11]
