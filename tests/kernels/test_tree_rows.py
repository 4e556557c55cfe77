import numpy as np
import pytest

from thrifty.kernels.tree_rows import LEAF, add_steps, leaf_steps, partition

ROWS = np.array([4, 0, 7, 2, 5, 1], dtype=np.uint32)
FEATURE = np.array([3, LEAF, 2, LEAF, LEAF])
SPANS = np.array([[0, 6], [0, 2], [2, 6], [2, 2], [2, 6]])


@pytest.mark.parametrize("m", [0, 1, 2])
def test_a_partition_keeps_the_order_on_both_sides(m):
    code = np.array([9, 1, 255, 1, 9, 1, 1, 255], dtype=np.uint8)
    goes_left = np.zeros(256, dtype=np.int64)
    goes_left[[1, 255]] = 1
    rows, words = ROWS.copy(), np.arange(6 * m).reshape(6, m)
    n_left = partition(code, goes_left, rows, words, np.empty_like(rows), np.empty_like(words))
    assert n_left == 4
    np.testing.assert_array_equal(rows, [7, 2, 5, 1, 4, 0])
    np.testing.assert_array_equal(words, np.arange(6 * m).reshape(6, m)[[2, 3, 4, 5, 0, 1]])


def test_leaves_take_newton_steps():
    gradient, hessian = np.arange(8.0), np.full(8, 0.5)
    steps = leaf_steps(FEATURE, SPANS, ROWS, gradient, hessian, 1.0)
    np.testing.assert_array_equal(steps, [0, -(4 + 0) / (1 + 1), 0, 0, -(7 + 2 + 5 + 1) / (2 + 1)])
    assert leaf_steps(FEATURE, SPANS, ROWS, gradient, hessian, 0.0)[3] == 0.0  # no rows


def test_steps_are_added_to_the_rows_of_leaves():
    scores = np.full(8, 10.0)
    add_steps(FEATURE, SPANS, ROWS, np.array([99.0, 1.0, 99.0, 2.0, 3.0]), scores)
    np.testing.assert_array_equal(scores, [11, 13, 13, 10, 11, 13, 10, 13])
