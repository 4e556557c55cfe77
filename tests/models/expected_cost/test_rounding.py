"""Fits do not depend on how rows are divided, because sums over rows are rounded."""

from functools import reduce

import numpy as np
import pytest
from sklearn.base import clone

from thrifty import CronusRegressor, CSCCClassifier, CSTCClassifier, CSTCRegressor
from thrifty.models.base import BudgetedEstimator
from thrifty.models.expected_cost.rounding import GRID, on_grid, to_bits
from thrifty.models.homes import Here, Joined

N_ROWS, PRICES = 800, np.arange(20) % 4 + 1.0
CUTS = ([5, 100, 700], list(range(50, N_ROWS, 50)))
MODELS = {
    "deep": CSTCRegressor(costs=PRICES, max_depth=4, cost_weight=1e-3, max_iter=10),
    "classes": CSTCClassifier(costs=PRICES, max_depth=2, cost_weight=0.01, max_iter=6),
    "cascade": CSCCClassifier(costs=PRICES, n_stages=3, cost_weight=0.01, max_iter=6, class_weight="balanced"),
    "Cronus": CronusRegressor(costs=PRICES, n_stages=3, cost_weight=0.01, max_iter=6),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def divided(monkeypatch):
    """Return a function that fits a model to rows in several blocks of this process."""
    whole = BudgetedEstimator._located

    def fit(model, X, y, weight, cuts):
        def in_blocks(self, *data):
            rows = whole(self, *data).block
            return reduce(Joined, [Here(rows.take(part)) for part in np.split(np.arange(len(rows)), cuts)])

        with monkeypatch.context() as patched:
            patched.setattr(BudgetedEstimator, "_located", in_blocks)
            return clone(model).fit(X, y, weight)

    return fit


@pytest.fixture(scope="module")
def rows():
    """Return columns with missing values, a copy with noise and a large mean, targets, and weights."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, 20))
    y = np.where(X[:, 0] > 0, X[:, 1] + X[:, 2] * X[:, 3], X[:, 4] - X[:, 5]) + random.normal(size=N_ROWS) / 2
    X[:, 7] = X[:, 6] + 1e-3 * random.normal(size=N_ROWS)
    X[:, 8] = 1e4 + X[:, 9] * 1e-2
    X[random.random(X.shape) < 0.05] = np.nan
    return X, y, random.random(N_ROWS) + 0.1


@pytest.mark.parametrize("name", MODELS)
def test_fits_are_the_same_in_any_partitioning(divided, rows, name):
    X, y, weight = rows
    if "Regressor" not in type(MODELS[name]).__name__:
        y = np.digitize(y, [0.5] if name == "cascade" else [-0.5, 0.6])
    here = clone(MODELS[name]).fit(X, y, weight)
    assert here.n_iter_ > 3
    for cuts in CUTS:
        there = divided(MODELS[name], X, y, weight, cuts)
        assert there.objective_ == pytest.approx(here.objective_, rel=1e-12)
        np.testing.assert_array_equal(there.tree_.arrays.features, here.tree_.arrays.features)
        np.testing.assert_allclose(there.acquire(X).score, here.acquire(X).score, rtol=1e-8, atol=1e-8)


def test_sums_in_any_order_become_equal():
    random = np.random.default_rng(0)
    values = random.normal(size=(1000, 300)) / 1000
    sums, shuffled = values.sum(axis=0), random.permutation(values).cumsum(axis=0)[-1]
    assert (sums != shuffled).any()
    np.testing.assert_array_equal(on_grid(sums), on_grid(shuffled))
    assert abs(on_grid(sums) - sums).max() <= GRID / 2
    alone, pair = on_grid((sums[0], values))
    assert (alone, pair.shape) == (on_grid(sums)[0], values.shape)


def test_significant_bits():
    numbers = np.random.default_rng(0).normal(size=100) * np.logspace(-300, 300, 100)
    np.testing.assert_array_equal(to_bits(numbers * (1 + 1e-15)), to_bits(numbers))
    np.testing.assert_allclose(to_bits(numbers), numbers, rtol=2.0**-34)
    np.testing.assert_array_equal(to_bits(np.array([0.0, np.inf, np.nan, 2.0**-40])), [0.0, np.inf, np.nan, 2.0**-40])
