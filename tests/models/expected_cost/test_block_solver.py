"""The block solver, and what it has in common with the joint solver: the objective never rises."""

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, pose
from thrifty.models.expected_cost.block_solver import solve_by_blocks
from thrifty.models.expected_cost.initial_parameters import initial_parameters
from thrifty.models.expected_cost.joint_solver import solve_jointly
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.stationarity import Stationarity
from thrifty.models.expected_cost.tree_parameters import FIELDS

SHAPES = [(kind, shape) for kind, shapes in KINDS.items() for shape in shapes]
BOTH_SOLVERS = pytest.mark.parametrize("solve", [solve_jointly, solve_by_blocks])


@BOTH_SOLVERS
@pytest.mark.parametrize(("m", "logistic"), [(1, False), (1, True), (3, False)])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_the_objective_never_rises(solve, kind, shape, m, logistic):
    objective = pose(kind, shape, "bundles", m=m, logistic=logistic, n=60, sharpness=4.0, cost_weight=0.02).objective
    initial = initial_parameters(objective)
    solution = solve(objective, initial, max_iter=2, tol=0.0)
    assert solution.history[0] == pytest.approx(objective.value(initial), rel=1e-12)
    assert (np.diff(solution.history) <= 0).all()
    assert solution.history[-1] < solution.history[0]
    assert solution.history[-1] == pytest.approx(objective.value(solution.parameters), rel=1e-9)
    all_nodes = np.ones(objective.topology.n_nodes, dtype=bool)
    residual = Stationarity.of(objective, solution.parameters, all_nodes).residual
    assert solution.residual == pytest.approx(residual, rel=1e-6)


@BOTH_SOLVERS
def test_negligible_weights_are_set_to_zero(solve):
    objective = pose("cstc", "full", n=200, sharpness=4.0, cost_weight=0.5).objective
    weights = np.abs(solve(objective, initial_parameters(objective)).parameters.weights)
    assert (weights == 0).mean() > 0.2
    assert weights[weights > 0].min() >= SMALLEST


@pytest.mark.parametrize(("seed", "m"), [(0, 1), (2, 1), (3, 3)])
def test_from_the_same_start_the_joint_solver_ends_at_or_below_the_block_solver(seed, m):
    objective = pose("cstc", "full", "wide", m=m, n=400, sharpness=8.0, cost_weight=0.02, seed=seed).objective
    initial = initial_parameters(objective)
    jointly = solve_jointly(objective, initial, max_iter=300, tol=1e-3)
    by_blocks = solve_by_blocks(objective, initial, max_iter=100)
    assert jointly.history[-1] <= 1.001 * by_blocks.history[-1]
    assert by_blocks.history[-1] <= by_blocks.history[0]
    assert jointly.residual <= 2e-3


@BOTH_SOLVERS
def test_the_callback_sees_each_round_and_may_stop_the_solver(solve):
    objective = pose("cstc", "full", n=120, logistic=True).objective
    seen = []

    def callback(parameters, value):
        seen.append((parameters, value))
        return len(seen) == 2

    solution = solve(objective, initial_parameters(objective), callback=callback)
    assert solution.stopped
    assert [value for _, value in seen] == solution.history[1:]
    assert seen[-1][0] is solution.parameters
    assert np.isfinite(solution.residual)
    assert not solve(objective, initial_parameters(objective), max_iter=2).stopped


@BOTH_SOLVERS
def test_the_initial_parameters_are_not_modified(solve):
    objective = pose("cstc", "full").objective
    initial, same = initial_parameters(objective), initial_parameters(objective)
    solve(objective, initial, max_iter=2)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(initial, name), getattr(same, name))


@BOTH_SOLVERS
def test_solvers_stop_at_the_tolerance(solve):
    objective = pose("cstc", "full", n=200, sharpness=4.0, cost_weight=0.02).objective
    initial = initial_parameters(objective)
    loose, tight = (solve(objective, initial, tol=tol, max_iter=100) for tol in (0.3, 1e-3))
    assert len(loose.history) < len(tight.history)
    assert loose.residual <= 0.3
    assert tight.history[-1] < loose.history[-1]
