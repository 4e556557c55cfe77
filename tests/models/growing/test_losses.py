"""Derivatives of losses are compared with finite differences, those of LambdaRank with a sum over all pairs."""

import numpy as np
import pytest

from reference.greedy_miser import lambdas
from thrifty.models.growing.losses import LambdaRank, LogLoss, SoftmaxLoss, SquaredError

N = 30
EVERYTHING = slice(None)


def losses():
    random = np.random.default_rng(0)
    weight = random.uniform(0.5, 2, size=N)
    classes = np.eye(3)[:, random.integers(0, 3, size=N)]
    return [
        (SquaredError(random.normal(size=N), weight), 1),
        (LogLoss(random.integers(0, 2, size=N).astype(float), weight), 1),
        (SoftmaxLoss(classes, weight), 3),
    ]


@pytest.mark.parametrize(("loss", "n_scores"), losses(), ids=lambda each: type(each).__name__)
def test_derivatives(loss, n_scores):
    scores = np.random.default_rng(1).normal(size=(n_scores, N))
    gradient, hessian = loss.derivatives(scores)
    for k in range(n_scores):
        for i in range(0, N, 7):
            values = []
            for step in (-1e-4, 0.0, 1e-4):
                moved = scores.copy()
                moved[k, i] += step
                values.append(loss.value(moved, EVERYTHING) * loss.weight.sum())
            np.testing.assert_allclose(gradient[k, i], (values[2] - values[0]) / 2e-4, rtol=1e-5, atol=1e-7)
            second = (values[2] - 2 * values[1] + values[0]) / 1e-8
            factor = 1.5 if n_scores == 3 else 1.0  # k / (k - 1) for k = 3 classes
            np.testing.assert_allclose(hessian[k, i], factor * second, rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize(("loss", "n_scores"), losses(), ids=lambda each: type(each).__name__)
def test_the_base_is_the_best_constant(loss, n_scores):
    scores = np.repeat(loss.base(EVERYTHING)[:, None], N, axis=1)
    np.testing.assert_allclose(loss.derivatives(scores)[0].sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_lambdarank_against_all_pairs(tied):
    random = np.random.default_rng(2)
    qid = random.integers(0, 4, size=40)
    labels = random.integers(0, 4, size=40).astype(float)
    scores = np.zeros(40) if tied else random.normal(size=40)
    gradient, hessian = LambdaRank(labels, np.ones(40), qid).derivatives(scores[None])
    for query in range(4):
        rows = np.flatnonzero(qid == query)
        expected = lambdas(scores[rows].tolist(), labels[rows].tolist())
        np.testing.assert_allclose(gradient[0, rows], expected[0])
        np.testing.assert_allclose(hessian[0, rows], expected[1])
