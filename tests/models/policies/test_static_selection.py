"""The two static baselines."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from thrifty import CostModel
from thrifty.models.policies.static_selection import StaticSelectionClassifier


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 5)) * [1, 10, 1, 1, 1]
    signal = 2.0 * X[:, 3] + 0.12 * X[:, 1] + 0.5 * X[:, 4]
    return X, (signal + random.normal(size=500) > 0).astype(int)


def test_forward_selection_does_not_depend_on_prices(rows):
    plain, expensive = (
        StaticSelectionClassifier(costs=c, random_state=0).fit(*rows) for c in (None, [1, 90, 1, 80, 1])
    )
    assert plain.queue_ == expensive.queue_
    assert plain.queue_[:2] == [(3,), (1,)]


def test_forward_selection_takes_the_factor_with_the_largest_accuracy(rows):
    X, y = rows
    model = StaticSelectionClassifier(n_folds=1).fit(X, y)
    Z, held = (X - X.mean(axis=0)) / X.std(axis=0), []
    linear = LogisticRegression(max_iter=1000, tol=1e-3).fit(Z, y)
    while len(held) < 5:
        right = {
            f: np.mean(linear.predict(Z * np.isin(np.arange(5), [*held, f])) == y) for f in range(5) if f not in held
        }
        held.append(model.queue_[len(held)][0])
        assert right[held[-1]] == max(right.values())


def test_weight_per_cost(rows):
    X, y = rows
    prices = np.array([1.0, 2.0, 0.01, 30.0, 1.0])
    model = StaticSelectionClassifier(costs=prices, ranking="weight_per_cost").fit(X, y)
    weight = np.abs(LogisticRegression(max_iter=1000, tol=1e-3).fit((X - X.mean(axis=0)) / X.std(axis=0), y).coef_[0])
    assert [factor for (factor,) in model.queue_] == np.argsort(-weight / prices).tolist()


def test_the_weight_of_a_factor_is_that_of_its_largest_feature(rows):
    model = StaticSelectionClassifier(factors=[[0, 3]], ranking="weight_per_cost").fit(*rows)
    assert set(model.queue_[0]) == {0, 3} or model.queue_[0] == (1,)
    assert len(model.queue_) == 4


@pytest.mark.parametrize(("limit", "n_bought"), [({"n_factors": 2}, 2), ({"budget": 3.5}, 3), ({"n_factors": 0}, 0)])
def test_budget_and_number_end_the_queue(rows, limit, n_bought):
    X, y = rows
    model = StaticSelectionClassifier(random_state=0, **limit).fit(X, y)
    assert len(model.queue_) == n_bought
    acquisition = model.acquire(X)
    assert (acquisition.exit == n_bought).all()
    assert (acquisition.spend == n_bought).all()


def test_a_budget_counts_shared_units_once(rows):
    costs = CostModel([1.0] * 5, bundles={"visit": ((1, 3), 5.0)})
    model = StaticSelectionClassifier(costs=costs, budget=7.0, random_state=0).fit(*rows)
    assert model.queue_ == [(3,), (1,)]


def test_a_capped_row_has_the_front_of_the_queue(rows):
    X, y = rows
    whole = StaticSelectionClassifier(random_state=0).fit(X, y)
    front = StaticSelectionClassifier(random_state=0, n_factors=2).fit(X, y)
    np.testing.assert_array_equal(whole.acquire(X, cap=2.9).score, front.acquire(X).score)
    np.testing.assert_array_equal(whole.predict(X), whole.classifier_.predict(_standardised(whole, X)))


def _standardised(model, X):
    return model.standardiser_.transform(model.factors_.sorted_columns(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranking": "backward"}, "ranking is 'backward'; expected 'forward' or 'weight_per_cost'"),
        ({"budget": -1.0}, "budget is -1.0; expected a number of at least 0, or None"),
        ({"n_factors": 1.5}, "n_factors is 1.5; expected a whole number of at least 0"),
        ({"ranking": "weight_per_cost", "classifier": GaussianNB()}, "needs a linear data classifier"),
    ],
)
def test_bad_parameters_are_refused(rows, parameters, message):
    with pytest.raises(ValueError, match=f"StaticSelectionClassifier: .*{message}"):
        StaticSelectionClassifier(**parameters).fit(*rows)
