"""The simulation of Fig. 3."""

import numpy as np
import pytest

from thrifty.models.stopping.boundaries import constant_threshold, curved_factor
from thrifty.models.stopping.simulation import simulate_stst

LENGTHS = (400, 800, 1600, 3200)


@pytest.fixture(scope="module")
def found():
    return simulate_stst((0.02, 0.1, 0.3), LENGTHS, drift=0.2, n_walks=1000, random_state=0)


def test_the_rate_of_stop_errors_is_at_most_delta(found):
    assert found.stop_error.shape == found.mean_terms.shape == (4, 3)
    assert (found.stop_error <= found.delta).all()
    assert (found.stop_error > 0.2 * found.delta).all()  # conservative, but not by far


def test_the_number_of_terms_grows_like_a_square_root(found):
    np.testing.assert_allclose(found.growth, 0.5, atol=0.1)


def test_the_number_of_terms_is_that_of_walds_equation(found):
    expected = constant_threshold(0.0, 3200.0, 0.1) / 0.2
    assert found.mean_terms[-1, 1] == pytest.approx(expected, rel=0.1)


def test_walks_bent_below_0_stop_like_walks_that_end_there():
    """With a small drift, enough unchanged walks end below 0."""
    found = simulate_stst([0.1, 0.3], [60], drift=0.05, n_walks=4000, random_state=1)
    walks = np.cumsum(0.05 + np.random.default_rng(2).normal(size=(20_000, 60)), axis=1)
    walks = walks[walks[:, -1] < 0]
    for delta, stop_error in zip(found.delta, found.stop_error[0], strict=True):
        crossed = np.mean(walks.max(axis=1) >= constant_threshold(0.0, 60.0, delta))
        assert stop_error == pytest.approx(crossed, abs=0.03)


# The curved boundary (section 3.3)


@pytest.fixture(scope="module")
def curved():
    return simulate_stst((0.02, 0.1, 0.3), LENGTHS, boundary="curved", drift=0.3, n_walks=1000, random_state=0)


def test_terms_until_the_curved_boundary_grow_like_a_square_root_too(curved):
    np.testing.assert_allclose(curved.growth, 0.5, atol=0.1)
    assert (np.diff(curved.mean_terms, axis=1) < 0).all()  # fewer terms for larger delta


def test_the_curved_boundary_is_reached_where_the_drift_meets_it(curved):
    """The mean walk drift * i meets z sqrt(n - i) at i = t."""
    level = curved_factor(0.1) / 0.3
    t = (-(level**2) + np.sqrt(level**4 + 4 * level**2 * 3200)) / 2
    assert t * 0.3 == pytest.approx(curved_factor(0.1) * np.sqrt(3200 - t))
    assert curved.mean_terms[-1, 1] == pytest.approx(t, rel=0.1)


@pytest.mark.parametrize("boundary", ["constant", "curved"])
def test_both_rates_are_those_of_unchanged_walks(boundary):
    found = simulate_stst([0.1, 0.3], [60], boundary=boundary, drift=0.05, n_walks=4000, random_state=1)
    walks = np.cumsum(0.05 + np.random.default_rng(2).normal(size=(20_000, 60)), axis=1)
    below, steps = walks[:, -1] < 0, np.arange(1, 60)
    for k, delta in enumerate(found.delta):
        levels = {
            "constant": np.full(59, constant_threshold(0.0, 60.0, delta)),
            "curved": curved_factor(delta) * np.sqrt(60 - steps),
        }[boundary]
        stopped = (walks[:, :-1] >= levels).any(axis=1)
        assert found.stop_error[0, k] == pytest.approx(stopped[below].mean(), abs=0.03)
        assert found.error_of_stopped[0, k] == pytest.approx(below[stopped].mean(), abs=0.02)
        assert found.error_of_stopped[0, k] <= delta


def test_the_random_state_determines_the_result():
    first, second = (simulate_stst([0.1], [50], n_walks=20, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.mean_terms, second.mean_terms)


@pytest.mark.parametrize(
    "parameters",
    [
        {"boundary": "wavy"},
        {"delta": 0},
        {"delta": [0.1, 1]},
        {"n_terms": 0},
        {"n_terms": 2.5},
        {"drift": 0},
        {"n_walks": 0},
    ],
)
def test_an_invalid_parameter_is_refused(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"simulate_stst: {name} is .*; expected "):
        simulate_stst(**parameters)
