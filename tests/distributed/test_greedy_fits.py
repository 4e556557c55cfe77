"""ASTC and the cost-weighted lasso on workers: the same models as in memory, however rows are divided."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from distributed import wait
from thrifty import (
    ASTCClassifier,
    ASTCRegressor,
    CostWeightedL1Classifier,
    CostWeightedL1Regressor,
    load,
    save,
)

COSTS = [1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0]
MODELS = {
    "ASTC": ASTCRegressor(costs=COSTS, max_depth=3, node_budget=3),
    "soft ASTC": ASTCRegressor(costs=COSTS, max_depth=3, node_budget=2, soft=True),
    "ASTC without intercept": ASTCRegressor(costs=COSTS, max_depth=2, node_budget=2, fit_intercept=False),
    "ASTC of classes": ASTCClassifier(costs=COSTS, max_depth=3, node_budget=3),
    "lasso": CostWeightedL1Regressor(costs=COSTS),
    "lasso of classes": CostWeightedL1Classifier(costs=COSTS),
}


def same_model(one, other):
    """Assert that two trees buy the same and have the same weights up to rounding."""
    for name, ours, theirs in zip(one.tree_.arrays._fields, one.tree_.arrays, other.tree_.arrays, strict=True):
        if name in ("features", "at", "bought_at", "upper", "lower"):
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9, err_msg=name)


@pytest.fixture(scope="module")
def in_memory(table):
    X, y, classes = table
    return {name: model.fit(X, classes if "classes" in name else y) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_one_of_the_fit_in_memory(client, table, in_memory, name, tmp_path):
    X, y, classes = table
    target = classes if "classes" in name else y
    parts = da.from_array(X, chunks=((700, 0, 13, 2287), 4))  # skewed, one of them empty, columns in several chunks
    fitted = type(MODELS[name])(**MODELS[name].get_params()).fit(parts, da.from_array(target, chunks=1000))
    same_model(fitted, in_memory[name])
    assert fitted.training_.n_rows == len(X)
    save(fitted, tmp_path / "model.thrifty")
    assert np.array_equal(load(tmp_path / "model.thrifty").predict(X[:50]), fitted.predict(X[:50]))


def test_data_frames_with_names_and_weights(client, table):
    X, y, _ = table
    frame = pd.DataFrame(X, columns=list("abcdefghi")).assign(y=y, w=np.arange(len(X)) % 3)
    parts = dd.from_pandas(frame, npartitions=3)
    model = ASTCRegressor(costs=dict(zip("abcdefghi", COSTS, strict=True)), max_depth=2, node_budget=3)
    fitted = model.fit(parts[list("abcdefghi")], parts["y"], parts["w"])
    features, target, weight = frame[list("abcdefghi")], frame["y"], frame["w"]
    same_model(fitted, ASTCRegressor(**model.get_params()).fit(features, target, weight))
    assert fitted.feature_names_in_.tolist() == list("abcdefghi")
    assert fitted.training_.n_rows == (frame["w"] > 0).sum()


def test_fractional_weights_are_rescaled_over_all_partitions(client, table):
    X, y, _ = table
    weight = np.linspace(0.001, 1.0, len(X))
    weight[900:1800] = 0.0  # of all rows of a partition
    model = CostWeightedL1Regressor(costs=COSTS)
    fitted = model.fit(*(da.from_array(each, chunks=(900, *each.shape[1:])) for each in (X, y, weight)))
    same_model(fitted, CostWeightedL1Regressor(costs=COSTS).fit(X, y, weight))


def test_rows_in_another_order(client, table):
    X, y, _ = table
    order = np.random.default_rng(1).permutation(len(X))
    model = ASTCRegressor(costs=COSTS, max_depth=3, node_budget=3)
    fitted = model.fit(da.from_array(X[order], chunks=(500, 9)), da.from_array(y[order], chunks=500))
    same_model(fitted, ASTCRegressor(**model.get_params()).fit(X, y))


def test_few_rows_in_many_columns(client):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(12, 20)), random.normal(size=12)
    fitted = CostWeightedL1Regressor().fit(da.from_array(X, chunks=(5, 20)), da.from_array(y, chunks=5))
    same_model(fitted, CostWeightedL1Regressor().fit(X, y))


def test_the_bytes_that_travel_do_not_grow_with_the_rows(client, table):
    """At most 32 KiB per node: sums of each feature, and about 1024 projections in each round of the search."""
    X, y, _ = table
    moved = {}
    for copies in (8, 32):
        many = da.from_array(np.tile(np.column_stack([X, y]), (copies, 1)), chunks=(1500 * copies, 10)).persist()
        wait(many)
        before = _bytes_sent(client)
        ASTCRegressor(costs=COSTS, max_depth=3, node_budget=3).fit(many[:, :9], many[:, 9])
        moved[copies] = _bytes_sent(client) - before
    assert max(moved.values()) < 7 * 2**15 < 8 * 1500 * 32  # less than one column of a block
    assert moved[32] < 1.1 * moved[8]


def _bytes_sent(client):
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())
