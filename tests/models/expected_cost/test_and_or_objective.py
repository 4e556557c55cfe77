"""The objective of AND-OR cascades, compared with the reference and with finite differences."""

import numpy as np
import pytest

from models.expected_cost.problems import as_cascade
from reference import cstc as reference
from thrifty.costs import CostModel
from thrifty.models.expected_cost.and_or_objective import AndOrObjective, smooth_maximum
from thrifty.models.expected_cost.penalties import PathPenalty
from thrifty.models.expected_cost.row_blocks import TrainingRows
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Here

N_STAGES, N_FEATURES = 4, 7
COSTS = CostModel([1.0, None, 0.5, 2.0, None, 0.0, 1.5], bundles={"panel": ([1, 2, 3], 4.0), "visit": ([3, 4, 5], 2.5)})


def pose(logistic, upper_sign, seed=0, n=60):
    """Return an objective, and the same problem for the reference, in which the rare class is always +1."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, N_FEATURES))
    targets = np.where(X[:, :1] + random.normal(size=(n, 1)) > 0.7, upper_sign, -upper_sign)
    weight = random.dirichlet(np.ones(n))
    class_weights = np.where(targets[:, 0] > 0, 3.0, 0.7)
    topology = Topology.cascade(N_STAGES)
    objective = AndOrObjective(
        rows=Here(TrainingRows(X, targets, weight, weight * class_weights)),
        topology=topology,
        penalty=PathPenalty(COSTS, np.arange(N_FEATURES), topology),
        cost_weight=0.3,
        l1_weight=0.02,
        sharpness=1.0,
        logistic=logistic,
        upper_sign=upper_sign,
        allowed=np.ones((N_STAGES, N_FEATURES), dtype=bool),
        temperature=0.1,
    )
    loss = "logistic" if logistic else "squared"
    y = upper_sign * targets[:, 0]
    problem = reference.Problem(X, y, weight, COSTS.requirement, COSTS.unit_costs, loss, 0.02, 0.3, class_weights)
    return objective, problem


def draw(upper_sign, seed=0, zeros=0.4):
    random = np.random.default_rng(seed)
    weights = random.normal(size=(N_STAGES, 1, N_FEATURES)) * (random.random((N_STAGES, 1, N_FEATURES)) > zeros)
    intercepts = random.normal(size=(N_STAGES, 1))
    return Parameters(weights, intercepts, np.zeros(N_STAGES), np.full((N_STAGES, 1), upper_sign))


@pytest.mark.parametrize("upper_sign", [1.0, -1.0])
@pytest.mark.parametrize("logistic", [False, True])
def test_the_value_equals_that_of_the_reference(logistic, upper_sign):
    objective, problem = pose(logistic, upper_sign)
    parameters = draw(upper_sign)
    cascade = as_cascade(upper_sign * parameters.weights[:, 0], upper_sign * parameters.intercepts[:, 0])
    assert objective.value(parameters) == pytest.approx(reference.objective("and_or", cascade, problem), rel=1e-12)


@pytest.mark.parametrize("upper_sign", [1.0, -1.0])
@pytest.mark.parametrize("logistic", [False, True])
def test_gradients_are_finite_differences(logistic, upper_sign):
    objective, _ = pose(logistic, upper_sign)
    parameters = draw(upper_sign, zeros=0.0)
    evaluation = objective.evaluate(parameters)
    assert not evaluation.thresholds.any()
    for values, gradient in (
        (parameters.weights, evaluation.weights),
        (parameters.intercepts, evaluation.intercepts),
    ):
        for at in np.ndindex(values.shape):
            there, before = [], values[at]
            for step in (1e-6, -1e-6):
                values[at] = before + step
                there.append(objective.evaluate(parameters).value)
            values[at] = before
            assert gradient[at] == pytest.approx((there[0] - there[1]) / 2e-6, rel=2e-5, abs=1e-7)


def test_the_smooth_objective_is_close_to_the_exact_one():
    objective, _ = pose(False, 1.0)
    most = objective.temperature * np.log(N_STAGES) * objective.loss_weight.sum()
    for seed in range(10):
        parameters = draw(1.0, seed)
        assert 0 < abs(objective.evaluate(parameters).value - objective.value(parameters)) <= most


def test_the_smooth_maximum_exceeds_the_exact_one_by_at_most_temperature_times_log_of_the_number():
    values = np.random.default_rng(0).normal(size=(50, N_STAGES))
    smooth, shares = smooth_maximum(values, 0.1)
    exact, marks = smooth_maximum(values, 0.0)
    np.testing.assert_array_equal(exact, values.max(axis=1))
    assert (smooth >= exact).all()
    assert (smooth <= exact + 0.1 * np.log(N_STAGES)).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(marks.argmax(axis=1), values.argmax(axis=1))
