"""The record of a fit."""

import numpy as np
from scipy.sparse import csr_matrix

from thrifty import AttentiveClassifier, CostWeightedL1Regressor, Forest
from thrifty.models.training_record import fingerprint, without_fingerprint


def test_the_fingerprint_depends_on_values_targets_and_shape():
    X, y = np.arange(12.0).reshape(4, 3), np.arange(4.0)
    same = fingerprint(X.copy(), y.copy())
    assert fingerprint(X, y) == same
    for other in (fingerprint(X + 1, y), fingerprint(X, y + 1), fingerprint(X.reshape(3, 4), y)):
        assert other != same


def test_models_that_are_only_measured_are_not_hashed():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    with without_fingerprint():
        assert CostWeightedL1Regressor().fit(X, y).training_.fingerprint == ""
    assert len(CostWeightedL1Regressor().fit(X, y).training_.fingerprint) == 64


def test_sparse_fits_and_converted_forests_have_a_record_too():
    X, y = np.tile(np.eye(4), (10, 1)), np.tile([0, 1, 0, 1], 10)
    sparse = AttentiveClassifier().fit(csr_matrix(X), y)
    assert (sparse.training_.n_rows, len(sparse.training_.fingerprint)) == (40, 64)
    from sklearn.tree import DecisionTreeClassifier

    forest = Forest.from_model(DecisionTreeClassifier().fit(X, y)).with_costs()
    assert (forest.training_.n_rows, forest.training_.fingerprint) == (0, "")
