"""The kernels of soft trees equal the reference, on blocks of rows and for very large and small numbers."""

import numpy as np
import pytest

from reference import cstc as reference
from thrifty.kernels.soft_tree import ascend_rows, descend_rows, loss_at

N, K = 40, 5
UPPER, LOWER = np.array([1, 3, -1, -1, -1]), np.array([2, -1, 4, -1, -1])  # nodes 1 and 2 have one child, 3 and 4 none
LEAVES = np.array([False, False, False, True, True])


def rows(m, seed=0, spread=1.0):
    random = np.random.default_rng(seed)
    directions = random.normal(size=(K, m))
    return (
        spread * random.normal(size=(N, K * m)),
        random.uniform(0.5, 1.5, N) / N,
        directions / np.linalg.norm(directions, axis=1, keepdims=True),
        random.normal(size=K),
    )


def descend(scores, weight, directions, thresholds, sharpness, blocks):
    """Run the kernel on each block of rows; return sigma, reach, mass and exit_mass."""
    filled = np.full((2, N, K), np.nan)
    added = np.zeros(K), np.zeros((K, 2))
    for first, last in blocks:
        descend_rows(
            scores, weight, UPPER, LOWER, directions, thresholds, sharpness, first, last, *filled, *added
        )  # fmt: skip
    return *filled, *added


def as_tree(directions, thresholds, sharpness):
    """Return a tree of the reference whose features are the scores themselves."""
    m = directions.shape[1]
    weights = [np.eye(K * m)[k * m : (k + 1) * m] for k in range(K)]
    return reference.Tree(UPPER, LOWER, weights, [np.zeros(m)] * K, thresholds, directions, sharpness)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("blocks", [[(0, N)], [(20, N), (0, 7), (7, 20)]])
def test_probabilities_equal_the_reference(m, blocks):
    scores, weight, directions, thresholds = rows(m)
    sigma, reach, mass, exit_mass = descend(scores, weight, directions, thresholds, 1.7, blocks)
    tree = as_tree(directions, thresholds, 1.7)
    np.testing.assert_allclose(reach, reference.reach_probabilities(tree, scores), rtol=1e-12)
    np.testing.assert_allclose(mass, weight @ reach, rtol=1e-12)
    for k in np.flatnonzero(~LEAVES):
        np.testing.assert_allclose(sigma[:, k], reference.transition(tree, scores, k), rtol=1e-12)
    exits = weight @ reference.exit_probabilities(tree, scores)
    np.testing.assert_allclose(exit_mass[[1, 2, 3, 4], [1, 0, 0, 0]], exits, rtol=1e-12)
    assert exit_mass.sum() == pytest.approx(weight.sum())


def test_other_rows_are_not_changed():
    _, reach, mass, _ = descend(*rows(1), 1.0, [(3, 9)])
    touched = np.zeros(N, dtype=bool)
    touched[3:9] = True
    np.testing.assert_array_equal(np.isnan(reach).all(axis=1), ~touched)
    assert mass[0] == pytest.approx(rows(1)[1][3:9].sum())


def test_probabilities_are_0_or_1_far_from_a_threshold():
    scores, weight, directions, thresholds = rows(1, spread=1e6)
    sigma, reach, _, exit_mass = descend(scores, weight, directions, thresholds, 1e3, [(0, N)])
    assert np.isin(sigma[:, ~LEAVES], [0.0, 1.0]).all()
    assert np.isin(reach, [0.0, 1.0]).all()
    assert exit_mass.sum() == pytest.approx(weight.sum())


def ascend(scores, targets, weight, loss_weight, directions, thresholds, prices, logistic, by_exit, blocks):
    """Return the total loss, the residual and the gradient of the thresholds, computed on blocks of rows."""
    sigma, reach, *_ = descend(scores, weight, directions, thresholds, 1.7, [(0, N)])
    residual, threshold_gradient = np.full_like(scores, np.nan), np.zeros(K)
    losses = [
        ascend_rows(
            scores, targets, weight, loss_weight, UPPER, LOWER, directions, 1.7, sigma, reach, *prices,
            logistic, by_exit, first, last, residual, threshold_gradient,
        )
        for first, last in blocks
    ]  # fmt: skip
    return sum(losses), residual, threshold_gradient


