"""The bound on the mean spend, domination, and the order of preference."""

import numpy as np
import pandas as pd
import pytest

from thrifty.tuning.choice import by_preference
from thrifty.tuning.frontier import dominated, spend_bound


def brute_domination(spend, score):
    marks = []
    for i, (a, s) in enumerate(zip(spend, score, strict=True)):
        beaten = not np.isfinite(a)
        for j, (b, t) in enumerate(zip(spend, score, strict=True)):
            better = t > s or b < a
            beaten |= b <= a and t >= s and (better or j < i)
        marks.append(beaten)
    return np.array(marks)


def test_domination_equals_a_comparison_of_all_pairs():
    random = np.random.default_rng(0)
    spend, score = random.integers(0, 6, 60) * 1.0, random.integers(0, 6, 60) / 6
    spend[5] = score[5] = np.nan
    np.testing.assert_array_equal(dominated(spend, score), brute_domination(spend, score))


@pytest.mark.parametrize("model_spread", [0.0, 2.0])
def test_the_bound_holds_for_new_models_on_new_rows_as_often_as_it_says(model_spread):
    """The spends of rows are skewed, and the models of different folds differ."""
    random, n_trials, n_folds, n_rows = np.random.default_rng(0), 2000, 5, 60
    shape = (n_trials, n_folds, n_rows)
    rows = random.exponential(10.0, shape) + model_spread * random.normal(size=(n_trials, n_folds, 1))
    bound = spend_bound(rows.mean(axis=2), rows.var(axis=2), np.full(n_folds, n_rows), 0.95)
    new = random.exponential(10.0, (n_trials, 3 * n_rows)).mean(axis=1) + model_spread * random.normal(size=n_trials)
    assert np.mean(new <= bound) >= 0.94


def test_spends_that_never_differ_are_their_own_bound():
    spend = np.full((1, 5), 7.25)
    assert spend_bound(spend, np.zeros((1, 5)), np.full(5, 20), 0.99) == [7.25]


def test_weights_of_rows_give_the_bound_of_their_effective_number():
    spend, variance = np.array([[5.0, 6.0, 7.0]]), np.array([[4.0, 9.0, 16.0]])
    sizes = np.array([40.0, 50.0, 60.0])
    (bound,) = spend_bound(spend, variance, sizes, 0.95)
    assert spend_bound(spend, variance, sizes, 0.95, 7.0 * sizes) == pytest.approx(bound)
    heavier_last_fold = spend_bound(spend, variance, sizes, 0.95, np.array([1.0, 1.0, 9.0]))
    assert heavier_last_fold > bound
    equal = np.full((1, 3), 6.0)  # the models do not differ, so the rows decide
    assert spend_bound(equal, variance, sizes / 2, 0.95, sizes) > spend_bound(equal, variance, sizes, 0.95)


def test_preference_is_score_within_the_budget_then_least_excess():
    table = pd.DataFrame(
        {
            "method": ["a", "b", "c", "d", "e"],
            "parameters": [{}] * 5,
            "score": [0.9, 0.8, 0.8, 0.99, 0.7],
            "spend": [9.0, 4.0, 3.0, 20.0, 1.0],
            "spend_bound": [11.0, 5.0, 5.0, 25.0, 2.0],
            "error": ["", "", "", "", "failed"],
        }
    )
    assert by_preference(table, 10.0).tolist() == [2, 1, 0, 3]
    assert by_preference(table, None).tolist() == [3, 0, 2, 1]
