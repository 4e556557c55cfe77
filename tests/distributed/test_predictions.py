"""Predictions on Dask collections: lazy, with the types, partitions and index of X, and equal to those in memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from thrifty import ASTCRegressor, AttentiveClassifier, CSTCClassifier, GreedyMiserClassifier, GreedyMiserRegressor

FIELDS = ("prediction", "score", "acquired", "spend", "feature_spend", "evaluation_spend", "exit")
MODELS = {
    "ASTC": ASTCRegressor(max_depth=2),
    "Greedy Miser": GreedyMiserRegressor(n_estimators=5),
    "Greedy Miser of classes": GreedyMiserClassifier(n_estimators=5),
    "attentive": AttentiveClassifier(),
    "CSTC": CSTCClassifier(max_depth=2, max_iter=3, tol=10.0),
}


@pytest.fixture(scope="module")
def frame(table):
    return pd.DataFrame(table[0], columns=list("abcdefghi"), index=np.arange(len(table[0])) * 2)[:400]


@pytest.fixture(scope="module")
def fitted(table, frame):
    """Return a function that fits a model by name once."""
    known = {}

    def fit(name):
        if name not in known:
            target = table[1][:400]
            if name in ("attentive", "CSTC"):
                target = np.where(target > 0, "yes", "no")
            known[name] = clone(MODELS[name]).fit(frame, table[2][:400] if "of classes" in name else target)
        return known[name]

    return fit


@pytest.mark.parametrize("name", MODELS)
def test_acquisitions_equal_those_in_memory(fitted, frame, name):
    model, parts = fitted(name), dd.from_pandas(frame, npartitions=3)
    here, lazy = model.acquire(frame), model.acquire(parts)
    fields = [getattr(lazy, field) for field in FIELDS]
    with dask.config.set(scheduler="synchronous"):
        computed = dask.compute(*fields)
    for field, collection, values in zip(FIELDS, fields, computed, strict=True):
        np.testing.assert_array_equal(values, getattr(here, field), err_msg=field)
        np.testing.assert_array_equal(values.index, frame.index)
        assert collection.divisions == parts.divisions
        assert values.ndim == collection.ndim
    if hasattr(model, "predict_proba"):
        lazy = model.predict_proba(parts)
        assert lazy.columns.tolist() == model.classes_.tolist()
        np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), model.predict_proba(frame))


@pytest.mark.parametrize("name", ["ASTC", "Greedy Miser of classes"])
def test_arrays_with_empty_chunks(table, name):
    X = table[0][:400].astype(np.float32)
    model = clone(MODELS[name]).fit(X, table[2][:400] if "of classes" in name else table[1][:400])
    parts = da.from_array(X, chunks=((100, 0, 300), 5))
    for field in FIELDS:
        lazy, here = getattr(model.acquire(parts), field), getattr(model.acquire(X), field)
        assert (lazy.shape, lazy.dtype) == (here.shape, here.dtype)
        np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), here)


def test_caps_for_each_row(fitted, frame):
    model, parts = fitted("Greedy Miser"), dd.from_pandas(frame, npartitions=3)
    caps = pd.Series(np.arange(len(frame)) % 5, index=frame.index, dtype=float)
    lazy = model.spend(parts, dd.from_pandas(caps, npartitions=3))
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), model.spend(frame, caps.to_numpy()))
    np.testing.assert_array_equal(model.predict(parts, 2.0).compute(scheduler="synchronous"), model.predict(frame, 2.0))


def test_other_columns_are_refused_at_once(fitted, frame):
    with pytest.raises(ValueError, match="feature names"):
        fitted("ASTC").predict(dd.from_pandas(frame.rename(columns={"a": "z"}), npartitions=2))


def test_no_value_is_read_that_was_not_acquired(fitted, frame):
    model = fitted("Greedy Miser")
    here = model.acquire(frame, 3.0)
    poisoned = dd.from_pandas(frame.where(here.acquired), npartitions=4)
    np.testing.assert_array_equal(model.predict(poisoned, 3.0).compute(scheduler="synchronous"), here.prediction)


def test_predictions_beside_rows_of_unknown_divisions(fitted, frame):
    model, parts = fitted("Greedy Miser"), dd.from_pandas(frame, npartitions=2).clear_divisions()
    answers = model.predict(parts)
    assert answers.name == "prediction"
    beside = dd.concat([parts, answers], axis=1, ignore_unknown_divisions=True).compute(scheduler="synchronous")
    np.testing.assert_array_equal(beside["prediction"], model.predict(frame))
    assigned = parts.assign(answer=answers).compute(scheduler="synchronous")
    np.testing.assert_array_equal(assigned.loc[frame.index, "answer"], model.predict(frame))
