"""Soft trees in functions of the array API equal the compiled kernels."""

import array_api_strict as strict
import numpy as np
import pytest

from thrifty.kernels import soft_tree_arrays
from thrifty.kernels.soft_tree import ascend_rows, descend_rows

N = 50
TREES = {
    "full": ([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1]),
    "irregular": ([1, 3, -1, -1, -1], [2, -1, 4, -1, -1]),
    "not by level": ([1, 2, -1, -1, -1], [4, 3, -1, -1, -1]),
    "cascade": ([1, 2, -1], [-1, -1, -1]),
    "leaf": ([-1], [-1]),
}
DEPTHS = {
    "full": [0, 1, 1, 2, 2, 2, 2],
    "irregular": [0, 1, 1, 2, 2],
    "not by level": [0, 1, 2, 2, 1],
    "cascade": [0, 1, 2],
    "leaf": [0],
}
LIBRARIES = {"NumPy": np, "strict": strict}


class Soft:
    """A tree with random scores, for the compiled kernels and for those of array functions."""

    def __init__(self, name, m=1, spread=1.0):
        random = np.random.default_rng(0)
        self.upper, self.lower = map(np.array, TREES[name])
        self.K, self.m = len(self.upper), m
        self.tree = lambda xp: soft_tree_arrays.level_tree(
            self.upper, self.lower, np.array(DEPTHS[name]), lambda array: xp.asarray(np.ascontiguousarray(array))
        )
        self.scores = spread * random.normal(size=(N, self.K * m))
        self.weight = random.uniform(0.5, 1.5, N) / N
        self.loss_weight = self.weight * random.uniform(0.5, 3.0, N)
        self.directions = random.normal(size=(self.K, m))
        self.thresholds = random.normal(size=self.K)
        self.targets = np.eye(m)[random.integers(m, size=N)] if m > 1 else np.sign(random.normal(size=(N, 1)))
        self.prices = random.uniform(size=self.K), random.uniform(size=(self.K, 2))
        self.inner = (self.upper >= 0) | (self.lower >= 0)

    def compiled(self):
        sigma, reach = np.zeros((2, N, self.K))
        mass, exit_mass = np.zeros(self.K), np.zeros((self.K, 2))
        descend_rows(
            self.scores, self.weight, self.upper, self.lower, self.directions, self.thresholds, 1.7, 0, N,
            sigma, reach, mass, exit_mass,
        )  # fmt: skip
        return sigma, reach, mass, exit_mass

    def derivatives(self, logistic, by_exit):
        sigma, reach, *_ = self.compiled()
        by_score, by_threshold = np.zeros_like(self.scores), np.zeros(self.K)
        loss = ascend_rows(
            self.scores, self.targets, self.weight, self.loss_weight, self.upper, self.lower, self.directions, 1.7,
            sigma, reach, *self.prices, logistic, by_exit, 0, N, by_score, by_threshold,
        )  # fmt: skip
        return loss, by_score, by_threshold


@pytest.mark.parametrize("xp", LIBRARIES.values(), ids=LIBRARIES)
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("name", TREES)
def test_probabilities_equal_the_compiled_kernel(name, m, xp):
    soft = Soft(name, m)
    arrays = [xp.asarray(each) for each in (soft.scores, soft.weight, soft.directions, soft.thresholds)]
    found = [np.asarray(each) for each in soft_tree_arrays.descend(xp, soft.tree(xp), *arrays, 1.7)]
    sigma, *others = soft.compiled()
    np.testing.assert_allclose(found[0][:, soft.inner], sigma[:, soft.inner], rtol=1e-10)
    for array, wanted in zip(found[1:], others, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-10)


@pytest.mark.parametrize("xp", LIBRARIES.values(), ids=LIBRARIES)
@pytest.mark.parametrize("by_exit", [False, True])
@pytest.mark.parametrize(("m", "logistic"), [(1, False), (1, True), (3, False), (3, True)])
@pytest.mark.parametrize("name", TREES)
def test_loss_and_derivatives_equal_the_compiled_kernel(name, m, logistic, by_exit, xp):
    soft = Soft(name, m)
    place = xp.asarray
    tree = soft.tree(xp)
    scores, directions = place(soft.scores), place(soft.directions)
    sigma, reach, *_ = soft_tree_arrays.descend(
        xp, tree, scores, place(soft.weight), directions, place(soft.thresholds), 1.7
    )
    found = soft_tree_arrays.ascend(
        xp, tree, scores, place(soft.targets), place(soft.weight), place(soft.loss_weight), directions, 1.7,
        sigma, reach, *map(place, soft.prices), logistic, by_exit,
    )  # fmt: skip
    loss, by_score, by_threshold = soft.derivatives(logistic, by_exit)
    assert float(found[0]) == pytest.approx(loss, rel=1e-10)
    np.testing.assert_allclose(np.asarray(found[1]), by_score, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.asarray(found[2])[soft.inner], by_threshold[soft.inner], rtol=1e-10, atol=1e-12)


def test_large_scores_do_not_overflow():
    soft = Soft("full", spread=1e6)
    arrays = [soft.scores, soft.weight, soft.directions, soft.thresholds]
    found = soft_tree_arrays.descend(np, soft.tree(np), *arrays, 1e3)
    assert np.isin(found[1], [0.0, 1.0]).all()
    losses, slopes = soft_tree_arrays.losses_at(np, soft.scores.T, soft.targets, soft.K, True)
    np.testing.assert_allclose(losses, np.logaddexp(0.0, -soft.scores * soft.targets).T, rtol=1e-10)
    assert np.isfinite(slopes).all()
