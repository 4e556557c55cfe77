"""Leaves in closed form: equal to eq. (16), and a minimum of the objective."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import PRICES, as_tree, draw, pose, with_rows
from reference import cstc as reference
from thrifty.models.expected_cost.leaves import ROUNDS, SMALL_CHANGE, fit_leaves
from thrifty.models.expected_cost.penalties import SMALLEST


def leaves_of(objective):
    return np.flatnonzero(~objective.topology.inner)


def iterated(case, parameters, k):
    """Return the leaf that alternating between (16) and (15) leads to, from the auxiliaries of weights of 1."""
    tree = as_tree(case.objective, parameters)
    reach = reference.reach_probabilities(tree, case.problem.X)[:, k]
    above = reference.unit_squares(tree, case.problem.requirement)[reference.path(tree, k)[:-1]].sum(axis=0)
    weights = np.ones((1, case.problem.X.shape[1]))
    for _ in range(ROUNDS):
        gamma, eta = np.abs(weights[0]), np.sqrt(weights[0] ** 2 @ case.problem.requirement + above)
        before = weights
        weights, intercept, *_ = reference.closed_form_leaf(case.problem, reach, above, gamma, eta)
        weights[np.abs(weights) < SMALLEST] = 0.0
        if np.abs(weights - before).max() < SMALL_CHANGE:
            break
    return weights, intercept


@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize(("kind", "shape"), [("cstc", "full"), ("cstc", "irregular"), ("cscc", "cascade")])
def test_a_leaf_equals_that_of_the_reference(kind, shape, prices):
    case = pose(kind, shape, prices)
    parameters = draw(case.objective)
    for k in leaves_of(case.objective):
        fitted = fit_leaves(case.objective, parameters, np.array([k]))
        weights, intercept = iterated(case, parameters, k)
        np.testing.assert_allclose(fitted.weights[k], weights, atol=1e-6)
        np.testing.assert_allclose(fitted.intercepts[k], intercept, atol=1e-6)
        others = np.arange(case.objective.topology.n_nodes) != k
        np.testing.assert_array_equal(fitted.weights[others], parameters.weights[others])
        np.testing.assert_array_equal(fitted.thresholds, parameters.thresholds)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize(("kind", "shape"), [("cstc", "full"), ("cscc", "cascade"), ("cronus", "cascade")])
def test_a_leaf_is_a_minimum(kind, shape, prices, m):
    """Fitting it again does not change it, and the gradient with respect to its nonzero weights is zero."""
    objective = replace(pose(kind, shape, prices, m=m, cost_weight=0.01).objective, l1_weight=1e-3)
    parameters, leaves = draw(objective), leaves_of(objective)
    fitted = fit_leaves(objective, parameters, leaves)
    assert objective.value(fitted) < objective.value(parameters)
    for _ in range(20):
        before, fitted = fitted, fit_leaves(objective, fitted, leaves, warm_start=True)
        assert objective.value(fitted) <= objective.value(before) + 1e-12
        assert not fitted.weights[before.weights == 0].any()
    slopes = objective.evaluate(fitted)
    assert np.abs(slopes.weights[leaves][fitted.weights[leaves] != 0]).max() < 1e-3 * objective.slope_scale
    assert np.abs(slopes.intercepts[leaves]).max() < 1e-8


def test_identical_columns_share_the_weight():
    objective, columns = pose("cstc", "leaf").objective, np.array([0, 0, 1])
    doubled = replace(
        with_rows(objective, X=objective.X[:, columns]),
        penalty=objective.penalty.for_columns(columns),
        cost_weight=0.0,
        l1_weight=0.0,
    )
    first, second, _ = fit_leaves(doubled, draw(doubled), np.array([0])).weights[0, 0]
    assert first == pytest.approx(second, rel=1e-3)
