"""How far from stationary: the price of the first bit of a weight, and the residual that is built on it."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, PRICES, draw, pose
from thrifty.models.expected_cost.joint import solve_jointly
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.start import start
from thrifty.models.expected_cost.stationarity import FEW, Stationarity

SHAPES = [(kind, shape) for kind, shapes in KINDS.items() for shape in shapes]


def everywhere(objective):
    return np.ones(objective.topology.n_nodes, dtype=bool)


def blank(objective):
    """Return parameters without weights, whose intercepts are the mean targets."""
    parameters = draw(objective, zeros=1.0)
    mean = objective.loss_weight @ objective.targets / objective.loss_weight.sum()
    return replace(parameters, intercepts=np.tile(mean, (objective.topology.n_nodes, 1)))


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_the_first_bit_of_a_weight_costs_what_is_said(kind, shape, prices, m):
    """Leaving zero along a unit vector, the objective changes by its slope and the first price."""
    objective = pose(kind, shape, prices, m=m).objective
    parameters, step = draw(objective, zeros=0.7), 1e-7
    evaluation = objective.evaluate(parameters)
    prices = objective.first_price(parameters, evaluation)
    away = np.random.default_rng(0).normal(size=m)
    away /= np.linalg.norm(away)
    for k, j in np.argwhere(parameters.squares() == 0):
        weights = parameters.weights.copy()
        weights[k, :, j] = step * away
        change = (objective.value(replace(parameters, weights=weights)) - evaluation.value) / step
        assert change == pytest.approx(evaluation.weights[k, :, j] @ away + prices[k, j], rel=1e-4, abs=1e-5)


def test_at_a_cost_weight_above_the_largest_a_node_buys_nothing_and_below_it_something():
    objective = replace(pose("cstc", "leaf", "bundles").objective, l1_weight=0.0)
    free = objective.penalty.per_feature(objective.penalty.unit_costs[None])[0] == 0
    objective = replace(objective, X=objective.X * ~free)
    largest = objective.largest_cost_weight()
    for factor, buys in ((1.001, False), (0.999, True)):
        priced = replace(objective, cost_weight=factor * largest)
        assert (Stationarity.of(priced, blank(priced), everywhere(priced)).excess.max() > 0) == buys


def test_a_stationary_point_has_no_residual():
    objective = pose("cstc", "leaf", "plain", cost_weight=100.0).objective
    objective = replace(objective, l1_weight=100.0)
    assert Stationarity.of(objective, blank(objective), everywhere(objective)).residual < 1e-12


def test_a_column_that_equals_the_target_has_a_residual_of_one():
    """Where nothing is known yet and nothing costs anything."""
    objective = replace(pose("cstc", "leaf", cost_weight=0.0).objective, l1_weight=0.0)
    even = np.full(len(objective.X), 1 / len(objective.X))
    objective = replace(objective, targets=objective.X[:, :1], weight=even, loss_weight=even)
    residual = Stationarity.of(objective, blank(objective), everywhere(objective)).residual
    assert residual == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_where_the_residual_is_small_no_step_leads_down(kind, shape, logistic):
    """Central differences, one entry at a time, gain no more than the residual allows and the curvature takes."""
    objective = pose(kind, shape, n=100, logistic=logistic, sharpness=4.0, cost_weight=0.02).objective
    solution = solve_jointly(objective, start(objective), max_iter=300, tol=1e-3)
    parameters, value = solution.parameters, objective.value(solution.parameters)
    assert solution.residual <= 5e-3
    step, allowed = 0.01, 5e-3 * objective.steepest
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
        parameters = fit_leaves(objective, parameters, np.array([4]), from_here=True)
    state = Stationarity.of(objective, parameters, np.arange(7) == 4)
    assert state.residual < 1e-3 < Stationarity.of(objective, parameters, everywhere(objective)).residual
    assert not state.excess[np.arange(7) != 4].any()


@pytest.mark.parametrize("copies", [1, 2, FEW, FEW + 1, 3 * FEW])
def test_of_columns_that_tell_the_same_a_few_are_let_in(copies):
    """However many there are, and if there is but one."""
    objective = pose("cstc", "leaf", cost_weight=0.0).objective
    columns = np.zeros(copies, dtype=int)
    objective = replace(objective, X=objective.X[:, columns], penalty=objective.penalty.on(columns))
    state = Stationarity.of(objective, blank(objective), everywhere(objective))
    let_in = state.tempted(1e-4)[0, 0] != 0
    assert 1 <= let_in.sum() <= FEW


def test_tempted_weights_lead_down():
    objective = pose("cstc", "full", cost_weight=0.01).objective
    begun = blank(objective)
    first_step = Stationarity.of(objective, begun, everywhere(objective)).tempted(1e-4)
    assert first_step.any()
    shortened = replace(begun, weights=begun.weights + 0.1 * first_step)
    assert objective.value(shortened) < objective.value(begun)
