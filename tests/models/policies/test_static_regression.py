"""StaticSelectionRegressor: the order of the factors, and predictions from prefixes of it."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from thrifty import CostModel, StaticSelectionRegressor


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 5)) * [1, 10, 1, 1, 1]
    return X, 2.0 * X[:, 3] + 0.12 * X[:, 1] + 0.5 * X[:, 4] + 0.3 * random.normal(size=500)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_forward_selection_takes_the_factor_with_the_smallest_squared_error(rows):
    X, y = rows
    model = StaticSelectionRegressor(n_folds=1, masked_training=False).fit(X, y)
    Z, targets, held = standardised(X), standardised(y), []
    linear = Ridge().fit(Z, targets)
    while len(held) < 5:
        error = {
            f: np.mean((linear.predict(Z * np.isin(np.arange(5), [*held, f])) - targets) ** 2)
            for f in range(5)
            if f not in held
        }
        held.append(model.queue_[len(held)][0])
        assert error[held[-1]] == min(error.values())
    np.testing.assert_allclose(model.predict(X), y.mean() + y.std() * linear.predict(Z))


def test_weight_per_cost(rows):
    X, y = rows
    prices = np.array([1.0, 2.0, 0.01, 30.0, 1.0])
    model = StaticSelectionRegressor(costs=prices, ranking="weight_per_cost", masked_training=False).fit(X, y)
    weight = np.abs(Ridge().fit(standardised(X), standardised(y)).coef_)
    assert [factor for (factor,) in model.queue_] == np.argsort(-weight / prices).tolist()


def test_a_capped_row_has_the_front_of_the_queue(rows):
    X, y = rows
    whole = StaticSelectionRegressor(random_state=0).fit(X, y)
    front = StaticSelectionRegressor(random_state=0, n_factors=2).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X, cap=2.9), front.predict(X))
    assert (front.acquire(X).exit == 2).all()
    np.testing.assert_allclose(whole.predict(X, cap=0), y.mean(), atol=0.1)


def test_a_budget_counts_shared_units_once(rows):
    costs = CostModel([1.0] * 5, bundles={"visit": ((1, 3), 5.0)})
    model = StaticSelectionRegressor(costs=costs, budget=7.0, random_state=0).fit(*rows)
    assert model.queue_ == [(3,), (1,)]


def test_with_masked_training_correlated_columns_do_not_need_one_another():
    random = np.random.default_rng(0)
    signal = random.normal(size=(400, 1))
    X = signal + 0.1 * random.normal(size=(400, 2))
    y = 10 * X[:, 0] - 9 * X[:, 1]  # almost equal to either column
    masked, plain = (
        StaticSelectionRegressor(masked_training=each, regressor=Ridge(1e-6), random_state=0).fit(X[:200], y[:200])
        for each in (True, False)
    )
    error = [np.mean((model.predict(X[200:], cap=1) - y[200:]) ** 2) for model in (masked, plain)]
    assert error[0] < y.var() < error[1]


def test_any_regressor_is_accepted(rows):
    X, y = rows
    tree = DecisionTreeRegressor(max_depth=6, random_state=0)
    model = StaticSelectionRegressor(regressor=tree, n_factors=3, random_state=0).fit(X, y)
    assert model.queue_[0] == (3,)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranking": "backward"}, "ranking is 'backward'; expected 'forward' or 'weight_per_cost'"),
        (
            {"ranking": "weight_per_cost", "regressor": DecisionTreeRegressor()},
            r"needs a linear data regressor, but regressor is DecisionTreeRegressor\(\)",
        ),
    ],
)
def test_bad_parameters_are_refused(rows, parameters, message):
    with pytest.raises(ValueError, match=f"StaticSelectionRegressor: .*{message}"):
        StaticSelectionRegressor(**parameters).fit(*rows)
