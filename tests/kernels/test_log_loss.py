"""The log-loss of two classes against its formulas."""

import math

import numpy as np
import pytest

from thrifty.kernels.log_loss import log_loss_derivatives, sum_of_log_losses

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
