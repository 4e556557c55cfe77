"""CSCC and Cronus on graded relevance: regression on the grade, documents ranked by prediction."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from models.expected_cost.problems import as_tree
from reference import cstc as reference
from thrifty import CronusClassifier, CronusRegressor, CSCCRegressor
from thrifty.datasets import make_ltr
from thrifty.metrics import ndcg_at_k
from thrifty.models.expected_cost.fitting import choose_structure, solve
from thrifty.models.expected_cost.initial_parameters import initial_parameters
from thrifty.models.expected_cost.problem import pose
from thrifty.tuning.methods import serving
from thrifty.tuning.problem import Task

CASCADES = {"cscc": CSCCRegressor, "cronus": CronusRegressor}
GRADED = pytest.mark.parametrize("kind", CASCADES)


@pytest.fixture(scope="module")
def graded():
    return make_ltr(60, n_features=25, random_state=0)


@GRADED
def test_the_objective_is_that_of_the_reference(kind, graded):
    model = CASCADES[kind](costs=graded.costs, n_stages=3, cost_weight=0.003)
    problem = pose(model, model._located(graded.X, graded.y), None)
    solution = solve(model, problem, choose_structure(model, problem)[1])
    objective, columns = problem.objective, problem.scales.columns
    costs = graded.costs.select(columns)
    rows = (objective.X, objective.targets, objective.weight, np.eye(25, dtype=bool), costs.unit_costs)
    expected = reference.objective(
        kind,
        as_tree(objective, solution.parameters),
        reference.Problem(*rows, rho=objective.l1_weight, cost_weight=objective.cost_weight),
    )
    assert solution.history[-1] == pytest.approx(expected, rel=1e-6)
    assert (solution.parameters.directions == 1.0).all()  # high grades continue


@GRADED
def test_relevant_documents_go_deeper_and_are_ranked_well(kind, graded):
    train = graded.qid < 40
    cascade = CASCADES[kind](costs=graded.costs, n_stages=3, cost_weight=0.003)
    cascade.fit(graded.X[train], graded.y[train], qid=graded.qid[train])
    held = ~train
    outcome = cascade.acquire(graded.X[held], qid=graded.qid[held])
    grades = graded.y[held]
    assert outcome.exit[grades >= 3].mean() >= outcome.exit[grades == 0].mean() + 0.3 * (kind == "cscc")
    at_random = ndcg_at_k(grades, np.random.default_rng(0).random(len(grades)), qid=graded.qid[held], k=5)
    assert cascade.score(graded.X[held], grades, qid=graded.qid[held]) > at_random + 0.1
    assert cascade.score(graded.X[held], grades) > 0.1  # R²


@GRADED
def test_settings_are_chosen_by_ndcg_of_whole_queries(kind, graded):
    cascade = CASCADES[kind](costs=graded.costs, n_stages=2, early_stopping=True, scoring="ndcg@5", random_state=0)
    cascade.fit(graded.X, graded.y, qid=graded.qid)
    assert len(cascade.validation_scores_) == cascade.n_iter_
    assert 0 < max(cascade.validation_scores_) <= 1


def test_cascades_are_offered_for_ranking():
    assert {"cscc", "cronus"} <= set(serving(Task.RANKING))
    assert not {"cscc", "cronus"} & {*serving(Task.REGRESSION), *serving(Task.MULTICLASS)}


@pytest.mark.parametrize("keep_ratio", [0.2, 0.5, 0.8])
def test_the_keep_ratio_is_the_share_that_continues_when_the_solver_starts(keep_ratio, graded):
    model = CronusRegressor(costs=graded.costs, n_stages=3, cost_weight=1e-4, keep_ratio=keep_ratio)
    objective = pose(model, model._located(graded.X, graded.y), None).objective
    parameters = initial_parameters(replace(objective, sharpness=1e6))
    scores = objective.scores(parameters)
    share = objective.weight @ (scores[:, 0] > parameters.thresholds[0])
    assert share == pytest.approx(keep_ratio, abs=0.02)


@pytest.mark.parametrize("model", [CronusRegressor(), CronusClassifier()])
@pytest.mark.parametrize("keep_ratio", [0, 1.0, -0.5, "half", None])
def test_keep_ratios_are_shares(model, keep_ratio):
    with pytest.raises(ValueError, match=f"keep_ratio is {keep_ratio!r}; expected a share between 0 and 1"):
        clone(model).set_params(keep_ratio=keep_ratio).fit(np.eye(6), [0, 1, 0, 1, 0, 1])
