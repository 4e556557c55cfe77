"""The default order of the groups."""

import numpy as np
import pytest

from models.adaptive.problems import training_rows
from thrifty import CostModel
from thrifty.models.adaptive.order import default_order

RANDOM = np.random.default_rng(0)
SIGNAL = RANDOM.normal(size=400)
TARGETS = {
    "numbers": ((SIGNAL - SIGNAL.mean()) / SIGNAL.std(), 0),
    "two classes": (SIGNAL > 0, 2),
    "three classes": (np.digitize(SIGNAL, [-0.5, 0.5]), 3),
}


def twins(n_noise=0):
    """Two columns that say the same about the targets, and columns that say nothing."""
    return np.column_stack([SIGNAL, SIGNAL, RANDOM.normal(size=(400, n_noise))])


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("costs", [[1.0, 5.0], [5.0, 1.0]])
def test_the_cheaper_of_two_equal_columns_comes_first(kind, costs):
    targets, n_classes = TARGETS[kind]
    order, n_useful = default_order(training_rows(twins(), targets, costs, n_classes=n_classes))
    assert order[0] == np.argmin(costs)
    assert sorted(order.tolist()) == [0, 1]
    assert n_useful == 1


def test_a_weak_column_precedes_a_strong_one_only_if_it_is_cheap():
    weak, targets = SIGNAL + RANDOM.normal(size=400), SIGNAL > 0
    X = np.column_stack([weak, SIGNAL])
    assert default_order(training_rows(X, targets, [1.0, 1.0]))[0].tolist() == [1, 0]
    assert default_order(training_rows(X, targets, [0.01, 1.0]))[0].tolist() == [0, 1]


def test_columns_that_never_help_come_last_and_the_cheap_ones_of_them_first():
    X = np.column_stack([np.ones(400), np.zeros(400), SIGNAL, np.full(400, 7.0)])
    order, n_useful = default_order(training_rows(X, SIGNAL > 0, [3.0, 1.0, 9.0, 2.0]))
    assert order.tolist() == [2, 1, 3, 0]
    assert n_useful == 1


def test_members_of_a_bundle_are_one_group_at_one_price():
    noisy = [SIGNAL + RANDOM.normal(size=400) for _ in range(4)]
    for price, expected in ((3.0, [0, 1]), (30.0, [1, 0])):
        costs = CostModel([0.0, 0.0, 0.0, 6.0], bundles={"panel": ([0, 1, 2], price)})
        order, _ = default_order(training_rows(np.column_stack(noisy), SIGNAL > 0, costs))
        assert order.tolist() == expected


def test_weights_of_rows_count():
    X = np.column_stack([np.where(np.arange(400) < 200, SIGNAL, 0.0), np.where(np.arange(400) < 200, 0.0, SIGNAL)])
    for heavy in (0, 1):
        weight = np.where((np.arange(400) < 200) == (heavy == 0), 10.0, 1.0)
        order, _ = default_order(training_rows(X, SIGNAL > 0, weight=weight))
        assert order[0] == heavy
