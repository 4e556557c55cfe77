"""Moments by passes, by the full product and by subtraction, compared with plain NumPy."""

import numpy as np
import pytest

from thrifty.models.homes import Here
from thrifty.models.least_squares.moments import FilledRows, Moments
from thrifty.models.least_squares.node_rows import Members


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 40)) * random.uniform(0.1, 50, 40) + random.uniform(-100, 100, 40)
    X[:, 7] = 3.25
    targets = random.normal(size=(900, 3)) + X[:, :3]
    return FilledRows(X, targets, random.integers(1, 4, 900).astype(float))


def members(data, rows, share=1.0):
    return Here(Members(rows, share * data.count[rows]))


def assert_correct(moments):
    """Compare with the weighted covariances of the rows themselves."""
    rows, w = moments.members.block
    Z = np.column_stack([moments.data.X, moments.data.targets])[rows]
    Z = Z - w @ Z / w.sum()
    full, d = Z.T @ (w[:, None] * Z), moments.data.X.shape[1]
    tolerance = {"rtol": 1e-9, "atol": 1e-9 * full.diagonal().max()}
    np.testing.assert_allclose(moments.variances(), full.diagonal()[:d], **tolerance)
    np.testing.assert_allclose(moments.target_variances(), full.diagonal()[d:], **tolerance)
    np.testing.assert_allclose(moments.target_covariances(), full[:d, d:], **tolerance)
    for feature in (0, 5, 39):
        np.testing.assert_allclose(moments.covariance(feature), full[feature, :d], **tolerance)
    np.testing.assert_allclose(moments.mean, w @ moments.data.X[rows] / w.sum())
    assert moments.variances()[7] == 0


@pytest.mark.parametrize("ahead", [0, 40])  # columns on demand, or all at once
def test_both_ways_are_correct(data, ahead):
    rows = np.arange(0, 900, 2)
    assert_correct(Moments(data, members(data, rows, 0.7), ahead=ahead))


@pytest.mark.parametrize("ahead", [0, 40])
def test_moments_of_the_remaining_rows(data, ahead):
    part = np.arange(0, 900, 3)
    rest = np.setdiff1d(np.arange(900), part)
    whole = Moments(data, None, [0, 5], ahead)
    taken = Moments(data, members(data, part), [0, 5], ahead)
    assert_correct(whole.without(taken, members(data, rest)))


def far_apart(gap):
    """Return two groups `gap` apart in a column that varies by 1 within each."""
    random = np.random.default_rng(1)
    group = np.repeat([0.0, 1.0], 500)
    X = np.column_stack([group, gap * group + random.normal(size=1000)])
    return FilledRows(X, X[:, 1:] - gap * group[:, None], np.ones(1000)), np.arange(500), np.arange(500, 1000)


@pytest.mark.parametrize("gap", [1.0, 1e4, 1e8])
def test_inaccurate_moments_are_computed_again(gap):
    data, lower, upper = far_apart(gap)
    whole = Moments(data)
    part = Moments(data, members(data, upper))
    for child in (part, whole.without(part, members(data, lower))):
        accurate = child.made_accurate([], 0)
        column = data.X[accurate.members.block.rows, 1]
        assert accurate.variances()[1] == pytest.approx(column.var() * 500, rel=1e-6)
        assert accurate.variances()[0] == 0
        assert (accurate is child) == (gap == 1.0)


def test_missing_values_become_weighted_means():
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    data = FilledRows(X, np.zeros((3, 1)), np.array([1.0, 3.0, 1.0]))
    np.testing.assert_array_equal(data.fill, [2.5, 0.0])
    np.testing.assert_array_equal(data.X, [[1.0, 0.0], [3.0, 0.0], [2.5, 0.0]])


def test_samples_are_evenly_spaced_and_not_random(data):
    values, targets, weight, probability = Moments(data).sample(10, [3, 1])
    rows = np.linspace(0, 899, 10).astype(int)
    np.testing.assert_array_equal(values, data.X[rows][:, [3, 1]])
    np.testing.assert_array_equal(targets, data.targets[rows])
    np.testing.assert_array_equal(weight, data.count[rows])
    np.testing.assert_array_equal(probability, 1)
