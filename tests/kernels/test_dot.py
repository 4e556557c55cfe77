"""The vectorised dot product against its naive twin, bit for bit."""

import numpy as np
import pytest

from thrifty.kernels.dot import dot


def naive_dot(held, weights):
    """Sum in eight lanes, add the lanes in pairs, then the rest one by one."""
    whole = len(weights) // 8 * 8
    lanes = [0.0] * 8
    for j in range(whole):
        lanes[j % 8] += held[j] * weights[j]
    total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
    for j in range(whole, len(weights)):
        total += held[j] * weights[j]
    return total


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 31, 64, 101, 1000])
def test_every_bit_is_that_of_the_naive_twin(n):
    random = np.random.default_rng(n)
    held, weights = random.normal(size=n + 5), random.normal(size=n)
    assert dot(held, weights) == naive_dot(held.tolist(), weights.tolist())
    assert dot(held, weights) == pytest.approx(held[:n] @ weights, abs=1e-12)


def test_slices_that_start_anywhere_are_fine():
    random = np.random.default_rng(0)
    held, weights = random.normal(size=200), random.normal(size=200)
    for first in range(9):
        assert dot(held[first:], weights[first:99]) == naive_dot(held[first:].tolist(), weights[first:99].tolist())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_come_through(bad):
    weights = np.ones(20)
    assert not np.isfinite(dot(np.append(np.zeros(19), bad), weights))
    assert not np.isfinite(dot(np.append(bad, np.zeros(19)), weights))
