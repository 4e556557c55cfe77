"""Expected gains, and the groups that are worth buying out of the default order."""

import numpy as np
import pytest

from models.adaptive.problems import policy_of, training_rows
from thrifty.models.adaptive.gains import fit_gains, no_gains, restricted, state_outputs, state_values
from thrifty.models.adaptive.simulation import n_described_of
from thrifty.models.forests.forest import LEAF, Tree

N, SURE = 1500, 4.0
LOSS = np.log1p(np.exp(-SURE))  # of a sure and right answer
GROUPS = np.array([0, 1, 2])  # all but the switch, which every state has


def switch_problem(costs):
    """Column 3 tells which of the columns 0 and 1 holds the class; column 2 is random."""
    random = np.random.default_rng(0)
    y, switch = random.integers(0, 2, N), random.integers(0, 2, N)
    X = random.integers(0, 2, (N, 3)).astype(float)
    X[np.arange(N), switch] = y
    return training_rows(np.column_stack([X, switch]), y, costs)


def right_tree(first, second):
    """A tree that reads the switch, and then the column that it names; without one of them it answers 0."""

    def leaf(value):
        return (LEAF, 0.0, 0, 0, value, True)

    # 0 switch; 1 and 4: is the column known? A known column goes right, because NaN goes left at -infinity.
    nodes = [
        (3, 0.5, 1, 6, 0.0, True),
        (first, -np.inf, 2, 3, 0.0, True),
        leaf(0.0),
        (first, 0.5, 4, 5, 0.0, True),
        leaf(-SURE),
        leaf(SURE),
        (second, -np.inf, 7, 8, 0.0, True),
        leaf(0.0),
        (second, 0.5, 9, 10, 0.0, True),
        leaf(-SURE),
        leaf(SURE),
    ]
    return Tree(*(np.array(column) for column in zip(*nodes, strict=True)))


def fitted(costs, order=(3, 0, 1, 2)):
    rows = switch_problem(costs)
    policies = [policy_of(rows, [right_tree(0, 1)], 0.0, list(order)).training_arrays] * rows.n_folds
    bought = np.zeros((N, 4), dtype=bool)
    bought[:, 3] = True
    gains, worthwhile = fit_gains(rows, policies, GROUPS, np.arange(N), bought)
    return rows, bought, gains, worthwhile


def described(bought):
    """Probability, entropy, number of groups, share of the costs: what is known after the switch alone."""
    return np.tile([0.5, np.log(2), 1.0, 0.25], (len(bought), 1))


@pytest.fixture(scope="module")
def equal_prices():
    return fitted(np.ones(4))


def test_expected_gains_depend_on_the_state(equal_prices):
    rows, bought, gains, _ = equal_prices
    expected = state_outputs(gains.of_all, state_values(rows, np.arange(N), bought, described(bought)))
    on, full = rows.X[:, 3] == 1, np.log(2) - LOSS
    # The gains are those of groups 0, 1 and 2, and of the default group, which is 0.
    np.testing.assert_allclose(expected[~on].mean(axis=0), [full, 0, 0, full], atol=0.05)
    np.testing.assert_allclose(expected[on].mean(axis=0), [0, full, 0, 0], atol=0.05)
    assert len(gains.of_fold) == rows.n_folds


def test_only_a_group_that_beats_the_default_group_is_worthwhile(equal_prices):
    *_, gains, worthwhile = equal_prices
    assert gains.candidates[worthwhile].tolist() == [1]
    assert fitted(np.ones(4), order=(3, 1, 0, 2))[3].tolist() == [0]


def stump(column, value):
    """A tree that reads one column; if it is not known, the answer is 0."""
    nodes = [
        (column, -np.inf, 1, 2, 0.0, True),
        (LEAF, 0.0, 0, 0, 0.0, True),
        (column, 0.5, 3, 4, 0.0, True),
        (LEAF, 0.0, 0, 0, -value, True),
        (LEAF, 0.0, 0, 0, value, True),
    ]
    return Tree(*(np.array(column) for column in zip(*nodes, strict=True)))


@pytest.mark.parametrize(("price", "expected"), [(1.0, [1]), (5.0, [])])
def test_gains_count_per_price(price, expected):
    """Column 1 says more than column 0, which is the default."""
    y = np.arange(N) % 2
    rows = training_rows(np.column_stack([y, y]), y, [1.0, price])
    policies = [policy_of(rows, [stump(0, 1.0), stump(1, 2.0)], 0.0, [0, 1]).training_arrays] * rows.n_folds
    nothing = np.zeros((N, 2), dtype=bool)
    gains, worthwhile = fit_gains(rows, policies, np.array([0, 1]), np.arange(N), nothing)
    assert worthwhile.tolist() == expected
    expected_gains = np.log(2) - np.log1p(np.exp([-1.0, -2.0, -1.0]))
    np.testing.assert_allclose(gains.of_all.base, expected_gains)  # prices do not change gains


def test_if_the_default_is_always_best_nothing_else_is_worthwhile():
    rows = switch_problem(np.ones(4))
    tree = right_tree(0, 0)
    rows = training_rows(np.column_stack([rows.targets, rows.X[:, 1:]]), rows.targets)
    policies = [policy_of(rows, [tree], 0.0, [3, 0, 1, 2]).training_arrays] * rows.n_folds
    bought = np.zeros((N, 4), dtype=bool)
    bought[:, 3] = True
    _, worthwhile = fit_gains(rows, policies, GROUPS, np.arange(N), bought)
    assert worthwhile.size == 0


def test_restricted_gains_keep_the_chosen_outputs_and_the_default(equal_prices):
    rows, bought, gains, _ = equal_prices
    values = state_values(rows, np.arange(N), bought, described(bought))
    kept = restricted(gains, np.array([1]))
    assert kept.candidates.tolist() == [1]
    for before, after in zip([gains.of_all, *gains.of_fold], [kept.of_all, *kept.of_fold], strict=True):
        np.testing.assert_array_equal(state_outputs(after, values), state_outputs(before, values)[:, [1, 3]])


def test_without_gains_there_are_no_candidates(equal_prices):
    rows, bought, *_ = equal_prices
    gains = no_gains(rows)
    assert gains.candidates.size == 0
    assert gains.of_all.n_features == 4 + n_described_of(rows) - 2
    outputs = state_outputs(gains.of_all, state_values(rows, np.arange(N), bought, described(bought)))
    assert outputs.shape == (N, 1)
    assert not outputs.any()


def test_values_of_states_hide_what_is_not_bought():
    X = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0]])
    rows = training_rows(X, [0, 1, 0])
    bought = np.array([[True, True], [False, True], [True, False]])
    values = state_values(rows, np.arange(3), bought, np.array([[7.0], [8.0], [9.0]]))
    expected = [[1.0, np.inf, 7.0], [np.nan, 5.0, 8.0], [3.0, np.nan, 9.0]]
    np.testing.assert_array_equal(values, expected)
