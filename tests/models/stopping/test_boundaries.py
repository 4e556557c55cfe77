"""The boundaries of the paper, and the certified one."""

import numpy as np
import pytest
from scipy.stats import norm

from reference import stopping as reference
from thrifty.models.stopping.boundaries import (
    Boundary,
    boundary_ratios,
    constant_boundary,
    constant_threshold,
    curved_boundary,
    curved_factor,
    score_or_gap,
    stop_errors,
)
from thrifty.models.stopping.certified import FACTORS, certified_factor, rows_needed


@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize("theta", [0.0, 1.3, -2.0])
def test_the_constant_boundary_solves_lemma_1(delta, theta):
    for side in (1.0, -1.0):
        tau = constant_threshold(theta, 2.5, delta, side)
        assert reference.crossing_probability(tau, theta, 2.5) == pytest.approx(delta)
        assert side * tau > max(0.0, side * theta)


def test_at_theta_0_it_is_theorem_1():
    assert constant_threshold(0.0, 2.5, 0.01) == pytest.approx(reference.constant_threshold(2.5, 0.01))
    lower, upper = constant_boundary(0.0, 2.5, 0.01, 3)
    np.testing.assert_allclose(upper, [reference.constant_threshold(2.5, 0.01)] * 3)
    np.testing.assert_allclose(lower, -upper)


def test_a_walk_that_starts_on_one_side_of_the_decision_has_a_wider_limit_on_that_side():
    lower, upper = constant_boundary(1.0, 2.5, 0.05, 1)
    assert upper > -lower > 0


def test_the_curved_boundary_is_a_normal_quantile_times_the_deviation():
    lower, upper = curved_boundary(np.array([2.0, 1.0, 0.0]), curved_factor(0.05))
    np.testing.assert_allclose(1 - norm.cdf(upper[:2] / [2.0, 1.0]), 0.05)
    assert upper[2] == 0
    np.testing.assert_array_equal(lower, -upper)
    assert curved_factor(0.05, 4) == pytest.approx(norm.isf(0.0125))
    assert curved_factor(0.7) == 0


def test_no_row_stops_if_no_error_is_allowed():
    assert constant_threshold(0.0, 1.0, 0.0) == np.inf
    assert np.isinf(curved_boundary(np.array([1.0, 0.0]), curved_factor(0.0)).upper).all()


def test_boundary_for_one_side():
    both = Boundary.constant(-1.0, 2.0, 2)
    assert both.for_sides("negative").upper.min() == np.inf
    assert both.for_sides("negative").lower.max() == -1.0
    assert both.for_sides("positive").lower.max() == -np.inf
    assert both.for_sides("positive").upper.min() == 2.0


def test_the_score_or_the_gap_of_the_best_two_is_compared():
    np.testing.assert_array_equal(score_or_gap(np.array([[-2.0], [3.0]])), [-2.0, 3.0])
    np.testing.assert_array_equal(score_or_gap(np.array([[1.0, 5.0, 4.0], [7.0, -1.0, 2.0]])), [1.0, 5.0])


def test_ratios_to_the_limits_and_stop_errors():
    scores = np.array([[-2.0, 1.0, 3.0], [4.0, -1.0, -6.0]])[..., None]
    limits = np.array([2.0, 0.5, 0.0])
    np.testing.assert_array_equal(boundary_ratios(limits, scores, "both"), [[1, 2, np.inf], [2, 2, np.inf]])
    np.testing.assert_array_equal(boundary_ratios(limits, scores, "negative"), [[1, -2, np.inf], [-2, 2, np.inf]])
    np.testing.assert_array_equal(stop_errors(scores), [[True, False, False], [True, False, False]])


@pytest.mark.parametrize("seed", range(3))
def test_the_certified_factor_is_that_of_the_reference(seed):
    random = np.random.default_rng(seed)
    ratios = np.column_stack([random.exponential(2.0, size=(400, 4)), np.full(400, np.inf)])
    errors = random.random(ratios.shape) < 0.3 * np.exp(-np.minimum(ratios, 50.0))
    found = certified_factor(ratios, errors, 0.05, 0.9)
    assert found == reference.certified(ratios, errors, 0.05, 0.9, FACTORS)
    assert 0 < found < np.inf


def test_rows_needed_are_those_that_certify_without_an_error():
    for delta, confidence in ((0.01, 0.95), (0.1, 0.9), (0.003, 0.99)):
        n = rows_needed(delta, confidence)
        assert (1 - delta) ** n <= 1 - confidence < (1 - delta) ** (n - 1)
        clean = np.zeros((n, 1), dtype=bool)
        assert certified_factor(np.full((n, 1), np.inf), clean, delta, confidence) == FACTORS[-1]
        assert certified_factor(np.full((n - 1, 1), np.inf), clean[1:], delta, confidence) == np.inf
