"""The Greedy Miser on workers: the same trees as in memory, however rows are divided."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from thrifty import CostModel, GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, load, save

COSTS = CostModel([1.0, 2.0, 1.0, 0.0, 3.0, 1.0, 1.0, 2.0, 1.0], bundles={"panel": ([1, 2, 4], 2.0)})
FEW = {"costs": COSTS, "cost_weight": 1e-4, "n_estimators": 6}
MODELS = {
    "squared error": GreedyMiserRegressor(**FEW),
    "two classes": GreedyMiserClassifier(**FEW, l2_regularization=1.0),
    "three classes": GreedyMiserClassifier(**FEW, max_depth=2),
    "each row pays": GreedyMiserRegressor(**FEW, charge="row", budget=4.0),
    "classes, each row pays": GreedyMiserClassifier(**FEW, charge="row", max_depth=2),
    "drawn rows": GreedyMiserRegressor(**FEW, subsample=0.5, max_features=0.6, random_state=3, max_leaf_nodes=5),
    "lookahead": GreedyMiserRegressor(**FEW | {"cost_weight": 3e-3, "n_estimators": 2}, lookahead=True, max_depth=2),
    "evaluation costs": GreedyMiserRegressor(**FEW, evaluation_cost=0.5, budget=9.0),
    "categories": GreedyMiserRegressor(**FEW, categorical_features=[8], max_bins=20),
}


@pytest.fixture(scope="module")
def rows(table):
    """Return X with a column of categories, and targets of each kind."""
    X, y, classes = table
    X = X.copy()
    X[:, 8] = np.digitize(X[:, 8], [0.0, 4.0, 9.0]) * 3
    return X, {"number": y, "two": classes == "low", "three": classes}


def target_of(name, targets):
    return targets["two" if "two" in name else "three" if "classes" in name else "number"]


def same_model(one, other):
    """Assert that two models have the same splits, and the same values and history up to rounding."""
    for field in ("feature", "threshold", "left", "right", "missing_left", "starts"):
        ours, theirs = (getattr(each.forest_, field, None) for each in (one, other))
        np.testing.assert_array_equal(ours, theirs, err_msg=field)
    np.testing.assert_allclose(one.forest_.value, other.forest_.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(one.features_, other.features_)
    for name, values in other.history_.items():
        np.testing.assert_allclose(one.history_[name], values, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_one_of_the_fit_in_memory(client, rows, name, tmp_path):
    X, y = rows[0], target_of(name, rows[1])
    parts = da.from_array(X, chunks=((700, 0, 13, 2287), 4))  # skewed, one of them empty, columns in several chunks
    fitted = clone(MODELS[name]).fit(parts, da.from_array(y, chunks=1000))
    in_memory = clone(MODELS[name]).fit(X, y)
    assert in_memory.n_iter_ > 1
    same_model(fitted, in_memory)
    assert fitted.training_.n_rows == len(X)
    save(fitted, tmp_path / "model.thrifty")
    assert np.array_equal(load(tmp_path / "model.thrifty").predict(X[:50]), fitted.predict(X[:50]))
