"""From soft parameters to the tree that answers: routes, purchases and answers against the reference."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import PRICES, as_tree, pose
from reference import cstc as reference
from thrifty import CSTCClassifier, CSTCRegressor
from thrifty.datasets import make_quadrants
from thrifty.models.expected_cost.fine_tuning import Answer, as_log_odds, draw_towards, fit_answer, left_out
from thrifty.models.expected_cost.hardening import harden
from thrifty.models.expected_cost.joint import solve_jointly
from thrifty.models.expected_cost.start import start

MODELS = {
    "regression": CSTCRegressor(max_depth=3, cost_weight=0.01),
    "binary": CSTCClassifier(max_depth=3, cost_weight=0.01),
    "classes": CSTCClassifier(max_depth=3, cost_weight=0.01),
    "logistic": CSTCClassifier(max_depth=3, cost_weight=0.01, loss="logistic"),
}


def rows(seed, n=300, d=7):
    """Columns on scales of their own, and what the targets are cut from."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    aim = X @ np.linspace(-1, 1, d) + 2 * np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=n)
    return X * np.geomspace(0.01, 100, d) + np.arange(d), aim


def targets(name, aim):
    return aim if name == "regression" else np.digitize(aim, [0, 2] if name == "classes" else [1])


@pytest.fixture(params=[(name, costs) for name in MODELS for costs in PRICES], ids="-".join, scope="module")
def learned(request):
    """A model without its tree, the problem posed, and what was learned of it."""
    name, costs = request.param
    X, aim = rows(0)
    model = copy(MODELS[name]).set_params(costs=PRICES[costs])
    problem = model._pose(X, targets(name, aim), None, None, None)
    return model, problem, solve_jointly(problem.objective, start(problem.objective))


def hardened(learned, fine_tune):
    model, problem, solution = learned
    return copy(model).set_params(fine_tune=fine_tune)._settle(problem, solution)


@pytest.mark.parametrize("seed", [0, 1])
def test_as_learned_rows_go_pay_and_are_answered_as_in_the_reference(learned, seed):
    model, problem, solution = learned
    X, _ = rows(seed, n=100)
    scales, tree = problem.scales, as_tree(problem.objective, solution.parameters)
    requirement, unit_costs = model.cost_model_.requirement[scales.columns], model.cost_model_.unit_costs
    outcome = hardened(learned, None).acquire(X)
    for i, row in enumerate((X[:, scales.columns] - scales.mean) / scales.deviation):
        node, acquired, cost = reference.hard_route(row, tree, requirement, unit_costs)
        score = reference.scores(tree, row[None], node)[0] * scales.target_deviation + scales.target_mean
        assert outcome.exit[i] == node
        assert outcome.spend[i] == pytest.approx(cost, abs=1e-9)
        np.testing.assert_array_equal(outcome.acquired[i, scales.columns], acquired)
        np.testing.assert_allclose(np.atleast_1d(outcome.score[i]), score, atol=1e-8)


@pytest.mark.parametrize("fine_tune", ["support", "held"])
def test_fine_tuning_changes_no_training_rows_way_and_raises_no_ones_spend(learned, fine_tune):
    X, _ = rows(0)
    before, after = hardened(learned, None).acquire(X), hardened(learned, fine_tune).acquire(X)
    pairs = set(zip(before.exit.tolist(), after.exit.tolist(), strict=True))
    assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})
    assert (after.spend <= before.spend).all()


def test_what_no_ones_way_depends_on_is_bought_where_it_is_needed():
    data = make_quadrants(1500, label_means=(27, 9, -9, -27), random_state=0)
    model = CSTCRegressor(costs=data.costs, max_depth=3, cost_weight=1e-3)
    problem = model._pose(data.X, data.y, None, None, None)
    learned = model, problem, solve_jointly(problem.objective, start(problem.objective))
    before, after = hardened(learned, None).acquire(data.X), hardened(learned, "support").acquire(data.X)
    assert before.spend.mean() > 20
    np.testing.assert_array_equal(after.spend, 12)
    assert len(np.unique(after.exit)) == len(np.unique(before.exit)) == 4


def plainly(objective, parameters, fine_tune, prices=None):
    """Return the hard nodes over standardised columns, their answers left as they are."""
    prices = np.ones(objective.X.shape[1]) if prices is None else prices
    return harden(objective, parameters, prices, fine_tune, lambda answer, reach: answer, n_rows=len(objective.X))


def test_a_side_that_no_row_takes_goes_and_nothing_is_bought_to_decide_it():
    objective = pose("cstc", "full", n=120).objective
    parameters = start(objective)
    parameters.thresholds[0] = 1e3
    root, *others = plainly(objective, parameters, "support")
    assert root.route.upper == root.route.lower == 1
    assert not root.buys.size
    assert len(others) == 3
    assert len(plainly(objective, parameters, None)) == 7


def test_a_node_that_every_row_leaves_becomes_a_leaf():
    objective = pose("cscc", "cascade", n=120).objective
    parameters = start(objective)
    parameters.thresholds[1] = 1e3
    nodes = plainly(objective, parameters, "support")
    assert [(node.route.upper, node.route.lower) for node in nodes] == [(1, -1), (-1, -1)]


