"""Fine-tuning: answers without the cost penalty, shrunk to those of the parent and calibrated."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import expected_loss, pose, with_rows
from thrifty.models.expected_cost.fine_tuning import as_log_odds, fit_answer, left_out_scores, shrink_to_parent
from thrifty.models.homes import Here


def fitted_on(objective, columns, reach):
    return fit_answer(objective, np.array(columns), np.zeros(objective.X.shape[1], dtype=bool), Here(reach))


def test_a_negligible_column_is_dropped_only_if_it_is_optional():
    objective = replace(pose("cstc", "leaf", n=200).objective, l1_weight=0.0)
    objective = with_rows(objective, targets=objective.X[:, :1] + 0.01 * objective.X[:, 1:2])
    columns, reach = np.arange(2), Here(np.ones(200))
    for optional, reads in ((True, [0]), (False, [0, 1])):
        answer = fit_answer(objective, columns, np.full(7, optional), reach)
        assert np.flatnonzero(answer.reads).tolist() == reads


@pytest.mark.parametrize(("m", "logistic"), [(1, False), (3, False), (1, True), (3, True)])
def test_log_odds_have_a_higher_likelihood_than_uncalibrated_scores(m, logistic):
    objective = pose("cscc", "leaf", m=m, n=400).objective
    objective = replace(objective, logistic=logistic)
    reach = np.random.default_rng(0).random(400)
    answer = fitted_on(objective, range(7), reach)
    odds = as_log_odds(answer, objective, Here(reach), n_rows=400)
    likelihood = replace(objective, logistic=True, l1_weight=0.0)
    assert expected_loss(likelihood, odds, reach) < expected_loss(likelihood, answer, reach) + 1e-3 * logistic


@pytest.mark.parametrize("logistic", [False, True])
def test_an_answer_without_gain_is_replaced_by_that_of_the_parent(logistic):
    objective = replace(pose("cscc", "leaf", n=200).objective, logistic=logistic)
    parent, reach = fitted_on(objective, range(7), np.ones(200)), np.random.default_rng(0).random(200)
    same = shrink_to_parent(parent, fitted_on(objective, [0], reach), objective, Here(reach), n_rows=200, n_routing=1)
    np.testing.assert_array_equal(same.weights, parent.weights)
    np.testing.assert_array_equal(same.intercepts, parent.intercepts)


def test_an_answer_is_shrunk_by_the_james_stein_rule_and_less_with_more_rows():
    objective = pose("cstc", "leaf", n=200).objective
    parent, reach = fitted_on(objective, [0, 1], np.ones(200)), (objective.X[:, 0] > 0).astype(float)
    answer = fitted_on(objective, range(7), reach)
    weight = objective.weight * reach
    errors = [
        weight @ (objective.targets - objective.X @ each.weights.T - each.intercepts)[:, 0] ** 2 / weight.sum()
        for each in (parent, answer)
    ]
    shares = []
    for n_rows in (60.0, 200.0):
        mixture = shrink_to_parent(parent, answer, objective, Here(reach), n_rows, n_routing=3)
        n = n_rows * weight.sum()
        expected = 1 - (7 + 1 + 3) * errors[1] * n / (n - 11) / (n * (errors[0] - errors[1]))
        shares.append((mixture.weights[0, 6]) / answer.weights[0, 6])  # the parent does not weigh this column
        assert shares[-1] == pytest.approx(expected, rel=1e-6)
        expected_mixture = shares[-1] * answer.left_out.block + (1 - shares[-1]) * parent.left_out.block
        np.testing.assert_allclose(mixture.left_out.block, expected_mixture)
    assert 0 < shares[0] < shares[1] < 1
    assert shrink_to_parent(parent, answer, objective, Here(reach), 1e9, n_routing=3) is answer


def test_leave_one_out_scores_equal_those_of_fits_without_the_row():
    objective = replace(pose("cstc", "leaf", n=60).objective, l1_weight=0.0)
    reach = np.random.default_rng(1).random(60)
    scores = left_out_scores(fitted_on(objective, range(7), reach), objective, Here(reach)).block
    for i in (0, 17, 42):
        others = np.where(np.arange(60) == i, 0.0, reach)
        without = fitted_on(objective, range(7), others)
        assert scores[i] == pytest.approx(without.weights @ objective.X[i] + without.intercepts, rel=1e-5)
