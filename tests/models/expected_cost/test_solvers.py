"""The joint and the block solver: both only ever descend, and both end where nothing leads further down."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, draw, pose
from thrifty.models.expected_cost.block import solve_by_blocks
from thrifty.models.expected_cost.joint import solve_jointly
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.start import start
from thrifty.models.expected_cost.stationarity import Stationarity

SHAPES = [(kind, shape) for kind, shapes in KINDS.items() for shape in shapes]
SOLVERS = pytest.mark.parametrize("solve", [solve_jointly, solve_by_blocks])
FIELDS = ("weights", "intercepts", "thresholds", "directions")


def everywhere(objective):
    return np.ones(objective.topology.n_nodes, dtype=bool)


@SOLVERS
@pytest.mark.parametrize(("m", "logistic"), [(1, False), (1, True), (3, False)])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_the_objective_never_rises(solve, kind, shape, m, logistic):
    objective = pose(kind, shape, "bundles", m=m, logistic=logistic, n=60, sharpness=4.0, cost_weight=0.02).objective
    begun = start(objective)
    solution = solve(objective, begun, max_iter=2, tol=0.0)
    assert solution.history[0] == pytest.approx(objective.value(begun), rel=1e-12)
    assert (np.diff(solution.history) <= 0).all()
    assert solution.history[-1] < solution.history[0]
    assert solution.history[-1] == pytest.approx(objective.value(solution.parameters), rel=1e-9)
    residual = Stationarity.of(objective, solution.parameters, everywhere(objective)).residual
    assert solution.residual == pytest.approx(residual, rel=1e-6)


@SOLVERS
def test_weights_that_are_all_but_zero_are_zero(solve):
    objective = pose("cstc", "full", n=200, sharpness=4.0, cost_weight=0.5).objective
    weights = np.abs(solve(objective, start(objective)).parameters.weights)
    assert (weights == 0).mean() > 0.2
    assert weights[weights > 0].min() >= SMALLEST


@pytest.mark.parametrize(("seed", "m"), [(0, 1), (2, 1), (3, 3)])
def test_from_the_same_start_joint_ends_at_or_below_block(seed, m):
    objective = pose("cstc", "full", "wide", m=m, n=400, sharpness=8.0, cost_weight=0.02, seed=seed).objective
    begun = start(objective)
    jointly = solve_jointly(objective, begun, max_iter=300, tol=1e-3)
    by_blocks = solve_by_blocks(objective, begun, max_iter=100)
    assert jointly.history[-1] <= 1.001 * by_blocks.history[-1]
    assert by_blocks.history[-1] <= by_blocks.history[0]
    assert jointly.residual <= 2e-3


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_a_stationary_point_is_left_alone(kind, shape):
    objective = pose(kind, shape, sharpness=4.0, cost_weight=0.05).objective
    ended = solve_jointly(objective, start(objective), max_iter=500, tol=1e-5)
    again = solve_jointly(objective, ended.parameters, max_iter=500, tol=1e-2)
    assert len(again.history) <= 4
    assert again.history[-1] == pytest.approx(ended.history[-1], rel=1e-4)
    for name in ("weights", "intercepts", "directions"):
        np.testing.assert_allclose(getattr(again.parameters, name), getattr(ended.parameters, name), atol=0.02)
    before, after = objective.traverse(ended.parameters), objective.traverse(again.parameters)
    np.testing.assert_allclose(after.reach, before.reach, atol=0.02)  # beyond all scores a threshold may be anywhere


@pytest.mark.parametrize("off", [0.0, 0.3])
def test_weights_that_are_all_zero_leave_it(off):
    """Even where a round without them brings nothing, for the intercept is best already."""
    objective = pose("cstc", "leaf", n=200, cost_weight=0.001).objective
    blank = replace(draw(objective, zeros=1.0), intercepts=(objective.weight @ objective.targets)[None] + off)
    usual = solve_jointly(objective, start(objective), tol=1e-3)
    solution = solve_jointly(objective, blank, tol=1e-3)
    assert solution.history[-1] == pytest.approx(usual.history[-1], rel=1e-3)
    assert solution.residual <= 1e-3


@SOLVERS
def test_whoever_watches_sees_each_round_and_may_stop(solve):
    objective = pose("cstc", "full", n=120, logistic=True).objective
    seen = []

    def watch(parameters, value):
        seen.append((parameters, value))
        return len(seen) == 2

    solution = solve(objective, start(objective), watch=watch)
    assert solution.stopped
    assert [value for _, value in seen] == solution.history[1:]
    assert seen[-1][0] is solution.parameters
    assert np.isfinite(solution.residual)
    assert not solve(objective, start(objective), max_iter=2).stopped


def test_only_free_nodes_change():
    objective = pose("cstc", "full", n=120, cost_weight=0.02).objective
    begun, free = draw(objective), np.isin(np.arange(7), [1, 4])
    begun.weights[0, 0, 0] = begun.weights[2, 0, 1] = 1e-6  # would be clamped if it were free
    solution = solve_jointly(objective, begun, free=free, tol=1e-3)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(solution.parameters, name)[~free], getattr(begun, name)[~free])
    assert (solution.parameters.weights[free] != begun.weights[free]).any()
    assert Stationarity.of(objective, solution.parameters, free).residual <= 1e-2
    assert solution.history[-1] < solution.history[0]


def test_the_solvers_leave_the_start_as_it_was():
    objective = pose("cstc", "full").objective
    begun, twin = start(objective), start(objective)
    for solve in (solve_jointly, solve_by_blocks):
        solve(objective, begun, max_iter=2)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(begun, name), getattr(twin, name))


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cronus_lets_go_of_units_that_hardly_count(seed, logistic):
    """There a weight counts by the share of rows that its stage sees, so that is how it has to be small."""
    case = pose("cronus", "cascade", "wide", logistic=logistic, n=200, sharpness=5.0, cost_weight=0.3, seed=seed)
    objective = replace(case.objective, l1_weight=1e-5)
    solution = solve_jointly(objective, start(objective), tol=0.05)
    roots = objective.penalty.roots(solution.parameters.squares(), objective.traverse(solution.parameters).mass)
    assert roots[roots > 0].min(initial=1.0) >= SMALLEST
    assert solution.residual <= 0.05
