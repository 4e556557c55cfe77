"""The vectorised dot product gives exactly the same result as its naive version."""

import numpy as np
import pytest

from thrifty.kernels.dot import dot


def naive_dot(values, weights):
    """Sum in eight lanes, add the lanes in pairs, then the rest one by one."""
    whole = len(weights) // 8 * 8
    lanes = [0.0] * 8
    for j in range(whole):
        lanes[j % 8] += values[j] * weights[j]
    total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
    for j in range(whole, len(weights)):
        total += values[j] * weights[j]
    return total


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 31, 64, 101, 1000])
def test_result_equals_the_naive_version_exactly(n):
    random = np.random.default_rng(n)
    values, weights = random.normal(size=n + 5), random.normal(size=n)
    assert dot(values, weights) == naive_dot(values.tolist(), weights.tolist())
    assert dot(values, weights) == pytest.approx(values[:n] @ weights, abs=1e-12)


def test_slices_may_start_at_any_position():
    random = np.random.default_rng(0)
    values, weights = random.normal(size=200), random.normal(size=200)
    for first in range(9):
        assert dot(values[first:], weights[first:99]) == naive_dot(values[first:].tolist(), weights[first:99].tolist())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_propagated(bad):
    weights = np.ones(20)
    assert not np.isfinite(dot(np.append(np.zeros(19), bad), weights))
    assert not np.isfinite(dot(np.append(bad, np.zeros(19)), weights))
