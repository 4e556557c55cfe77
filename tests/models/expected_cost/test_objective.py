"""Value, bound and gradients of the objective against the plain transcription and finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from models.expected_cost.problems import KINDS, PRICES, as_tree, draw, pose
from reference import cstc as reference
from thrifty.models.expected_cost.objective import Auxiliaries, Objective, Parameters

EXACT = 1e-11  # prices are rounded to twelve digits of the dearest
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


def roots_of(objective: Objective, parameters: Parameters) -> Auxiliaries:
    return objective.auxiliaries(parameters, objective.traverse(parameters).mass)


def test_the_value_is_the_papers(case):
    parameters = draw(case.objective)
    expected = reference.objective(case.kind, as_tree(case.objective, parameters), case.problem)
    assert case.objective.value(parameters) == pytest.approx(expected, rel=EXACT)


def test_the_bound_is_lemma_1(case):
    """Held at the roots of other parameters, none of them zero."""
    parameters, other = draw(case.objective), draw(case.objective, seed=9, zeros=0.0)
    gamma, eta = reference.auxiliaries(case.kind, as_tree(case.objective, other), case.problem)
    expected = reference.relaxed_majorant(case.kind, as_tree(case.objective, parameters), case.problem, gamma, eta)
    ours = case.objective.evaluate(parameters, roots_of(case.objective, other)).value
    assert ours == pytest.approx(expected, rel=EXACT)


def test_the_bound_touches_where_it_is_held_and_is_nowhere_below(case):
    objective, held_there = case.objective, draw(case.objective, zeros=0.0)
    held_at = roots_of(objective, held_there)
    assert objective.evaluate(held_there, held_at).value == pytest.approx(objective.value(held_there), rel=EXACT)
    gaps = [
        objective.evaluate(there, held_at).value - objective.value(there)
        for there in (draw(objective, seed) for seed in range(1, 10))
    ]
    assert min(gaps) > 1e-3


def test_the_traversal_is_the_papers(case):
    parameters, w = draw(case.objective), case.problem.w
    soft, tree = case.objective.traverse(parameters), as_tree(case.objective, parameters)
    np.testing.assert_allclose(soft.reach, reference.reach_probabilities(tree, case.problem.X), rtol=1e-12)
    np.testing.assert_allclose(soft.mass, w @ soft.reach, rtol=1e-12)
    exits = w @ reference.exit_probabilities(tree, case.problem.X)
    np.testing.assert_allclose(soft.exit_mass[case.objective.topology.ends], exits, rtol=1e-12)
    assert soft.exit_mass.sum() == pytest.approx(1.0)
    assert not soft.exit_mass[~case.objective.topology.ends].any()


def slopes(objective, parameters, name, held_at, step=1e-6):
    """Return central differences by every entry of one field of the parameters."""
    values = getattr(parameters, name)
    differences = np.zeros(values.shape)
    for at in np.ndindex(values.shape):
        there = []
        for sign in (1, -1):
            moved = values.copy()
            moved[at] += sign * step
            there.append(objective.evaluate(replace(parameters, **{name: moved}), held_at).value)
        differences[at] = (there[0] - there[1]) / (2 * step)
    return differences


@pytest.mark.parametrize("of", ["objective", "bound"])
@pytest.mark.parametrize("name", ["weights", "intercepts", "thresholds"])
def test_gradients_are_finite_differences(case, name, of):
    """The objective has a kink where a weight is zero, so there are none in it; its bound is smooth."""
    objective = case.objective
    parameters = draw(objective, zeros=0.0 if of == "objective" else 0.4)
    held_at = None if of == "objective" else roots_of(objective, draw(objective, seed=9, zeros=0.0))
    gradient = getattr(objective.evaluate(parameters, held_at), name)
    np.testing.assert_allclose(gradient, slopes(objective, parameters, name, held_at), rtol=2e-5, atol=2e-7)


def test_single_precision_changes_little(case):
    parameters = draw(case.objective)
    single = replace(case.objective, X=case.objective.X.astype(np.float32))
    ours, theirs = single.evaluate(parameters), case.objective.evaluate(parameters)
    assert ours.value == pytest.approx(theirs.value, rel=1e-5)
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-4)
