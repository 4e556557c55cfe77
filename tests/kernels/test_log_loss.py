"""The log-loss against its formulas."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from thrifty.kernels.log_loss import log_loss_derivatives, sum_of_class_log_losses, sum_of_log_losses

SCORES = np.array([-800.0, -40.0, -1.5, 0.0, 0.3, 2.0, 800.0])
CLASSES = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0])
WEIGHTS = np.array([1.0, 2.0, 0.0, 0.5, 3.0, 1.0, 1.0])


def probability(score):
    return 1.0 / (1.0 + math.exp(-score)) if score > -700 else 0.0


def test_derivatives_of_a_block_of_rows():
    gradient, hessian = np.full((2, 7), 99.0)
    log_loss_derivatives(SCORES, CLASSES, WEIGHTS, 1, 7, gradient, hessian)
    assert gradient[0] == hessian[0] == 99.0  # before the block
    for i in range(1, 7):
        p = probability(SCORES[i])
        assert gradient[i] == pytest.approx(WEIGHTS[i] * (p - CLASSES[i]), abs=1e-15)
        assert hessian[i] == pytest.approx(WEIGHTS[i] * p * (1 - p), abs=1e-15)


def test_the_sum_counts_weights_and_does_not_overflow():
    right = [probability(s if y else -s) for s, y in zip(SCORES, CLASSES, strict=True)]
    of_rows = [-math.log(p) for p in right]
    assert sum_of_log_losses(SCORES, CLASSES, WEIGHTS) == pytest.approx((WEIGHTS @ of_rows, WEIGHTS.sum()))
    assert sum_of_log_losses(SCORES[:1], 1 - CLASSES[:1], WEIGHTS[:1]) == pytest.approx((800.0, 1.0))


def test_the_loss_of_several_classes_and_its_derivatives():
    random = np.random.default_rng(0)
    scores, weight = random.normal(size=(40, 3)), random.random(40)
    targets = np.eye(3)[random.integers(3, size=40)]
    slope, offsets = 2.5, np.array([0.3, -0.2, 0.0])

    def loss_of(parameters):
        odds = parameters[0] * scores + parameters[1:]
        return weight @ (logsumexp(odds, axis=1) - (targets * odds).sum(axis=1))

    parameters, gradient = np.array([slope, *offsets]), np.empty(4)
    assert sum_of_class_log_losses(slope, offsets, scores, targets, weight, gradient) == pytest.approx(
        loss_of(parameters)
    )
    np.testing.assert_allclose(gradient, approx_fprime(parameters, loss_of, 1e-7), atol=1e-4)
    assert np.isfinite(sum_of_class_log_losses(1e4, offsets, scores, targets, weight, gradient))  # no overflow
