"""The joint solver: it ends at stationary points, and lets zero weights become nonzero."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, draw, pose
from thrifty.models.expected_cost.initial_parameters import initial_parameters
from thrifty.models.expected_cost.joint_solver import solve_jointly
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.stationarity import Stationarity
from thrifty.models.expected_cost.tree_parameters import FIELDS

SHAPES = [(kind, shape) for kind, shapes in KINDS.items() for shape in shapes]


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_a_stationary_point_does_not_change(kind, shape):
    objective = pose(kind, shape, sharpness=4.0, cost_weight=0.05).objective
    ended = solve_jointly(objective, initial_parameters(objective), max_iter=500, tol=1e-5)
    again = solve_jointly(objective, ended.parameters, max_iter=500, tol=1e-2)
    assert len(again.history) <= 4
    assert again.history[-1] == pytest.approx(ended.history[-1], rel=1e-4)
    for name in ("weights", "intercepts", "directions"):
        np.testing.assert_allclose(getattr(again.parameters, name), getattr(ended.parameters, name), atol=0.02)
    before, after = objective.traverse(ended.parameters), objective.traverse(again.parameters)
    np.testing.assert_allclose(after.reach, before.reach, atol=0.02)  # a threshold beyond all scores may differ


@pytest.mark.parametrize("off", [0.0, 0.3])
def test_zero_weights_become_nonzero(off):
    """Even if the intercept is already optimal, so that a round without the weights makes no progress."""
    objective = pose("cstc", "leaf", n=200, cost_weight=0.001).objective
    zeros = replace(draw(objective, zeros=1.0), intercepts=(objective.weight @ objective.targets)[None] + off)
    usual = solve_jointly(objective, initial_parameters(objective), tol=1e-3)
    solution = solve_jointly(objective, zeros, tol=1e-3)
    assert solution.history[-1] == pytest.approx(usual.history[-1], rel=1e-3)
    assert solution.residual <= 1e-3


def test_only_free_nodes_change():
    objective = pose("cstc", "full", n=120, cost_weight=0.02).objective
    initial, free = draw(objective), np.isin(np.arange(7), [1, 4])
    initial.weights[0, 0, 0] = initial.weights[2, 0, 1] = 1e-6  # would be set to zero if the nodes were free
    solution = solve_jointly(objective, initial, free=free, tol=1e-3)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(solution.parameters, name)[~free], getattr(initial, name)[~free])
    assert (solution.parameters.weights[free] != initial.weights[free]).any()
    assert Stationarity.of(objective, solution.parameters, free).residual <= 1e-2
    assert solution.history[-1] < solution.history[0]


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cronus_drops_units_with_a_negligible_norm(seed, logistic):
    """The norm of a unit depends on the share of rows that reach the stages, not only on the weights."""
    case = pose("cronus", "cascade", "wide", logistic=logistic, n=200, sharpness=5.0, cost_weight=0.3, seed=seed)
    objective = replace(case.objective, l1_weight=1e-5)
    solution = solve_jointly(objective, initial_parameters(objective), tol=0.05)
    norms = objective.penalty.norms(solution.parameters.squares(), objective.traverse(solution.parameters).mass)
    assert norms[norms > 0].min(initial=1.0) >= SMALLEST
    assert solution.residual <= 0.05
