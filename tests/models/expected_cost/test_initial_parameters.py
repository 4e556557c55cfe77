"""Initial parameters (section 3.4.2): level by level, each node as if the tree ended there."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, draw, pose
from thrifty.models.expected_cost.initial_parameters import fit_as_leaves, initial_parameters, split
from thrifty.models.expected_cost.leaves import fit_leaves

SHAPES = [(kind, shape) for kind, shapes in KINDS.items() for shape in shapes]


@pytest.fixture(params=SHAPES, ids="-".join)
def problem(request):
    kind, shape = request.param
    return pose(kind, shape, "bundles", n=200, cost_weight=0.05)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_each_node_is_fitted_as_if_the_tree_ended_there(kind, shape, m):
    objective = pose(kind, shape, "bundles", m=m, n=200, cost_weight=0.05).objective
    initial, depth = initial_parameters(objective), objective.topology.depth
    for level in range(depth.max() + 1):
        kept = depth <= level
        cut, above = objective.with_topology(objective.topology.keep(kept)), initial.take(np.flatnonzero(kept))
        leaves = np.flatnonzero(cut.topology.depth == level)
        np.testing.assert_allclose(fit_leaves(cut, above, leaves).weights, above.weights, atol=1e-12)
        np.testing.assert_allclose(fit_leaves(cut, above, leaves).intercepts, above.intercepts, atol=1e-12)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_thresholds_send_half_of_the_rows_either_way(kind, shape, m):
    objective = pose(kind, shape, m=m, n=200, cost_weight=0.05).objective
    initial = initial_parameters(objective)
    soft = objective.traverse(initial)
    scores = soft.scores.reshape(len(soft.scores), -1, m)
    for k in range(objective.topology.n_nodes):
        here = objective.weight * soft.reach[:, k]
        above = here @ (scores[:, k] @ initial.directions[k] > initial.thresholds[k])
        assert abs(above / here.sum() - 0.5) <= here.max() / here.sum()


def test_the_direction_is_the_first_principal_component_of_the_scores():
    objective = pose(m=3, n=200, cost_weight=0.05).objective
    initial = initial_parameters(objective)
    soft = objective.traverse(initial)
    scores = soft.scores.reshape(len(soft.scores), -1, 3)
    random = np.random.default_rng(0).normal(size=(3, 500))
    random /= np.linalg.norm(random, axis=0)
    for k in range(objective.topology.n_nodes):
        covariance = np.cov(scores[:, k].T, aweights=objective.weight * soft.reach[:, k])
        own = initial.directions[k]
        assert np.linalg.norm(own) == pytest.approx(1.0)
        assert own @ covariance @ own >= np.einsum("ir,ij,jr->r", random, covariance, random).max() - 1e-12
        assert own[np.abs(own).argmax()] > 0


@pytest.mark.parametrize("upper_sign", [1.0, -1.0])
def test_the_direction_of_a_single_score_is_the_upper_sign(upper_sign):
    objective = replace(pose("cscc", "cascade").objective, upper_sign=upper_sign)
    np.testing.assert_array_equal(initial_parameters(objective).directions, upper_sign)


def test_initial_parameters_are_deterministic():
    objective = pose(m=3).objective
    first, second = initial_parameters(objective), initial_parameters(replace(objective))
    for name in ("weights", "intercepts", "thresholds", "directions"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_other_nodes_do_not_change():
    objective = pose("cstc", "irregular").objective
    before = draw(objective)
    after, others = fit_as_leaves(objective, before, np.array([4])), np.arange(7) != 4
    np.testing.assert_array_equal(after.weights[others], before.weights[others])
    np.testing.assert_array_equal(after.thresholds[others], before.thresholds[others])
    assert (after.weights[4] != before.weights[4]).any()


@pytest.mark.parametrize(
    ("values", "weight", "cut"),
    [
        ([3.0, 1.0, 2.0, 4.0], [1, 1, 1, 1], 2.5),
        ([0.0, 0.0, 0.0, 1.0], [1, 1, 1, 1], 0.5),
        ([0.0, 1.0, 2.0], [1, 1, 5], 1.5),
        ([0.0, 1.0, 2.0], [5, 1, 1], 0.5),
        ([1.0, 1.0 + 1e-13, 2.0, 3.0], [1, 1, 1, 1], 1.5),
        ([7.0, 7.0, 7.0], [1, 1, 1], 7.0),
        ([7.0], [1], 7.0),
        ([1.0, 2.0], [0, 0], 1.5),
    ],
)
def test_an_even_split_lies_between_two_different_values_if_there_are_any(values, weight, cut):
    assert split(np.array(values), np.array(weight, dtype=float)) == pytest.approx(cut)


def test_a_sample_represents_all_rows():
    objective = pose("cscc", "cascade", n=3000, cost_weight=0.05).objective
    sample = objective.sample(1000)
    assert len(sample.X) == len(np.unique(sample.X, axis=0)) == 1000
    assert sample.weight.sum() == pytest.approx(1.0)
    parameters = draw(objective)
    assert sample.value(parameters) == pytest.approx(objective.value(parameters), rel=0.1)
    assert objective.sample(3000) is objective
