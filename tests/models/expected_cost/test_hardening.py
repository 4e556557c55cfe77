"""Hardening: routes, purchases and predictions of the hard tree, compared with the reference."""

from copy import copy

import numpy as np
import pytest
from sklearn.base import is_classifier

from models.expected_cost.problems import PRICES, as_tree, expected_loss, pose
from reference import cstc as reference
from thrifty import CSTCClassifier, CSTCRegressor
from thrifty.datasets import make_quadrants
from thrifty.models.expected_cost.fine_tuning import Answer, fit_answer
from thrifty.models.expected_cost.fitting import store
from thrifty.models.expected_cost.hardening import harden, usual_fine_tune
from thrifty.models.expected_cost.initial_parameters import initial_parameters
from thrifty.models.expected_cost.joint_solver import solve_jointly
from thrifty.models.expected_cost.problem import pose as pose_rows
from thrifty.models.homes import Here

MODELS = {
    "regression": CSTCRegressor(max_depth=3, cost_weight=0.01),
    "binary": CSTCClassifier(max_depth=3, cost_weight=0.01),
    "classes": CSTCClassifier(max_depth=3, cost_weight=0.01),
    "logistic": CSTCClassifier(max_depth=3, cost_weight=0.01, loss="logistic"),
}


def rows(seed, n=300, d=7):
    """Return columns on different scales, and the values from which targets are made."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    aim = X @ np.linspace(-1, 1, d) + 2 * np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=n)
    return X * np.geomspace(0.01, 100, d) + np.arange(d), aim


def targets(name, aim):
    return aim if name == "regression" else np.digitize(aim, [0, 2] if name == "classes" else [1])


@pytest.fixture(params=[(name, costs) for name in MODELS for costs in PRICES], ids="-".join, scope="module")
def learned(request):
    """Return an unfitted model, its problem and its solution."""
    name, costs = request.param
    X, aim = rows(0)
    return solved(copy(MODELS[name]).set_params(costs=PRICES[costs]), X, targets(name, aim))


def solved(model, X, y):
    problem = pose_rows(model, model._located(X, y), None)
    return model, problem, solve_jointly(problem.objective, initial_parameters(problem.objective))


def hardened(learned, fine_tune):
    model, problem, solution = learned
    return store(copy(model).set_params(fine_tune=fine_tune), problem, solution)


@pytest.mark.parametrize("seed", [0, 1])
def test_without_fine_tuning_paths_costs_and_scores_equal_those_of_the_reference(learned, seed):
    model, problem, solution = learned
    X, _ = rows(seed, n=100)
    scales, tree = problem.scales, as_tree(problem.objective, solution.parameters)
    requirement, unit_costs = model.cost_model_.requirement[scales.columns], model.cost_model_.unit_costs
    outcome, scores = hardened(learned, None).acquire(X), []
    for i, row in enumerate((X[:, scales.columns] - scales.mean) / scales.deviation):
        node, acquired, cost = reference.hard_route(row, tree, requirement, unit_costs)
        scores.append(reference.scores(tree, row[None], node)[0] * scales.target_deviation + scales.target_mean)
        assert outcome.exit[i] == node
        assert outcome.spend[i] == pytest.approx(cost, abs=1e-9)
        np.testing.assert_array_equal(outcome.acquired[i, scales.columns], acquired)
    served = outcome.score.reshape(len(X), -1)
    if is_classifier(model):
        check_increasing_lines(np.array(scores), served, outcome.exit)
    else:
        np.testing.assert_allclose(served, scores, atol=1e-8)


def check_increasing_lines(scores, log_odds, exits):
    """Assert that at each exit the log-odds are one positive slope times the scores, plus an offset per score."""
    for node in np.unique(exits):
        here, served = scores[exits == node], log_odds[exits == node]
        moved, gained = here - here.mean(axis=0), served - served.mean(axis=0)
        slope = (moved * gained).sum() / max((moved**2).sum(), 1e-300)
        assert slope > 0 or not moved.any()
        np.testing.assert_allclose(gained, slope * moved, atol=1e-8)


@pytest.mark.parametrize("fine_tune", ["paper", "refit", "support", "held"])
def test_fine_tuning_does_not_change_the_path_or_raise_the_spend_of_a_training_row(learned, fine_tune):
    X, _ = rows(0)
    before, after = hardened(learned, None).acquire(X), hardened(learned, fine_tune).acquire(X)
    pairs = set(zip(before.exit.tolist(), after.exit.tolist(), strict=True))
    assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})
    assert (after.spend <= before.spend).all()


def test_columns_that_no_path_depends_on_are_bought_where_they_are_needed():
    data = make_quadrants(1500, label_means=(27, 9, -9, -27), random_state=0)
    model = CSTCRegressor(costs=data.costs, max_depth=3, cost_weight=1e-3)
    learned = solved(model, data.X, data.y)
    before, after = hardened(learned, None).acquire(data.X), hardened(learned, "support").acquire(data.X)
    assert before.spend.mean() > 20
    np.testing.assert_array_equal(after.spend, 12)
    assert len(np.unique(after.exit)) == len(np.unique(before.exit)) == 4


def test_fine_tuned_answers_are_not_worse_on_the_same_support(learned):
    _, problem, solution = learned
    objective, parameters = problem.objective, solution.parameters
    reach = objective.traverse(parameters).reach
    not_optional = np.zeros(objective.X.shape[1], dtype=bool)
    gains = []
    for k in range(objective.topology.n_nodes):
        before = Answer(parameters.weights[k], parameters.intercepts[k])
        tuned = fit_answer(objective, np.flatnonzero(before.reads), not_optional, Here(reach[:, k]))
        assert not tuned.reads[~before.reads].any()
        gains.append(expected_loss(objective, before, reach[:, k]) - expected_loss(objective, tuned, reach[:, k]))
    assert min(gains) >= -1e-6
    assert max(gains) > 1e-4


def hard_nodes(objective, parameters, fine_tune):
    """Return the hard nodes over standardised columns, all at a price of 1, with answers that are not calibrated."""
    prices = np.ones(objective.X.shape[1])
    return harden(objective, parameters, prices, fine_tune=fine_tune, calibrate=False, n_rows=len(objective.X))


def test_a_side_that_no_row_takes_is_removed_and_nothing_is_bought_to_decide_it():
    objective = pose("cstc", "full", n=120).objective
    parameters = initial_parameters(objective)
    parameters.thresholds[0] = 1e3
    root, *others = hard_nodes(objective, parameters, "support")
    assert root.route.upper == root.route.lower == 1
    assert not root.buys.size
    assert len(others) == 3
    assert len(hard_nodes(objective, parameters, None)) == 7


def test_a_node_that_every_row_leaves_becomes_a_leaf():
    objective = pose("cscc", "cascade", n=120).objective
    parameters = initial_parameters(objective)
    parameters.thresholds[1] = 1e3
    nodes = hard_nodes(objective, parameters, "support")
    assert [(node.route.upper, node.route.lower) for node in nodes] == [(1, -1), (-1, -1)]


@pytest.mark.parametrize(("kind", "shape"), [("cstc", "full"), ("cstc", "irregular"), ("cscc", "cascade")])
def test_fine_tuning_of_the_paper_equals_the_reference(kind, shape):
    case = pose(kind, shape, n=150, sharpness=4.0)
    parameters = solve_jointly(case.objective, initial_parameters(case.objective)).parameters
    tree, nodes = as_tree(case.objective, parameters), hard_nodes(case.objective, parameters, "paper")
    ends = dict(reference.terminals(tree))
    reach = reference.reach_probabilities(tree, case.problem.X)
    exits = reference.exit_probabilities(tree, case.problem.X)
    assert len(nodes) == len(tree.upper)
    for k, node in enumerate(nodes):
        support = tree.weights[k].any(axis=0)
        np.testing.assert_array_equal(node.learned, support)
        if k not in ends:
            np.testing.assert_array_equal(node.answer.weights, tree.weights[k])
            continue
        share = exits[:, list(ends).index(k)] if kind == "cscc" else reach[:, k]
        if share.sum() < 0.01:  # the answer of a node that no row reaches is not served
            continue
        weights, intercept = reference.fine_tuned_leaf(case.problem, share, support)
        np.testing.assert_allclose(node.answer.weights, weights, atol=2e-3)
        np.testing.assert_allclose(node.answer.intercepts, intercept, atol=2e-3)
        assert not node.answer.weights[:, ~support].any()


def test_without_shrinking_refit_buys_what_support_would_buy_alone(learned):
    """They differ only in the mixture with the answer of the parent."""
    X, _ = rows(0)
    refit, support = hardened(learned, "refit").acquire(X), hardened(learned, "support").acquire(X)
    np.testing.assert_array_equal(refit.exit, support.exit)
    assert (refit.score != support.score).any()


def test_auto_shrinks_unless_there_are_many_rows():
    assert usual_fine_tune(2999, np.ones((4, 5), dtype=bool)) == "support"
    assert usual_fine_tune(3000, np.ones((4, 5), dtype=bool)) == "refit"
    assert usual_fine_tune(3000, np.ones((4, 80), dtype=bool)) == "support"
    assert usual_fine_tune(3200, np.ones((4, 80), dtype=bool)) == "refit"
    objective = pose("cstc", "full", n=120).objective
    parameters, prices = initial_parameters(objective), np.ones(7)
    for n_rows, fine_tune in ((120, "support"), (1e6, "refit")):
        pairs = (
            harden(objective, parameters, prices, fine_tune=each, calibrate=False, n_rows=n_rows)
            for each in ("auto", fine_tune)
        )
        for auto, chosen in zip(*pairs, strict=True):
            np.testing.assert_array_equal(auto.answer.weights, chosen.answer.weights)


def test_supports_as_learned_are_kept_in_the_order_of_the_columns(learned):
    model, problem, solution = learned
    fitted = hardened(learned, None)
    expected = np.zeros_like(fitted.learned_support_)
    expected[:, problem.scales.columns] = solution.parameters.squares() > 0
    np.testing.assert_array_equal(fitted.learned_support_, expected)
    np.testing.assert_array_equal(fitted.node_supports(learned=True), expected)
    assert hardened(learned, "support").learned_support_.shape[1] == model.n_features_in_