def expected_loss(objective, answer, reach):
    """Return what a node's answers cost those who come by, and its l1 norm."""
    losses = reference.losses(
        objective.X @ answer.weights.T + answer.intercepts,
        objective.targets,
        "logistic" if objective.logistic else "squared",
    )
    l1 = np.linalg.norm(answer.weights, axis=0).sum()
    return (objective.loss_weight * reach) @ losses + objective.l1_weight * l1


def test_fine_tuned_answers_are_no_worse_on_the_same_support(learned):
    _, problem, solution = learned
    objective, parameters = problem.objective, solution.parameters
    reach = objective.traverse(parameters).reach
    nothing = np.zeros(objective.X.shape[1], dtype=bool)
    gains = []
    for k in range(objective.topology.n_nodes):
        learnt = Answer(parameters.weights[k], parameters.intercepts[k])
        tuned = fit_answer(objective, np.flatnonzero(learnt.reads), reach[:, k], needless=nothing)
        assert not tuned.reads[~learnt.reads].any()
        gains.append(expected_loss(objective, learnt, reach[:, k]) - expected_loss(objective, tuned, reach[:, k]))
    assert min(gains) >= -1e-6
    assert max(gains) > 1e-4


def test_a_priced_column_of_no_weight_is_given_up_and_one_paid_for_is_not():
    objective = replace(pose("cstc", "leaf", n=200).objective, l1_weight=0.0)
    objective = replace(objective, targets=objective.X[:, :1] + 0.01 * objective.X[:, 1:2])
    columns, reach = np.arange(2), np.ones(200)
    for needless, reads in ((True, [0]), (False, [0, 1])):
        answer = fit_answer(objective, columns, reach, needless=np.full(7, needless))
        assert np.flatnonzero(answer.reads).tolist() == reads


@pytest.mark.parametrize(("m", "logistic"), [(1, False), (3, False), (1, True), (3, True)])
def test_log_odds_are_likelier_than_the_scores_that_they_are_made_of(m, logistic):
    objective = pose("cscc", "leaf", m=m, n=400).objective
    objective = replace(objective, logistic=logistic)
    reach = np.random.default_rng(0).random(400)
    answer = fit_answer(objective, np.arange(7), reach, needless=np.zeros(7, dtype=bool))
    odds = as_log_odds(answer, objective, reach, n_rows=400)
    likelihood = replace(objective, logistic=True, l1_weight=0.0)
    assert expected_loss(likelihood, odds, reach) < expected_loss(likelihood, answer, reach) + 1e-3 * logistic


def fitted_on(objective, columns, reach):
    return fit_answer(objective, np.array(columns), reach, needless=np.zeros(objective.X.shape[1], dtype=bool))


@pytest.mark.parametrize("logistic", [False, True])
def test_an_answer_that_gains_nothing_is_the_one_before(logistic):
    objective = replace(pose("cscc", "leaf", n=200).objective, logistic=logistic)
    before, reach = fitted_on(objective, range(7), np.ones(200)), np.random.default_rng(0).random(200)
    same = draw_towards(before, fitted_on(objective, [0], reach), objective, reach, n_rows=200, n_routing=1)
    np.testing.assert_array_equal(same.weights, before.weights)
    np.testing.assert_array_equal(same.intercepts, before.intercepts)


def test_an_answer_is_drawn_by_the_rule_of_james_and_stein_the_less_the_more_rows_there_are():
    objective = pose("cstc", "leaf", n=200).objective
    before, reach = fitted_on(objective, [0, 1], np.ones(200)), (objective.X[:, 0] > 0).astype(float)
    answer = fitted_on(objective, range(7), reach)
    weight = objective.weight * reach
    errors = [
        weight @ (objective.targets - objective.X @ each.weights.T - each.intercepts)[:, 0] ** 2 / weight.sum()
        for each in (before, answer)
    ]
    shares = []
    for n_rows in (60.0, 200.0):
        drawn = draw_towards(before, answer, objective, reach, n_rows, n_routing=3)
        n = n_rows * weight.sum()
        expected = 1 - (7 + 1 + 3) * errors[1] * n / (n - 11) / (n * (errors[0] - errors[1]))
        shares.append((drawn.weights[0, 6]) / answer.weights[0, 6])  # the answer before does not read it
        assert shares[-1] == pytest.approx(expected, rel=1e-6)
        mixed = shares[-1] * answer.left_out + (1 - shares[-1]) * before.left_out
        np.testing.assert_allclose(drawn.left_out, mixed)
    assert 0 < shares[0] < shares[1] < 1
    assert draw_towards(before, answer, objective, reach, 1e9, n_routing=3) is answer


def test_left_out_scores_are_those_of_fits_without_the_row():
    objective = replace(pose("cstc", "leaf", n=60).objective, l1_weight=0.0)
    reach = np.random.default_rng(1).random(60)
    scores = left_out(fitted_on(objective, range(7), reach), objective, reach)
    for i in (0, 17, 42):
        others = np.where(np.arange(60) == i, 0.0, reach)
        without = fitted_on(objective, range(7), others)
        assert scores[i] == pytest.approx(without.weights @ objective.X[i] + without.intercepts, rel=1e-5)
