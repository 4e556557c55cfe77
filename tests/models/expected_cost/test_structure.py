"""The structure of the tree, chosen on validation rows (section 3.6)."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import make_scorer, r2_score

from thrifty import CSTCRegressor
from thrifty.datasets import make_quadrants
from thrifty.models.expected_cost.fitting import store, validation_score
from thrifty.models.expected_cost.initial_parameters import initial_parameters
from thrifty.models.expected_cost.joint_solver import Solution
from thrifty.models.expected_cost.problem import pose
from thrifty.models.expected_cost.structure import _with_child, grown, pruned
from thrifty.models.expected_cost.topology import LOWER, UPPER, Topology


def search(rows, held_out, **settings):
    """Return the objective of a problem, and the function that scores trees on the held-out rows."""
    model = CSTCRegressor(**{"max_depth": 3, "structure": "prune", "cost_weight": 1e-3} | settings)
    problem = pose(model, model._located(rows.X, rows.y), (held_out.X, held_out.y))
    return problem.objective, partial(validation_score, model, problem)


def two_sided(seed, n=400):
    """The sign of one column changes the slope of another, so a root and two leaves are enough."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    X[:, 0] = np.resize([1, -1], n)  # half of the rows each, so that the threshold lies between them
    return SimpleNamespace(X=X, y=X[:, 0] * (3 + X[:, 1]))


def linear(seed, n=300):
    """A linear function, for which the root is enough."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return SimpleNamespace(X=X, y=X @ [1.0, -2.0, 0.5, 3.0])


def quadrants(seed):
    return make_quadrants(800, label_means=(27, 9, -9, -27), random_state=seed)


FREE = {  # without penalties the root is not shrunk, so a child can only gain if the data need it
    "cost_weight": 0.0,
    "l1_weight": 0.0,
    "scoring": make_scorer(lambda y, predicted: round(r2_score(y, predicted), 9)),
}
PROBLEMS = {"two_sided": (two_sided, {}), "quadrants": (quadrants, {"costs": quadrants(0).costs})}


@pytest.fixture(params=PROBLEMS)
def posed(request):
    make, settings = PROBLEMS[request.param]
    return search(make(0), make(1), **settings)


def test_pruning_does_not_lower_the_score_and_keeps_the_root(posed):
    objective, score = posed
    initial = initial_parameters(objective)
    topology, parameters = pruned(objective, score)
    assert score(objective.with_topology(topology), parameters) >= score(objective, initial)
    np.testing.assert_array_equal(parameters.weights[0], initial.weights[0])
    remaining = {weights.tobytes() for weights in parameters.weights}
    assert remaining <= {weights.tobytes() for weights in initial.weights}
    assert topology.n_nodes == len(parameters.weights)


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_growing_stops_when_no_node_raises_the_score(posed, max_depth):
    objective, score = posed
    topology, parameters = grown(objective, max_depth, score)
    tree = objective.with_topology(topology)
    assert topology.depth.max() < max_depth
    alone = objective.with_topology(Topology.full(1))
    reached = score(tree, parameters)
    assert reached > score(alone, initial_parameters(alone)) or topology.n_nodes == 1
    for node, side in np.argwhere(np.column_stack([topology.upper, topology.lower]) == -1):
        if topology.depth[node] + 1 < max_depth:
            larger, candidate = _with_child(tree, parameters, node, (UPPER, LOWER)[side])
            assert score(objective.with_topology(larger), candidate) <= reached


def test_a_useless_subtree_is_pruned_and_never_grown():
    objective, score = search(two_sided(0), two_sided(1), **FREE)
    for topology, parameters in (pruned(objective, score), grown(objective, 3, score)):
        assert topology.n_nodes == 3
        assert topology.depth.max() == 1
        assert score(objective.with_topology(topology), parameters) > 0.99


def test_useful_subtrees_are_kept_and_found():
    objective, score = search(quadrants(0), quadrants(1), costs=quadrants(0).costs)
    flat = grown(objective, 2, score)
    for topology, parameters in (pruned(objective, score), grown(objective, 3, score)):
        assert topology.depth.max() == 2
        assert score(objective.with_topology(topology), parameters) > score(objective.with_topology(flat[0]), flat[1])


def test_only_the_root_remains_if_nothing_else_helps():
    objective, score = search(linear(0), linear(1), **FREE)
    assert pruned(objective, score)[0].n_nodes == 1
    assert grown(objective, 3, score)[0].n_nodes == 1


@pytest.mark.parametrize("structure", ["prune", "grow"])
def test_the_fitted_tree_has_the_chosen_structure(structure):
    rows, held_out = two_sided(0), two_sided(1)
    model = CSTCRegressor(max_depth=3, structure=structure, **FREE)
    model.fit(rows.X, rows.y, validation=(held_out.X, held_out.y))
    assert model.tree_.n_nodes == 3
    assert model.score(held_out.X, held_out.y) > 0.99


def test_structures_are_scored_by_the_answers_that_are_served():
    rows, held_out = quadrants(0), quadrants(1)
    model = CSTCRegressor(max_depth=3, structure="prune", cost_weight=1e-3, costs=rows.costs)
    problem = pose(model, model._located(rows.X, rows.y), (held_out.X, held_out.y))
    parameters = initial_parameters(problem.objective)
    served = store(model, problem, Solution(parameters, [0.0]))
    assert validation_score(model, problem, problem.objective, parameters) == served.score(held_out.X, held_out.y)
