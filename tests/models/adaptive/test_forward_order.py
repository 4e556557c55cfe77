"""Forward selection of the default order."""

import numpy as np

from models.adaptive.problems import policy_of, training_rows
from thrifty.models.adaptive.forward_order import forward_order
from thrifty.models.forests.forest import LEAF, Tree

N = 300
X = np.random.default_rng(0).choice([-1.0, 1.0], size=(N, 4))
TARGETS = (X @ [0.0, 1.0, 3.0, 2.0] + 0.5 > 0).astype(float)


def stump(column, size):
    """A tree that adds +-size by the sign of a column, and nothing if the column is not bought."""
    nodes = [column, LEAF, column, LEAF, LEAF]
    return Tree(nodes, [-0.5, 0, 1e9, 0, 0], [1, 0, 3, 0, 0], [2, 0, 4, 0, 0], [[0], [-size], [0], [size], [0.0]], [
        False, True, False, True, True
    ])  # fmt: skip


def order_of(costs):
    rows = training_rows(X, TARGETS, costs)
    policy = policy_of(rows, [stump(j, size) for j, size in enumerate((0.0, 1.0, 3.0, 2.0))], 0.0, [0, 1, 2, 3])
    policies = [policy.training_arrays] * rows.n_folds
    return forward_order(rows, policies, np.arange(N), np.array([0, 1, 2, 3]), 4).tolist()


def test_groups_with_the_largest_decrease_of_the_loss_come_first():
    assert order_of(None) == [2, 3, 1, 0]


def test_prices_count():
    assert order_of([1.0, 1.0, 100.0, 1.0])[0] != 2


def test_free_groups_come_first():
    assert order_of([0.0, 1.0, 1.0, 1.0]) == [0, 2, 3, 1]
