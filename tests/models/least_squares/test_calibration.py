"""Leave-one-out scores compared with models that leave a row out, and the conversion to log-odds."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LinearRegression

from thrifty.models.least_squares.calibration import fit_log_odds, leave_one_out, prior_scores


def test_leave_one_out_scores_are_those_of_models_without_the_row():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 3)), random.normal(size=30)
    design = np.column_stack([np.ones(30), X])
    leverages = (design @ np.linalg.inv(design.T @ design) * design).sum(axis=1)
    scores = LinearRegression().fit(X, y).predict(X)
    expected = [LinearRegression().fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] for i in range(30)]
    np.testing.assert_allclose(leave_one_out(scores[:, None], y[:, None], leverages)[:, 0], expected)


def test_a_known_slope_and_offset_are_found():
    random = np.random.default_rng(1)
    scores = random.normal(size=(20_000, 1))
    targets = np.where(random.random((20_000, 1)) < expit(3 * scores - 1), 1.0, -1.0)
    slope, offsets = fit_log_odds(scores, targets, np.ones(20_000))
    assert slope == pytest.approx(3, rel=0.05)
    assert offsets == pytest.approx([-1], abs=0.1)


def test_the_slope_is_never_negative():
    scores = np.linspace(-1, 1, 200)[:, None]
    slope, _ = fit_log_odds(scores, -np.sign(scores), np.ones(200))
    assert 0 < slope < 0.01


def test_the_prior_is_the_log_odds_of_the_classes():
    weight = np.array([1.0, 1.0, 2.0])
    assert prior_scores(np.array([[1.0], [-1.0], [1.0]]), weight, True) == pytest.approx(np.log(3))
    np.testing.assert_allclose(prior_scores(np.eye(3), weight, True), np.log([0.25, 0.25, 0.5]))
    assert prior_scores(np.array([[1.0], [-1.0]]), np.array([1e-18, 1.0]), True) == pytest.approx(np.log(1e-18))
