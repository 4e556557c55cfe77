"""Value, bound and gradient of the objective, compared with the reference and with finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, PRICES, as_tree, draw, pose, with_rows
from reference import cstc as reference
from thrifty.models.expected_cost.objective import Auxiliaries, Objective
from thrifty.models.expected_cost.tree_parameters import Parameters

EXACT = 1e-11  # unit costs are rounded to twelve digits of the largest
CASES = [
    pytest.param((kind, shape, prices, m, logistic), id=f"{kind}-{shape}-{prices}-{m}-{'log' if logistic else 'sq'}")
    for kind, shapes in KINDS.items()
    for shape in shapes
    for prices in PRICES
    for m in (1, 3)
    for logistic in (False, True)
]


@pytest.fixture(params=CASES)
def case(request):
    kind, shape, prices, m, logistic = request.param
    return pose(kind, shape, prices, m=m, logistic=logistic)


def auxiliaries_of(objective: Objective, parameters: Parameters) -> Auxiliaries:
    return objective.auxiliaries(parameters, objective.traverse(parameters).mass)


def test_the_value_equals_that_of_the_reference(case):
    parameters = draw(case.objective)
    expected = reference.objective(case.kind, as_tree(case.objective, parameters), case.problem)
    assert case.objective.value(parameters) == pytest.approx(expected, rel=EXACT)


def test_the_bound_equals_that_of_the_reference(case):
    """For fixed auxiliary variables, those of other parameters without zeros."""
    parameters, other = draw(case.objective), draw(case.objective, seed=9, zeros=0.0)
    gamma, eta = reference.auxiliaries(case.kind, as_tree(case.objective, other), case.problem)
    expected = reference.relaxed_majorant(case.kind, as_tree(case.objective, parameters), case.problem, gamma, eta)
    value = case.objective.evaluate(parameters, auxiliaries_of(case.objective, other)).value
    assert value == pytest.approx(expected, rel=EXACT)


def test_the_bound_is_exact_at_its_auxiliaries_and_above_elsewhere(case):
    objective, exact_at = case.objective, draw(case.objective, zeros=0.0)
    auxiliaries = auxiliaries_of(objective, exact_at)
    assert objective.evaluate(exact_at, auxiliaries).value == pytest.approx(objective.value(exact_at), rel=EXACT)
    gaps = [
        objective.evaluate(there, auxiliaries).value - objective.value(there)
        for there in (draw(objective, seed) for seed in range(1, 10))
    ]
    assert min(gaps) > 1e-3


def test_the_traversal_equals_that_of_the_reference(case):
    parameters, w = draw(case.objective), case.problem.w
    soft, tree = case.objective.traverse(parameters), as_tree(case.objective, parameters)
    np.testing.assert_allclose(soft.reach, reference.reach_probabilities(tree, case.problem.X), rtol=1e-12)
    np.testing.assert_allclose(soft.mass, w @ soft.reach, rtol=1e-12)
    exits = w @ reference.exit_probabilities(tree, case.problem.X)
    np.testing.assert_allclose(soft.exit_mass[case.objective.topology.ends], exits, rtol=1e-12)
    assert soft.exit_mass.sum() == pytest.approx(1.0)
    assert not soft.exit_mass[~case.objective.topology.ends].any()


def finite_differences(objective, parameters, name, auxiliaries, step=1e-6):
    """Return central differences with respect to every entry of one field of the parameters."""
    values = getattr(parameters, name)
    differences = np.zeros(values.shape)
    for at in np.ndindex(values.shape):
        there = []
        for sign in (1, -1):
            moved = values.copy()
            moved[at] += sign * step
            there.append(objective.evaluate(replace(parameters, **{name: moved}), auxiliaries).value)
        differences[at] = (there[0] - there[1]) / (2 * step)
    return differences


@pytest.mark.parametrize("of", ["objective", "bound"])
@pytest.mark.parametrize("name", ["weights", "intercepts", "thresholds"])
def test_gradients_are_finite_differences(case, name, of):
    """The objective has kinks at zero weights, so it is tested without any. The bound is smooth."""
    objective = case.objective
    parameters = draw(objective, zeros=0.0 if of == "objective" else 0.4)
    auxiliaries = None if of == "objective" else auxiliaries_of(objective, draw(objective, seed=9, zeros=0.0))
    gradient = getattr(objective.evaluate(parameters, auxiliaries), name)
    np.testing.assert_allclose(
        gradient, finite_differences(objective, parameters, name, auxiliaries), rtol=2e-5, atol=2e-7
    )


def test_single_precision_changes_little(case):
    parameters = draw(case.objective)
    single = with_rows(case.objective, X=case.objective.X.astype(np.float32))
    single, double = single.evaluate(parameters), case.objective.evaluate(parameters)
    assert single.value == pytest.approx(double.value, rel=1e-5)
    np.testing.assert_allclose(single.weights, double.weights, atol=1e-4)
