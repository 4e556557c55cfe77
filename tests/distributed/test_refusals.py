"""Collections that cannot be fitted or predicted: one clear error, which names the partition."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor

from thrifty import (
    ASTCClassifier,
    ASTCRegressor,
    AttentiveClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    TableModel,
)

GOOD = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.1, 0.2], "y": [1.0, 0.0, 2.0]})
BAD = {
    "X lacks column 'b'": GOOD.drop(columns="b"),
    "X has column 'c'": GOOD.assign(c=1.0),
    "column 'b' of X has dtype int64; expected float64": GOOD.assign(b=[1, 2, 3]),
    "columns in the order": GOOD[["b", "a", "y"]],
    "infinity": GOOD.assign(b=[1.0, np.inf, 2.0]),
    "y contains NaN": GOOD.assign(y=[1.0, np.nan, 2.0]),
}


def collection(bad, columns):
    """Return a collection whose second partition is bad; the types of partitions are not verified by Dask."""
    others = [name for name in GOOD if name not in columns]
    parts = [dask.delayed(each.drop(columns=others, errors="ignore")) for each in (GOOD, bad, GOOD)]
    return dd.from_delayed(parts, meta=GOOD.iloc[:0][columns], verify_meta=False)


@pytest.mark.parametrize("message", BAD)
def test_the_error_names_the_partition(client, message):
    X, y = collection(BAD[message], ["a", "b"]), collection(BAD[message], ["y"])["y"]
    with pytest.raises(ValueError, match=f"(?i)^ASTCRegressor: partition 1: .*{message}"):
        ASTCRegressor().fit(X, y)


def test_an_error_of_the_source_names_the_partition(client):
    X = dd.from_delayed([dask.delayed(GOOD), dask.delayed(GOOD[["a", "y"]])], meta=GOOD.iloc[:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"^ASTCRegressor: partition 1: .*'b'"):
        ASTCRegressor().fit(X[["a", "b"]], X["y"])


def test_other_errors_of_the_source_have_a_note_with_the_partition(client):
    def read(position):
        if position:
            raise OSError("the disk is gone")
        return GOOD

    X = dd.from_map(read, [0, 1], meta=GOOD.iloc[:0])
    with pytest.raises(OSError, match="the disk is gone") as caught:
        ASTCRegressor().fit(X[["a", "b"]], X["y"])
    assert caught.value.__notes__ == ["ASTCRegressor: this error was raised when partition 1 of X was read."]


@pytest.mark.parametrize("weight", [[1.0, -1.0], [1.0, np.nan], [1e300, 1.0]])
def test_weights(client, weight):
    X, weights = da.ones((4, 2), chunks=(2, 2)), da.from_array([1.0, 1.0, *weight], chunks=2)
    with pytest.raises(ValueError, match=r"^ASTCRegressor: (?!.*ASTCRegressor).*sample_weight"):
        ASTCRegressor().fit(X, X[:, 0], weights)


def test_a_missing_class_names_the_partition(client):
    y = [dask.delayed(pd.Series(each, dtype="string")) for each in (["no", "yes"], ["no", None])]
    with pytest.raises(ValueError, match=r"^ASTCClassifier: partition 1: y contains NaN or another missing value"):
        ASTCClassifier().fit(da.ones((4, 2), chunks=(2, 2)), dd.from_delayed(y))


def test_a_prediction_names_the_partition(client):
    model = ASTCRegressor(min_samples_leaf=1).fit(GOOD[["a", "b"]], GOOD["y"])
    with pytest.raises(ValueError, match=r"^partition 1 of X: "):
        model.predict(collection(GOOD.drop(columns="b"), ["a", "b"])).compute()


def test_columns_that_are_not_numbers(client):
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "colour": ["red", "blue"]}), npartitions=1)
    with pytest.raises(TypeError, match="column 'colour' has dtype"):
        ASTCRegressor().fit(frame, frame["a"])


def test_an_estimator_that_needs_all_rows_says_which_do_not(client):
    X = da.ones((10, 2), chunks=(5, 2))
    for model in (AttentiveClassifier(), TableModel(ASTCClassifier())):
        with pytest.raises(TypeError, match=rf"^{type(model).__name__}: X is a Dask collection.*ASTCClassifier"):
            model.fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (da.ones((10, 2), chunks=(5, 2)), np.ones(10), "y is a numpy ndarray but X is a Dask collection"),
        (da.ones((10, 2), chunks=(5, 2)), da.ones(9, chunks=3), "y has 9 entries for the 10 rows"),
        (da.ones((0, 2), chunks=(5, 2)), da.ones(0, chunks=3), "no rows"),
        (da.ones((2, 2, 2), chunks=1), da.ones(2, chunks=1), "3 axes"),
    ],
)
def test_other_shapes(client, X, y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ASTCRegressor().fit(X, y)


def test_one_class(client):
    with pytest.raises(ValueError, match="at least 2 classes"):
        ASTCClassifier().fit(da.ones((10, 2), chunks=(5, 2)), da.ones(10, chunks=5))


def test_a_feature_map_needs_all_rows(client):
    model = ASTCRegressor(feature_map=GradientBoostingRegressor(n_estimators=2))
    with pytest.raises(ValueError, match="needs all rows in one process"):
        model.fit(da.ones((10, 2), chunks=(5, 2)), da.arange(10, chunks=5))


@pytest.mark.parametrize("message", BAD)
def test_the_booster_names_the_partition(client, message):
    X, y = collection(BAD[message], ["a", "b"]), collection(BAD[message], ["y"])["y"]
    with pytest.raises(ValueError, match=f"(?i)^GreedyMiserRegressor: partition 1: .*{message}"):
        GreedyMiserRegressor().fit(X, y)


def test_a_value_that_is_not_a_category_names_the_partition(client):
    X, y = collection(GOOD.assign(b=[1.0, 0.5, 2.0]), ["a", "b"]), collection(GOOD, ["y"])["y"]
    with pytest.raises(ValueError, match=r"^GreedyMiserRegressor: partition 0: categorical feature 'b' holds 0\.5"):
        GreedyMiserRegressor(categorical_features=["b"]).fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GreedyMiserRanker(), r"^GreedyMiserRanker: loss='lambdarank' needs all rows in one process"),
        (GreedyMiserRegressor(early_stopping=True), r"early_stopping=True needs all rows in one process.*Pass"),
        (GreedyMiserRanker(loss="squared_error"), r"query 3 has rows in partition 0 and in partition 1"),
    ],
)
def test_settings_that_need_all_rows(client, model, message):
    X = da.ones((10, 2), chunks=(5, 2))
    with pytest.raises(ValueError, match=message):
        model.fit(X, X[:, 0], qid=da.from_array(np.repeat([1, 2, 3, 4], [2, 1, 4, 3]), chunks=5))
