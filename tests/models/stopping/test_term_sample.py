"""The sample of training rows with the values of all terms."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from thrifty.models.stopping.predictors import read_terms
from thrifty.models.stopping.term_sample import TermSample, evenly_spaced

X, Y = load_breast_cancer(return_X_y=True)
X, TARGETS, COUNT = scale(X), 2.0 * Y[:, None] - 1, 1.0 + np.arange(len(X)) % 3


def sampled(predictor, rows=X):
    return TermSample.of(read_terms(predictor, 30, np.zeros(30)), rows, TARGETS, COUNT)


def test_rows_that_are_support_vectors_are_left_out():
    """The kernel of a support vector with itself is larger than with any new row."""
    machine = SVC().fit(X, Y)
    others = np.setdiff1d(np.arange(len(X)), machine.support_)
    assert len(others) > len(X) / 2
    sample = sampled(machine)
    np.testing.assert_allclose(sample.scores[:, 0], machine.decision_function(X[others]))
    np.testing.assert_array_equal(sample.count, COUNT[others])
    np.testing.assert_array_equal(sample.targets, TARGETS[others])


def test_support_vectors_are_kept_if_few_other_rows_are_left():
    machine = SVC(gamma=5.0).fit(X, Y)
    assert len(machine.support_) > len(X) / 2
    assert len(sampled(machine).values) == len(X)


def test_moments_treat_weights_as_repeated_rows():
    sample = sampled(LogisticRegression().fit(X, Y))
    repeated = np.repeat(X, COUNT.astype(int), axis=0)
    np.testing.assert_allclose(sample.means, repeated.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(sample.variances, repeated.var(axis=0))
    np.testing.assert_allclose(sample.strengths, repeated.std(axis=0) * np.abs(sample.weights[0]))


def test_of_many_rows_evenly_spaced_ones_are_used_spaced(monkeypatch):
    monkeypatch.setattr("thrifty.models.stopping.term_sample.MAX_ROWS", 100)
    predictor = LogisticRegression().fit(X, Y)
    for rows in (X, csr_matrix(X)):
        sample = sampled(predictor, rows)
        np.testing.assert_allclose(sample.scores[:, 0], predictor.decision_function(X[evenly_spaced(len(X), 100)]))


@pytest.mark.parametrize(("n", "most", "expected"), [(3, 10, [0, 1, 2]), (5, 3, [0, 2, 4]), (1, 5, [0])])
def test_evenly_spaced(n, most, expected):
    assert evenly_spaced(n, most).tolist() == expected
