"""Collections of odd types, partitions and tasks: the model of the fit in memory, or an error that says what to do."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from thrifty import ASTCClassifier, ASTCRegressor, BudgetSearchCV, GreedyMiserRegressor, TableModel

RANDOM = np.random.default_rng(0)
ROWS = pd.DataFrame(RANDOM.normal(size=(300, 3)), columns=list("abc"))
LEVEL = np.digitize(ROWS["c"], [-1.0, 0.0, 1.0]) * 2.0
Y = pd.Series(ROWS["a"] + ROWS["b"] * (LEVEL > 2) + RANDOM.normal(size=300) / 9, name="y")
MODELS = [ASTCRegressor(max_depth=2), GreedyMiserRegressor(n_estimators=2, max_depth=2, random_state=0)]


def cut(frame, sizes=(150, 0, 1, 149), **options):
    """Return a collection of partitions of these sizes."""
    ends = np.cumsum(sizes)
    parts = [dask.delayed(frame[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    return dd.from_delayed(parts, meta=frame[:0], **options)


COLUMNS = {
    "categories": pd.Categorical(LEVEL),
    "categories with missing values": pd.Categorical(np.where(LEVEL == 4, np.nan, LEVEL)),
    "booleans": LEVEL > 2,
    "nullable integers": pd.array(np.where(LEVEL == 4, None, LEVEL), dtype="Int64"),
    "Arrow booleans": pd.array(LEVEL > 2, dtype="bool[pyarrow]"),
    "Arrow numbers": pd.array(LEVEL, dtype="double[pyarrow]"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_numbers_of_all_types_are_those_in_memory(client, kind):
    X = ROWS.assign(c=COLUMNS[kind])
    for model in MODELS:
        here = model.fit(X, Y).predict(X)
        fitted = model.fit(cut(X), cut(Y))
        np.testing.assert_allclose(fitted.predict(X), here, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(fitted.predict(cut(X)).compute(scheduler="synchronous"), fitted.predict(X))


def test_partitions_with_other_categories(client):
    parts = [ROWS[k : k + 100].assign(c=pd.Categorical(LEVEL[k : k + 100].clip(0, k / 25))) for k in (0, 100, 200)]
    meta = parts[0][:0].assign(c=pd.Series([], dtype="category"))
    X = dd.from_delayed([dask.delayed(part) for part in parts], meta=meta, verify_meta=False)
    here = ROWS.assign(c=np.concatenate([part["c"].astype(float) for part in parts]))
    y = cut(Y, (100, 100, 100))
    for other in (X, X.assign(c=X["c"].cat.as_unknown())):
        fitted = ASTCRegressor(max_depth=2).fit(other, y)
        np.testing.assert_allclose(
            fitted.predict(other).compute(), ASTCRegressor(max_depth=2).fit(here, Y).predict(here)
        )
    text = [parts[0], parts[1].assign(c=pd.Categorical(["x"] * 100)), parts[2]]
    X = dd.from_delayed([dask.delayed(part) for part in text], meta=parts[0][:0], verify_meta=False)
    with pytest.raises(ValueError, match="partition 1: column 'c' of X has the category 'x'; expected numbers"):
        ASTCRegressor().fit(X, y)


def test_predictions_of_categories_that_are_not_known_yet():
    X = ROWS.assign(town=pd.Categorical(np.where(LEVEL > 2, "Bern", "Ulm")))
    model = TableModel(ASTCRegressor(max_depth=1)).fit(X, Y)
    parts = dd.from_pandas(X, npartitions=2)
    parts["town"] = parts["town"].cat.as_unknown()
    np.testing.assert_array_equal(model.predict(parts).compute(scheduler="synchronous"), model.predict(X))


def test_sources_whose_types_are_not_verified(client):
    """Dask takes the tasks of such collections for a cycle, if Arrays are made of them."""
    rows = cut(ROWS.assign(y=Y, w=1.0), verify_meta=False)
    X, y = rows[["a", "b", "c"]], rows["y"]
    search = BudgetSearchCV(ASTCRegressor(max_depth=1), max_rows=100, cv=2).fit(X, y, rows["w"])
    assert search.training_.n_rows == 300
    answers = search.predict(X)
    np.testing.assert_array_equal(answers.to_dask_array().compute(), search.predict(ROWS))


PARTS = (150, 150)
ARRAY, SERIES = da.from_array(ROWS.to_numpy(), chunks=(100, 3)), cut(Y, PARTS)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (ARRAY, SERIES, r"y has 2 partitions but X has 3\. Call y = y\.to_dask_array\(lengths=True\)"),
        (cut(ROWS, (300,)), SERIES, r"y has 2 partitions but X has 1\. .* X, y = frame\[features\], frame\['y'\]"),
        (cut(ROWS, PARTS), ARRAY[:, 0], r"y has 3 .* Call X = X\.to_dask_array\(lengths=True\)"),
        (cut(ROWS, PARTS).to_dask_array(), cut(Y), r"Call X = X\.compute_chunk_sizes\(\) and y = y\.to_dask_arr"),
        (ARRAY, ARRAY[:, :1], r"y is a dask Array with 2 axes .* For instance y\[:, 0\]"),
        (cut(ROWS), cut(ROWS)[["a"]], r"y is a dask DataFrame .* For instance y\['a'\]"),
        (cut(ROWS), None, "requires y to be passed"),
        (cut(ROWS.set_axis(list("aab"), axis=1)), cut(Y), "X has several columns named 'a'"),
        (cut(ROWS.assign(c=1j)), cut(Y), "column 'c' has dtype complex128; expected numbers"),
        (cut(ROWS)[[]], cut(Y), "X has no columns"),
    ],
)
def test_errors_say_what_to_do(client, X, y, message):
    with pytest.raises((TypeError, ValueError), match=rf"^ASTCRegressor:? .*{message}"):
        ASTCRegressor().fit(X, y)


def test_the_code_of_the_messages_helps(client):
    y = SERIES.to_dask_array(lengths=True)
    np.testing.assert_allclose(
        MODELS[0].fit(ARRAY, y).predict(ROWS.to_numpy()), MODELS[0].fit(ROWS.to_numpy(), Y).predict(ROWS.to_numpy())
    )
    X, y = SERIES.to_frame().assign(b=1.0).to_dask_array().compute_chunk_sizes(), cut(Y).to_dask_array(lengths=True)
    assert MODELS[0].fit(X, y).training_.n_rows == 300


def test_missing_labels_in_memory_are_one_clear_error():
    for missing in (None, np.nan, pd.NA):
        for labels in (["no", "yes", missing] * 100, pd.Series(["no", "yes", missing] * 100, dtype=object)):
            with pytest.raises(ValueError, match="ASTCClassifier: y is missing in 100 of 300 rows, first in row 2"):
                ASTCClassifier().fit(ROWS, labels)


def test_positions_of_rows_say_nothing_of_a_sample(client):
    with pytest.raises(ValueError, match=r"cv is a list of positions.*max_rows=None"):
        BudgetSearchCV("l1", cv=[([0, 1], [2, 3]), ([2, 3], [0, 1])]).fit(cut(ROWS), cut(Y))