@pytest.mark.parametrize("by_exit", [False, True])
@pytest.mark.parametrize(("m", "logistic"), [(1, False), (1, True), (3, False), (3, True)])
def test_loss_and_derivatives_equal_the_reference(m, logistic, by_exit):
    scores, weight, directions, thresholds = rows(m)
    random = np.random.default_rng(1)
    targets = np.where(random.random((N, 1)) > 0.5, 1.0, -1.0) if m == 1 else np.eye(m)[random.integers(m, size=N)]
    loss_weight = weight * random.uniform(0.5, 3.0, N)
    prices = random.uniform(size=K), random.uniform(size=(K, 2))

    def value(scores, thresholds):
        """Return the loss of the reference, and the objective: loss plus penalty of the masses."""
        problem = reference.Problem(
            scores, targets, weight, np.eye(K * m, dtype=bool), np.zeros(K * m),
            "logistic" if logistic else "squared", class_weights=loss_weight / weight,
        )  # fmt: skip
        tree = as_tree(directions, thresholds, 1.7)
        loss = (reference.cascade_loss if by_exit else reference.tree_loss)(tree, problem)
        _, _, mass, exit_mass = descend(scores, weight, directions, thresholds, 1.7, [(0, N)])
        return loss, loss + prices[0] @ mass + (prices[1] * exit_mass).sum()

    arguments = scores, targets, weight, loss_weight, directions, thresholds, prices, logistic, by_exit
    loss, residual, threshold_gradient = ascend(*arguments, [(0, N)])
    assert loss == pytest.approx(value(scores, thresholds)[0], rel=1e-12)
    np.testing.assert_allclose(residual, differences(lambda s: value(s, thresholds)[1], scores), atol=1e-8)
    np.testing.assert_allclose(threshold_gradient, differences(lambda t: value(scores, t)[1], thresholds), atol=1e-8)

    in_blocks = ascend(*arguments, [(0, 11), (11, 30), (30, N)])
    assert in_blocks[0] == pytest.approx(loss, rel=1e-12)
    np.testing.assert_array_equal(in_blocks[1], residual)
    np.testing.assert_allclose(in_blocks[2], threshold_gradient, rtol=1e-10)


def differences(function, at, step=1e-6):
    """Return the gradient of a function of an array by central differences."""
    slopes = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        moved = np.zeros(at.shape)
        moved[place] = step
        slopes[place] = (function(at + moved) - function(at - moved)) / (2 * step)
    return slopes


@pytest.mark.parametrize("margin", [-1e4, -750.0, -30.0, 0.0, 30.0, 750.0, 1e4])
@pytest.mark.parametrize("target", [-1.0, 1.0])
def test_logistic_loss_of_any_margin(margin, target):
    slope = np.empty(1)
    loss = loss_at(np.array([[9.0, target * margin]]), np.array([[target]]), 0, 1, 1, True, slope)
    assert loss == pytest.approx(np.logaddexp(0.0, -margin), rel=1e-12, abs=1e-300)
    assert slope[0] == pytest.approx(-target / (1 + np.exp(min(margin, 700.0))), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("shift", [-1e4, 0.0, 1e4])
def test_cross_entropy_of_any_scores(shift):
    scores, slope = np.array([[0.3, -1.2, 2.0]]) + shift, np.empty(3)
    loss = loss_at(scores, np.array([[0.0, 1.0, 0.0]]), 0, 0, 3, True, slope)
    shares = np.exp([0.3, -1.2, 2.0]) / np.exp([0.3, -1.2, 2.0]).sum()
    assert loss == pytest.approx(-np.log(shares[1]), rel=1e-9)
    np.testing.assert_allclose(slope, shares - [0, 1, 0], atol=1e-9)
