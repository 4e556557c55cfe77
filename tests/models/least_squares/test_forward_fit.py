"""Forward selection in least squares compared with scikit-learn's least squares on the same rows."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from thrifty.models.least_squares.forward_fit import ForwardFit
from thrifty.models.least_squares.moments import FilledRows, Moments


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 6)) @ random.normal(size=(6, 6)) * 10.0 ** np.arange(-3, 3) + 5
    return np.column_stack([X, X[:, 0] - 2 * X[:, 1]]), X[:, :2] + random.normal(size=(200, 2))


def fit_of(X, Y, centred=True):
    data = FilledRows(X, Y, np.ones(len(X)), centred)
    return ForwardFit(Moments(data))


@pytest.mark.parametrize("centred", [True, False])
def test_coefficients_equal_ordinary_least_squares(problem, centred):
    X, Y = problem
    fit = fit_of(X, Y, centred)
    for feature in (4, 0, 2):
        fit.add(feature)
    weights, intercepts = fit.coefficients()
    ols = LinearRegression(fit_intercept=centred).fit(X[:, [4, 0, 2]], Y)
    np.testing.assert_allclose(weights, ols.coef_, rtol=1e-7)
    np.testing.assert_allclose(intercepts, ols.intercept_, rtol=1e-7, atol=1e-9)


def test_gains_are_the_increases_of_r2(problem):
    X, Y = problem
    fit = fit_of(X, Y)
    fit.add(3)
    before, gains = fit.r2, fit.gains()
    assert gains[3] == 0
    fit.add(1)
    assert fit.r2 - before == pytest.approx(gains[1])


def test_linear_combinations_of_the_model_are_not_added(problem):
    X, Y = problem
    fit = fit_of(X, Y)
    assert [fit.add_if_usable(f) for f in (0, 1, 6, 0)] == [True, True, False, False]
    assert fit.gains()[6] == 0


def test_leverages_are_the_diagonal_of_the_hat_matrix(problem):
    X, Y = problem
    fit = fit_of(X, Y)
    for feature in (0, 5):
        fit.add(feature)
    design = np.column_stack([np.ones(200), X[:, [0, 5]]])
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    np.testing.assert_allclose(fit.leverages(X[:, [0, 5]]), hat.diagonal(), rtol=1e-7)


def test_score_covariance_is_that_of_the_scores(problem):
    X, Y = problem
    fit = fit_of(X, Y)
    for feature in (0, 1):
        fit.add(feature)
    weights, intercepts = fit.coefficients()
    np.testing.assert_allclose(fit.score_covariance(), 200 * np.cov((X[:, :2] @ weights.T + intercepts).T, ddof=0))


def test_an_empty_model_is_the_mean(problem):
    X, Y = problem
    fit = fit_of(X, Y)
    weights, intercepts = fit.coefficients()
    assert weights.shape == (2, 0)
    np.testing.assert_allclose(intercepts, Y.mean(axis=0))
    assert fit.r2 == 0
