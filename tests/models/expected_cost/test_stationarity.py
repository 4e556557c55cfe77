"""The optimality residual: slopes of the penalties at zero weights, and how they enter the residual."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, PRICES, draw, pose, with_rows
from thrifty.models.expected_cost.initial_parameters import initial_parameters
from thrifty.models.expected_cost.joint_solver import solve_jointly
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.stationarity import FEW, Stationarity

SHAPES = [(kind, shape) for kind, shapes in KINDS.items() for shape in shapes]


def all_nodes(objective):
    return np.ones(objective.topology.n_nodes, dtype=bool)


def without_weights(objective):
    """Return parameters with zero weights, whose intercepts are the mean targets."""
    parameters = draw(objective, zeros=1.0)
    mean = objective.loss_weight @ objective.targets / objective.loss_weight.sum()
    return replace(parameters, intercepts=np.tile(mean, (objective.topology.n_nodes, 1)))


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_slopes_at_zero_are_finite_differences(kind, shape, prices, m):
    """If a weight leaves zero along a unit vector, the objective changes by the slopes of loss and penalties."""
    objective = pose(kind, shape, prices, m=m).objective
    parameters, step = draw(objective, zeros=0.7), 1e-7
    evaluation = objective.evaluate(parameters)
    at_zero = objective.slope_at_zero(parameters, evaluation)
    away = np.random.default_rng(0).normal(size=m)
    away /= np.linalg.norm(away)
    for k, j in np.argwhere(parameters.squares() == 0):
        weights = parameters.weights.copy()
        weights[k, :, j] = step * away
        change = (objective.value(replace(parameters, weights=weights)) - evaluation.value) / step
        assert change == pytest.approx(evaluation.weights[k, :, j] @ away + at_zero[k, j], rel=1e-4, abs=1e-5)


def test_a_node_buys_something_only_below_the_largest_cost_weight():
    objective = replace(pose("cstc", "leaf", "bundles").objective, l1_weight=0.0)
    free = objective.penalty.per_feature(objective.penalty.unit_costs[None])[0] == 0
    objective = with_rows(objective, X=objective.X * ~free)
    largest = objective.largest_cost_weight()
    for factor, buys in ((1.001, False), (0.999, True)):
        priced = replace(objective, cost_weight=factor * largest)
        assert (Stationarity.of(priced, without_weights(priced), all_nodes(priced)).excess.max() > 0) == buys


def test_the_residual_of_a_stationary_point_is_zero():
    objective = pose("cstc", "leaf", "plain", cost_weight=100.0).objective
    objective = replace(objective, l1_weight=100.0)
    assert Stationarity.of(objective, without_weights(objective), all_nodes(objective)).residual < 1e-12


def test_the_residual_is_one_for_a_column_that_equals_the_target():
    """At zero weights and without costs."""
    objective = replace(pose("cstc", "leaf", cost_weight=0.0).objective, l1_weight=0.0)
    even = np.full(len(objective.X), 1 / len(objective.X))
    objective = with_rows(objective, targets=objective.X[:, :1], weight=even, loss_weight=even)
    residual = Stationarity.of(objective, without_weights(objective), all_nodes(objective)).residual
    assert residual == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_if_the_residual_is_small_no_step_lowers_the_objective(kind, shape, logistic):
    """A step of one parameter gains at most the residual times the step."""
    objective = pose(kind, shape, n=100, logistic=logistic, sharpness=4.0, cost_weight=0.02).objective
    solution = solve_jointly(objective, initial_parameters(objective), max_iter=300, tol=1e-3)
    parameters, value = solution.parameters, objective.value(solution.parameters)
    assert solution.residual <= 5e-3
    step, allowed = 0.01, 5e-3 * objective.slope_scale
    for name in ("weights", "intercepts", "thresholds"):
        values = getattr(parameters, name)
        for at in np.ndindex(values.shape):
            for sign in (1, -1):
                moved = values.copy()
                moved[at] += sign * step
                assert value - objective.value(replace(parameters, **{name: moved})) <= allowed * step


def test_only_free_nodes_count():
    objective = pose("cstc", "full").objective
    parameters = fit_leaves(objective, draw(objective), np.array([4]))
    for _ in range(5):
        parameters = fit_leaves(objective, parameters, np.array([4]), warm_start=True)
    state = Stationarity.of(objective, parameters, np.arange(7) == 4)
    assert state.residual < 1e-3 < Stationarity.of(objective, parameters, all_nodes(objective)).residual
    assert not state.excess[np.arange(7) != 4].any()


@pytest.mark.parametrize("copies", [1, 2, FEW, FEW + 1, 3 * FEW])
def test_only_a_few_of_many_identical_columns_enter(copies):
    objective = pose("cstc", "leaf", cost_weight=0.0).objective
    columns = np.zeros(copies, dtype=int)
    objective = with_rows(objective, X=objective.X[:, columns])
    objective = replace(objective, penalty=objective.penalty.for_columns(columns))
    state = Stationarity.of(objective, without_weights(objective), all_nodes(objective))
    entering = state.entering_steps(1e-4)[0, 0] != 0
    assert 1 <= entering.sum() <= FEW


def test_entering_steps_lower_the_objective():
    objective = pose("cstc", "full", cost_weight=0.01).objective
    initial = without_weights(objective)
    first_step = Stationarity.of(objective, initial, all_nodes(objective)).entering_steps(1e-4)
    assert first_step.any()
    shortened = replace(initial, weights=initial.weights + 0.1 * first_step)
    assert objective.value(shortened) < objective.value(initial)
