"""The structure of the tree, found on validation rows: what is of no use goes, what is of use is found (3.6)."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import make_scorer, r2_score

from thrifty import CSTCRegressor
from thrifty.datasets import make_quadrants
from thrifty.models.expected_cost.start import start
from thrifty.models.expected_cost.structure import _with_child, grown, pruned
from thrifty.models.expected_cost.topology import LOWER, UPPER, Topology


def search(rows, held_out, **settings):
    """Pose a problem; return its objective, and how trees score on the rows held out."""
    model = CSTCRegressor(**{"max_depth": 3, "structure": "prune", "cost_weight": 1e-3} | settings)
    problem = model._pose(rows.X, rows.y, None, None, (held_out.X, held_out.y))
    return problem.objective, lambda objective, parameters: model._validation_score(problem, objective, parameters)


def two_sided(seed, n=400):
    """A sign turns the one slope that counts: a root and two leaves are all that helps."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    X[:, 0] = np.resize([1, -1], n)  # half of the rows each, for the threshold to lie between them
    return SimpleNamespace(X=X, y=X[:, 0] * (3 + X[:, 1]))


def linear(seed, n=300):
    """Nothing but a root is of use."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return SimpleNamespace(X=X, y=X @ [1.0, -2.0, 0.5, 3.0])


def quadrants(seed):
    return make_quadrants(800, label_means=(27, 9, -9, -27), random_state=seed)


FREE = {  # nothing shrinks, so that there is nothing for a child to make up for but rounding
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
    begun = start(objective)
    topology, parameters = pruned(objective, score)
    assert score(objective.along(topology), parameters) >= score(objective, begun)
    np.testing.assert_array_equal(parameters.weights[0], begun.weights[0])
    remaining = {weights.tobytes() for weights in parameters.weights}
    assert remaining <= {weights.tobytes() for weights in begun.weights}
    assert topology.n_nodes == len(parameters.weights)


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_growing_adds_what_raises_the_score_until_nothing_does(posed, max_depth):
    objective, score = posed
    topology, parameters = grown(objective, max_depth, score)
    tree = objective.along(topology)
    assert topology.depth.max() < max_depth
    alone = objective.along(Topology.full(1))
    reached = score(tree, parameters)
    assert reached > score(alone, start(alone)) or topology.n_nodes == 1
    for node, side in np.argwhere(np.column_stack([topology.upper, topology.lower]) == -1):
        if topology.depth[node] + 1 < max_depth:
            assert score(*_with_child(tree, parameters, node, (UPPER, LOWER)[side])) <= reached


def test_a_useless_subtree_is_pruned_and_never_grown():
    objective, score = search(two_sided(0), two_sided(1), **FREE)
    for topology, parameters in (pruned(objective, score), grown(objective, 3, score)):
        assert topology.n_nodes == 3
        assert topology.depth.max() == 1
        assert score(objective.along(topology), parameters) > 0.99


def test_useful_subtrees_are_kept_and_found():
    objective, score = search(quadrants(0), quadrants(1), costs=quadrants(0).costs)
    flat = grown(objective, 2, score)
    for topology, parameters in (pruned(objective, score), grown(objective, 3, score)):
        assert topology.depth.max() == 2
        assert score(objective.along(topology), parameters) > score(objective.along(flat[0]), flat[1])


def test_where_nothing_helps_the_root_is_all_there_is():
    objective, score = search(linear(0), linear(1), **FREE)
    assert pruned(objective, score)[0].n_nodes == 1
    assert grown(objective, 3, score)[0].n_nodes == 1


@pytest.mark.parametrize("structure", ["prune", "grow"])
def test_the_structure_is_the_fitted_trees(structure):
    rows, held_out = two_sided(0), two_sided(1)
    model = CSTCRegressor(max_depth=3, structure=structure, **FREE)
    model.fit(rows.X, rows.y, validation=(held_out.X, held_out.y))
    assert model.tree_.n_nodes == 3
    assert model.score(held_out.X, held_out.y) > 0.99
