"""ASTC whose rows are on a device: the same features and thresholds as in NumPy. X stays on the device."""

import sys

import array_api_strict as strict
import numpy as np
import pytest
from sklearn.base import clone

import thrifty
from thrifty import ASTCClassifier, ASTCRegressor, CostModel
from thrifty.arrays import counted_moves
from thrifty.exceptions import MissingExtraError

N, D = 1500, 14
COSTS = CostModel(np.linspace(0.5, 4.0, D).round(1), bundles={"panel": ([1, 2, 3], 3.0)})
MODELS = {
    "regression": ASTCRegressor(max_depth=4, node_budget=5.0),
    "one product": ASTCRegressor(max_depth=3, node_budget=40.0),
    "soft": ASTCRegressor(max_depth=3, node_budget=5.0, soft=True),
    "without intercept": ASTCRegressor(max_depth=3, node_budget=5.0, fit_intercept=False),
    "guarantees": ASTCRegressor(max_depth=2, node_budget=5.0, compute_guarantee=True, min_gain=0),
    "two classes": ASTCClassifier(max_depth=3, node_budget=5.0),
    "three classes": ASTCClassifier(max_depth=3, node_budget=5.0),
}


def table(missing=0.0, integers=False):
    random = np.random.default_rng(0)
    X = random.normal(size=(N, D)) @ (np.eye(D) + 0.4 * random.normal(size=(D, D)))
    X = np.round(X) if integers else X * random.uniform(0.1, 30, D) + random.uniform(-50, 50, D)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = Z @ random.normal(size=D) + 1.5 * np.abs(Z[:, 0]) + random.normal(size=N)
    X[random.random((N, D)) < missing] = np.nan
    return X, y


def targets_for(model, y, name):
    if "three" in name:
        return np.digitize(y, [-1.0, 1.0])
    return (y > 0).astype(int) if hasattr(model, "predict_proba") else y


def same_tree(found, wanted, X):
    for ours, theirs in zip(found.nodes_, wanted.nodes_, strict=True):
        assert (ours.features, ours.bought) == (theirs.features, theirs.bought)
        assert ours.n_samples == pytest.approx(theirs.n_samples, rel=1e-6)
        assert (ours.gamma is None) == (theirs.gamma is None) == (found.compute_guarantee is False)
        assert ours.gamma is None or ours.gamma == pytest.approx(theirs.gamma, rel=1e-6)
    np.testing.assert_allclose(found.tree_.threshold, wanted.tree_.threshold, rtol=1e-6, atol=1e-8)
    ours, theirs = found.acquire(X), wanted.acquire(X)
    np.testing.assert_array_equal(ours.acquired, theirs.acquired)
    np.testing.assert_allclose(ours.score, theirs.score, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("name", MODELS)
def test_tree_equals_the_one_grown_in_numpy(name, missing):
    X, y = table(missing)
    costs = None if "guarantees" in name else COSTS  # there are no guarantees for bundles
    model = clone(MODELS[name]).set_params(costs=costs)
    y, weight = targets_for(model, y, name), np.random.default_rng(1).integers(1, 4, N).astype(float)
    wanted = clone(model).fit(X, y, weight)
    same_tree(model.fit(*map(strict.asarray, (X, y, weight))), wanted, X)


def test_rows_on_a_threshold_go_where_prediction_sends_them():
    X, y = table(integers=True)  # many rows have the median score
    model = ASTCRegressor(costs=COSTS, max_depth=4, node_budget=5.0).fit(strict.asarray(X), strict.asarray(y))
    leaves = np.flatnonzero(model.tree_.upper < 0)
    ends = np.bincount(model.acquire(X).exit, minlength=model.tree_.n_nodes)
    np.testing.assert_array_equal(ends[leaves], [model.nodes_[k].n_samples for k in leaves])


def test_single_precision_grows_the_same_tree():
    X, y = table()
    single = X.astype(np.float32)
    wanted = ASTCRegressor(costs=COSTS, max_depth=3, node_budget=5.0).fit(single, y)
    same_tree(clone(wanted).fit(strict.asarray(single), strict.asarray(y)), wanted, single)


def test_x_stays_on_the_device():
    X, y = table()
    there = strict.asarray(X)
    model = ASTCRegressor(costs=COSTS, max_depth=3, node_budget=40.0)
    with counted_moves() as moves, thrifty.models.training_record.without_fingerprint():
        model.fit(there, y)
    assert moves.to_host < X.size / 2  # sums, and one projection per row and split
    assert moves.to_device < 3 * X.size  # positions, weights and targets of the rows of each node


def test_bad_devices_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"ASTCRegressor: device is 3; expected None, "):
        ASTCRegressor(device=3).fit(*table())
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="PyTorch"):
        ASTCRegressor(device="cuda").fit(*table())


def test_rows_return_to_this_process_for_device_cpu():
    X, y = table()
    wanted = ASTCRegressor(costs=COSTS, max_depth=2).fit(X, y)
    found = ASTCRegressor(costs=COSTS, max_depth=2, device="cpu").fit(strict.asarray(X), strict.asarray(y))
    np.testing.assert_array_equal(found.predict(X), wanted.predict(X))


def test_pytorch_grows_the_same_tree():
    torch = pytest.importorskip("torch")
    X, y = table(0.1)
    wanted = ASTCRegressor(costs=COSTS, max_depth=3, node_budget=5.0).fit(X, y)
    same_tree(clone(wanted).fit(torch.asarray(X), torch.asarray(y)), wanted, X)
