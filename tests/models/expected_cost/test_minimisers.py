"""L-BFGS on a device takes the steps of SciPy."""

import array_api_strict as strict
import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from thrifty.models.expected_cost.line_search import ENOUGH, FLAT, step_length
from thrifty.models.expected_cost.minimisers import SMALLEST_DECREASE, SMALLEST_SLOPE, lowest_point

random = np.random.default_rng(0)
FACTOR = random.normal(size=(12, 8))
START = random.uniform(-2, 2, 8)


def quartic(x):
    errors = FACTOR @ x - 1.0
    return float(errors @ errors + 0.1 * (x**4).sum()), 2.0 * FACTOR.T @ errors + 0.4 * x**3


def valley(x):
    return float(rosen(x)), rosen_der(x)


def by_scipy(function, start, steps):
    options = {"maxiter": steps, "ftol": SMALLEST_DECREASE, "gtol": SMALLEST_SLOPE}
    return minimize(function, start, jac=True, method="L-BFGS-B", options=options)


def on_device(function):
    """Return the function for arrays that are not of NumPy, and a list that grows with each call."""
    calls = []

    def called(x):
        calls.append(x)
        value, gradient = function(np.asarray(x))
        return value, strict.asarray(gradient)

    return called, calls


@pytest.mark.parametrize("steps", [1, 2, 5, 10, 15])
@pytest.mark.parametrize("function", [quartic, valley])
def test_steps_equal_those_of_scipy(function, steps):
    called, calls = on_device(function)
    wanted = by_scipy(function, START, steps)
    found = np.asarray(lowest_point(called, strict.asarray(START), steps))
    assert len(calls) == wanted.nfev
    np.testing.assert_allclose(found, wanted.x, rtol=1e-6, atol=1e-8)


def test_search_ends_at_the_minimum():
    called, calls = on_device(quartic)
    found = np.asarray(lowest_point(called, strict.asarray(START), 500))
    assert np.abs(quartic(found)[1]).max() < 1e-3
    assert len(calls) < 60
    n_calls = len(calls)
    again = np.asarray(lowest_point(called, strict.asarray(found), 500))
    assert quartic(again)[0] == pytest.approx(quartic(found)[0], rel=1e-6)
    assert len(calls) - n_calls < 10


def test_numpy_arrays_are_left_to_scipy():
    np.testing.assert_array_equal(lowest_point(quartic, START, 7), by_scipy(quartic, START, 7).x)


def test_constant_function_ends_the_search():
    start = strict.asarray(np.ones(3))
    assert lowest_point(lambda x: (0.0, strict.zeros(3)), start, 5) is start
    flat = lowest_point(lambda x: (0.0, strict.ones(3)), start, 5)  # the gradient is wrong: nothing is lower
    np.testing.assert_array_equal(np.asarray(flat), np.ones(3))


@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize(
    "along",
    [
        lambda a: (-a / (a * a + 2.0), (a * a - 2.0) / (a * a + 2.0) ** 2),
        lambda a: ((a - 3.0) ** 4, 4.0 * (a - 3.0) ** 3),
        lambda a: (np.exp(a) - 5.0 * a, np.exp(a) - 5.0) if a < 100 else (1e40, 1e40),
        lambda a: (a * a - 4.0 * a + 0.3 * np.sin(8.0 * a), 2.0 * a - 4.0 + 2.4 * np.cos(8.0 * a)),
    ],
    ids=["rational", "quartic", "exponential", "waves"],
)
def test_step_meets_both_conditions(along, first):
    value, slope = map(float, along(0.0))
    steps = []

    def at(step):
        steps.append(step)
        return tuple(map(float, along(step)))

    step = step_length(at, value, slope, first)
    lower, new_slope = along(step)
    assert steps[-1] == step
    assert lower <= value + ENOUGH * step * slope
    assert abs(new_slope) <= FLAT * abs(slope)


def test_no_step_lowers_a_function_whose_slope_is_wrong():
    assert step_length(lambda step: (step, 1.0), 0.0, -1.0, 1.0) is None
