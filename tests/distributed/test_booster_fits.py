"""The Greedy Miser on workers: the same trees as in memory, however rows are divided."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from distributed import wait
from thrifty import CostModel, GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, load, save
from thrifty.models.growing import binning

COSTS = CostModel([1.0, 2.0, 1.0, 0.0, 3.0, 1.0, 1.0, 2.0, 1.0], bundles={"panel": ([1, 2, 4], 2.0)})
FEW = {"costs": COSTS, "cost_weight": 1e-4, "n_estimators": 3, "max_depth": 3, "random_state": 0}
MODELS = {
    "squared error": GreedyMiserRegressor(**FEW),
    "two classes": GreedyMiserClassifier(**FEW, l2_regularization=1.0),
    "lookahead": GreedyMiserRegressor(**FEW | {"cost_weight": 0.01, "n_estimators": 2, "max_depth": 1}, lookahead=True),
    "three classes": GreedyMiserClassifier(**FEW | {"n_estimators": 2, "max_depth": 2}),
    "each row pays": GreedyMiserRegressor(**FEW, charge="row", budget=4.0, categorical_features=[8], max_bins=20),
    "drawn rows": GreedyMiserRegressor(
        **FEW, subsample=0.5, max_features=0.6, max_leaf_nodes=5, evaluation_cost=0.5, budget=8.0
    ),
}


BINS = 700  # rows of the sample that bins are chosen on


@pytest.fixture(autouse=True)
def smaller_sample(monkeypatch):
    monkeypatch.setattr(binning, "MAX_ROWS", BINS)


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


def test_data_frames_with_names_and_weights(client, rows):
    X, targets = rows
    names = list("abcdefghi")
    frame = pd.DataFrame(X, columns=names).assign(y=targets["number"], w=np.linspace(0.0, 1.0, len(X)))
    parts = dd.from_pandas(frame, npartitions=3)
    model = GreedyMiserRanker(loss="squared_error", cost_weight=1e-4, n_estimators=2, random_state=0)
    fitted = clone(model).fit(parts[names], parts["y"], parts["w"], qid=parts["w"])
    same_model(fitted, clone(model).fit(frame[names], frame["y"], frame["w"]))
    assert fitted.feature_names_in_.tolist() == names
    assert "GreedyMiserRanker" in str(fitted.outline())


def test_sums_that_are_exact_give_exactly_the_same_model_in_any_partitioning(client):
    """Targets and scores are multiples of powers of two, and leaves have powers of two of rows."""
    grid = np.stack(np.meshgrid(*[[0.0, 1.0]] * 6, indexing="ij"), axis=-1).reshape(-1, 6)
    X = np.random.default_rng(0).permutation(np.tile(grid, (16, 1)))
    y = X @ [8.0, 4.0, 2.0, 1.0, 0.5, 0.0]
    model = GreedyMiserRegressor(cost_weight=1e-6, learning_rate=0.5, n_estimators=3, min_samples_leaf=1)
    expected = clone(model).fit(X, y)
    for chunk in (333, 500):
        fitted = clone(model).fit(da.from_array(X, chunks=(chunk, 6)), da.from_array(y, chunks=chunk))
        for field in ("feature", "threshold", "left", "right", "value"):
            np.testing.assert_array_equal(getattr(fitted.forest_, field), getattr(expected.forest_, field))
    assert len(expected.features_) >= 4


def test_only_sums_travel_whatever_the_number_of_rows(client, rows):
    """Each histogram has 8 bytes for each bin of each feature, and one for missing values."""
    X, targets = rows
    n_codes = 20 * X.shape[1] + X.shape[1]
    model = GreedyMiserRegressor(**FEW | {"cost_weight": 0.0}, max_bins=20)
    moved = {}
    for copies in (4, 16):
        parts = da.from_array(np.tile(X, (copies, 1)), chunks=(1500 * copies, 9)).persist()
        y = da.from_array(np.tile(targets["number"], copies), chunks=1500 * copies).persist()
        wait([parts, y])
        fits = [clone(model).set_params(n_estimators=n) for n in (1, 5)]
        before = [bytes_sent(client)]
        for each in fits:
            each.fit(parts, y)
            before.append(bytes_sent(client))
        moved[copies] = (before[2] - 2 * before[1] + before[0]) / 4  # by each further round
    n_histograms, n_blocks = 4, 2  # of the root, and of the smaller child of each of three splits
    one_column = 8 * 1500 * 4  # of a block
    assert max(moved.values()) < n_blocks * (n_histograms * 8 * n_codes + 1000) < one_column
    assert moved[16] < 1.2 * moved[4]


def bytes_sent(client):
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def test_a_folder_of_parquet_files(client, rows, tmp_path):
    X, targets = rows
    names = list("abcdefghi")
    frame = pd.DataFrame(X, columns=names).assign(y=targets["number"])
    for k, first in enumerate(range(0, len(frame), 250)):
        frame[first : first + 250].to_parquet(tmp_path / f"{k:02}.parquet")
    parts = dd.read_parquet(tmp_path)  # Dask joins partitions if it reads few columns of them
    model = GreedyMiserRegressor(**FEW | {"n_estimators": 1})
    fitted = clone(model).fit(parts[names], parts["y"])
    same_model(fitted, clone(model).fit(frame[names], frame["y"]))


def test_paths_share_the_coded_rows(client, rows):
    X, targets = rows
    parts = da.from_array(X, chunks=(1600, 9)), da.from_array(targets["number"], chunks=1600)
    model = GreedyMiserRegressor(**FEW | {"n_estimators": 2})
    weights = [1e-4, 1e-2]
    paths = [model.path(*each, cost_weights=weights) for each in (parts, (X, targets["number"]))]
    for ours, theirs in zip(*paths, strict=True):
        same_model(ours, theirs)


def test_validation_rows_stay_in_this_process(client, rows):
    X, targets = rows
    y = targets["number"]
    stops = {"early_stopping": True, "n_iter_no_change": 1, "learning_rate": 1.0, "n_estimators": 5}
    model = GreedyMiserRegressor(**FEW | stops)
    validation = X[2700:], y[2700:]
    parts = da.from_array(X[:2700], chunks=(1600, 9)), da.from_array(y[:2700], chunks=1600)
    fitted = clone(model).fit(*parts, validation=validation)
    same_model(fitted, clone(model).fit(X[:2700], y[:2700], validation=validation))
    assert {"validation_score", "validation_spend"} <= fitted.history_.keys()
