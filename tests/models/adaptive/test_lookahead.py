"""The first purchase, found by simulating the whole policy."""

import numpy as np
import pytest

from models.adaptive.problems import FAST, policy_of, training_rows
from thrifty import ThriftyClassifier
from thrifty.models.adaptive.lookahead import best_first_group
from thrifty.models.adaptive.policy import PurchasePolicy
from thrifty.models.forests.forest import LEAF, Forest, Tree

N_PLACES = 4  # columns, of which one holds the class; the last column tells which one
SWITCH = N_PLACES


def switch_data(n, seed):
    random = np.random.default_rng(seed)
    y, switch = random.integers(0, 2, n), random.integers(0, N_PLACES, n)
    X = random.integers(0, 2, (n, N_PLACES)).astype(float)
    X[np.arange(n), switch] = y
    return np.column_stack([X, switch]), y


def tree(branches, n_values):
    """A tree that sends each value of the switch to a branch of its own: (column, values if 0, values if 1).

    A switch that is not known goes to the first branch, with a value that no row has. So does an unknown column.
    """
    nothing = [0.0] * n_values
    nodes = []

    def leaf(values):
        nodes.append((LEAF, 0.0, 0, 0, values, True))
        return len(nodes) - 1

    def split(column, threshold, left, right):
        """NaN goes left."""
        at = len(nodes)
        nodes.append(None)
        nodes[at] = (column, threshold, left(), right(), nothing, True)
        return at

    def known(column, when_known):
        return split(column, -np.inf, lambda: leaf(nothing), when_known)

    def branch(k):
        column, low, high = branches[k]
        if column is None:
            return leaf(low)
        return known(column, lambda: split(column, 0.5, lambda: leaf(low), lambda: leaf(high)))

    def from_place(k):
        if k == len(branches) - 1:
            return branch(k)
        return split(SWITCH, k + 0.5, lambda: branch(k), lambda: from_place(k + 1))

    known(SWITCH, lambda: from_place(0))
    return Tree(*(np.array(column) for column in zip(*nodes, strict=True)))


def policies(rows, order):
    """The predictor knows the class if it knows the switch and the right column; then the gain of this is known too."""
    right = tree([(k, [-3.0], [2.0]) for k in range(N_PLACES)], 1)
    plain = policy_of(rows, [right], 0.0, order)
    outputs = np.eye(N_PLACES, N_PLACES + 2) * 0.6
    gains = tree([(None, outputs[k].tolist(), None) for k in range(N_PLACES)], N_PLACES + 2)
    policy = PurchasePolicy(
        plain.factors,
        plain.predictor,
        Forest.from_trees([gains], n_features=plain.gains.n_features, base=np.zeros(N_PLACES + 2)),
        np.arange(N_PLACES + 1),
        plain.first,
        plain.order,
        plain.n_at_stage,
        plain.fill,
        False,
    )
    return [policy.training_arrays] * rows.n_folds


def test_a_switch_that_says_nothing_itself_is_bought_first():
    rows = training_rows(*switch_data(400, 0))
    last = [*range(N_PLACES), SWITCH]
    assert best_first_group(rows, policies(rows, last), np.arange(400)) == SWITCH


def test_nothing_is_moved_to_the_front_if_the_order_starts_right():
    rows = training_rows(*switch_data(400, 0))
    assert best_first_group(rows, policies(rows, [SWITCH, *range(N_PLACES)]), np.arange(400)) is None


@pytest.mark.parametrize(("price", "expected"), [(1.0, 1), (10.0, None)])
def test_a_better_column_is_bought_first_only_if_its_price_allows(price, expected):
    y = np.arange(400) % 2
    rows = training_rows(np.column_stack([y, y, y]), y, [1.0, price, 1.0])
    weak, strong = known_column(0, -0.5, 0.7), known_column(1, -3.0, 2.0)
    policy = policy_of(rows, [weak, strong], 0.0, [0, 2, 1]).training_arrays
    assert best_first_group(rows, [policy] * rows.n_folds, np.arange(400)) == expected


def known_column(column, low, high):
    """A tree that answers by one column, and with 0 if it is not known."""
    leaves = [(LEAF, 0.0, 0, 0, [value], True) for value in (0.0, low, high)]
    nodes = [(column, -np.inf, 1, 2, [0.0], True), leaves[0], (column, 0.5, 3, 4, [0.0], True), *leaves[1:]]
    return Tree(*(np.array(each) for each in zip(*nodes, strict=True)))


@pytest.fixture(scope="module")
def fitted():
    return ThriftyClassifier(cost_weight=0.02, n_rounds=1, **FAST).fit(*switch_data(600, 0))


def test_a_fit_finds_the_switch_and_buys_only_what_it_names(fitted):
    X, y = switch_data(1000, 1)
    first = [fitted.policy_.factors.groups[group] for group in fitted.policy_.first]
    assert first == [(SWITCH,)]
    assert fitted.n_rounds_ == 1
    bought = fitted.acquire(X)
    assert bought.acquired[:, SWITCH].all()
    named = bought.acquired[np.arange(len(X)), X[:, SWITCH].astype(int)]
    assert named.mean() > 0.85
    assert bought.spend.mean() < 2.8  # by a fixed order all five columns are needed
    assert np.mean(bought.prediction == y) > 0.9
    assert fitted.session().next().features == (SWITCH,)
