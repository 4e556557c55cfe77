"""Calibration errors, computed again row by row."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from thrifty.evaluation.calibration import Calibration


def naive_error(probabilities, codes):
    gaps = 0.0
    for b in range(10):
        rows = [i for i, row in enumerate(probabilities) if b / 10 < max(row) <= (b + 1) / 10]
        if rows:
            stated = sum(max(probabilities[i]) for i in rows)
            right = sum(int(np.argmax(probabilities[i]) == codes[i]) for i in rows)
            gaps += abs(stated - right)
    return gaps / len(codes)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_errors_are_those_of_the_formulas(n_classes):
    random = np.random.default_rng(n_classes)
    probabilities, codes = random.dirichlet(np.ones(n_classes), 200), random.integers(n_classes, size=200)
    found = Calibration.of(probabilities, codes)
    assert found.expected_error == pytest.approx(naive_error(probabilities, codes))
    squares = [sum((p - (k == c)) ** 2 for k, p in enumerate(row)) for row, c in zip(probabilities, codes, strict=True)]
    assert found.brier == pytest.approx(np.mean(squares) / (2 if n_classes == 2 else 1))
    assert sum(each.n_rows for each in found.bins) == 200
    if n_classes == 2:
        assert found.brier == pytest.approx(brier_score_loss(codes, probabilities[:, 1]))


def test_certain_and_correct_answers_have_no_error():
    found = Calibration.of(np.eye(3)[[0, 1, 2, 1]], np.array([0, 1, 2, 1]))
    assert (found.expected_error, found.brier, len(found.bins)) == (0.0, 0.0, 1)
    assert (found.bins[0].stated, found.bins[0].right, found.bins[0].high) == (1.0, 1.0, 1.0)
