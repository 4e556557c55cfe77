"""Tables of every library give the same numbers, and the same as their values read one by one."""

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.tables.mixed import COSTS, NAMES, as_objects, as_pandas, as_polars, columns
from thrifty import CostModel
from thrifty.models.tables.encoder import TableEncoder

LIBRARIES = {"pandas": as_pandas, "polars": as_polars, "objects": as_objects, "arrow": pa.table}
KINDS = ["number", "category", "category", "boolean", "date", "number", "category"]


@pytest.mark.parametrize("make", LIBRARIES.values(), ids=LIBRARIES)
def test_tables_of_every_library_give_the_same_numbers(make):
    values = columns()
    table, expected = make(values), TableEncoder().fit(as_objects(values), names=NAMES)
    encoder = TableEncoder().fit(table, names=NAMES)
    assert encoder.fields_ == expected.fields_
    assert [field.kind for field in encoder.fields_] == KINDS
    one_by_one = [
        [number for j, name in enumerate(NAMES) for number in encoder.read(j, values[name][i])] for i in range(300)
    ]
    np.testing.assert_array_equal(encoder.transform(table), one_by_one)


MISSING = st.sampled_from([None, float("nan"), pd.NaT, pd.NA])
SCALARS = st.one_of(
    st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=3), st.decimals(allow_nan=False),
    st.dates(), st.datetimes(), st.sampled_from(["59", " 1e3", "yes", "No", "2024-02-29", "nan", "inf", "1", "True"]),
    st.sampled_from([1, 1.0, True, np.float32(1), np.int64(1), np.bool_(True), np.datetime64("2020-01-01"), (1, 2)]),
)  # fmt: skip
COLUMNS = st.lists(MISSING | SCALARS, min_size=1, max_size=12)
OF_ONE_TYPE = st.one_of(*(st.lists(MISSING | each, min_size=1) for each in (st.booleans(), st.integers(), st.dates())))


@settings(deadline=None, max_examples=300)
@given(COLUMNS | OF_ONE_TYPE, COLUMNS | OF_ONE_TYPE)
def test_any_column_is_read_like_its_values_one_by_one(learned, told):
    learned, told = (np.array([*values, None], dtype=object)[:-1, None] for values in (learned, told))
    encoder = TableEncoder(max_levels=3).fit(learned)
    for column in (learned, told):
        derived, unreadable = encoder.read_table(column)
        refused = set(unreadable[0].rows.tolist()) if unreadable else set()
        for i, value in enumerate(column[:, 0]):
            if i in refused:
                with pytest.raises(ValueError):
                    encoder.read(0, value)
            else:
                np.testing.assert_array_equal(derived[i], encoder.read(0, value))


def test_source_and_labels_of_derived_columns():
    encoder = TableEncoder(max_levels=2).fit(as_pandas(columns()))
    assert encoder.source_.tolist() == [0, 1, 1, 2, 2, 2, 3, 4, 5, 6, 6]
    assert encoder.labels[3:6] == ["pain=none", "pain=typical", "pain missing"]


def test_the_most_frequent_levels_have_columns_and_ties_go_by_name():
    table = pd.DataFrame({"c": ["b", "d", "a", "c", "d", "b", "c"]})
    assert TableEncoder(max_levels=2).fit(table).fields_[0].levels == ("b", "c")
    assert TableEncoder(max_levels=2).fit(table[::-1]).fields_[0].levels == ("b", "c")
    weight = np.array([0, 0, 5, 0, 0, 0, 1])
    assert TableEncoder(max_levels=9).fit(table, weight).fields_[0].levels == ("a", "c")


def test_a_row_of_weight_zero_does_not_add_a_level_of_missing_values():
    table = pl.DataFrame({"c": ["b", None, "a"]})
    assert TableEncoder().fit(table).fields_[0].missing_level
    encoder = TableEncoder().fit(table, np.array([1, 0, 1]))
    np.testing.assert_array_equal(encoder.transform(table), [[0, 1], [np.nan, np.nan], [1, 0]])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], "number"), ([True, 2, None], "number"), ([True, None], "boolean"), ([None, None], "number"),
        ([float("nan"), None], "number"), ([dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 3)], "date"),
        (["2020-01-01", "2021-12-31 10:30", None], "date"), (["2020-01-01", "unknown"], "category"),
        (["2020-13-01"], "category"), (["1", "2"], "category"), (["a", 1, True], "category"),
    ],
)  # fmt: skip
def test_the_kind_of_a_column_of_objects_suits_all_its_values(values, kind):
    column = np.array([*values, None], dtype=object)[:-1, None]
    assert TableEncoder().fit(column).fields_[0].kind == kind


def test_one_and_true_are_distinct_levels():
    table = np.array([["a"], [1], [True], [1.0], [None]], dtype=object)
    encoder = TableEncoder().fit(table)
    assert encoder.fields_[0].levels == ("1", "True", "a")
    np.testing.assert_array_equal(encoder.transform(table).argmax(axis=1), [2, 0, 1, 0, 3])


def test_categories_of_numbers_stay_categories():
    for numbers in ([3, 1, None], [3.0, 1.0, None]):
        frame = pd.DataFrame({"stage": pd.Categorical(numbers)})
        encoder = TableEncoder().fit(frame)
        assert encoder.fields_[0].levels == ("1", "3")
        as_floats = pd.DataFrame({"stage": [3.0, 1.0, np.nan]})
        np.testing.assert_array_equal(encoder.transform(as_floats), encoder.transform(frame))


def test_values_may_be_of_another_type_than_in_training():
    learned = pl.DataFrame({"n": [1.5, 2.0], "b": [True, False], "d": [dt.date(1970, 1, 2), None]})
    text = pl.DataFrame({"n": ["1.5", None], "b": ["no", "YES"], "d": ["1970-01-03", None]})
    encoder = TableEncoder().fit(learned)
    np.testing.assert_array_equal(encoder.transform(text), [[1.5, 0, 2], [np.nan, 1, np.nan]])
    numbers = np.array([[3, 1, np.nan]])
    np.testing.assert_array_equal(encoder.transform(numbers), [[3, 1, np.nan]])


def test_values_that_cannot_be_read_are_named():
    encoder = TableEncoder().fit(pd.DataFrame({"age": [1, 2], "visit": pd.to_datetime(["2020-01-01", None])}))
    with pytest.raises(ValueError, match=r"row 1 holds 'age', which is 'n/a'; expected a finite number, or None"):
        encoder.transform(pd.DataFrame({"age": ["1", "n/a"], "visit": ["2020-01-01", None]}))
    with pytest.raises(ValueError, match=r"row 0 holds 'visit', which is 7.0; expected a date such as"):
        encoder.transform(np.array([[1.0, 7.0]]))
    with pytest.raises(ValueError, match=r"row 0 holds 'age', which is \[1\]"):
        encoder.transform(pd.DataFrame({"age": [[1]], "visit": [None]}))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([[1], [2]]), pl.Series([{"a": 1}, {"a": 2}]), pl.Series([dt.timedelta(1), None]),
        pd.Series([[1], None]), pd.Series([1j, 2j]), pd.Series([{1}, {2}]),
    ],
    ids=lambda column: str(column.dtype),
)  # fmt: skip
def test_a_column_of_an_unsupported_type_is_refused(column):
    frame = pl.DataFrame({"odd": column}) if isinstance(column, pl.Series) else pd.DataFrame({"odd": column})
    with pytest.raises(ValueError, match=r"column 'odd' holds values of type .*; expected numbers, booleans, dates"):
        TableEncoder().fit(frame)


def test_numbers_are_not_copied():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert TableEncoder().fit(X).transform(X) is X
    single = X.astype(np.float32)
    assert TableEncoder().fit(X).transform(single) is single
    assert TableEncoder().fit(X).transform(X.astype(int)).dtype == np.float64


def test_a_frame_of_numbers_gives_its_array():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for frame in (pd.DataFrame(X), pl.DataFrame(X), pd.DataFrame(X).astype("Float64")):
        encoder = TableEncoder().fit(frame)
        assert encoder.one_to_one
        np.testing.assert_array_equal(encoder.transform(frame), X)


def test_all_columns_of_a_field_require_its_units():
    encoder = TableEncoder().fit(as_pandas(columns()))
    derived = encoder.derived_costs(COSTS)
    masks = np.random.default_rng(0).random((500, len(encoder.source_))) < 0.2
    np.testing.assert_array_equal(derived.of(masks), COSTS.of(encoder.raw_mask(masks)))
    assert derived.names == tuple(encoder.labels)
    for j in range(len(NAMES)):
        np.testing.assert_array_equal(encoder.raw_mask(masks)[:, j], masks[:, encoder.source_ == j].any(axis=1))


def test_labels_are_distinct_for_any_column_names():
    table = pd.DataFrame({"a=b": [1, 2], "a": ["b", "c"]})
    encoder = TableEncoder().fit(table)
    assert encoder.labels == ["a=b", "a=b'", "a=c"]
    assert encoder.derived_costs(CostModel({"a=b": 1.0, "a": 2.0})).total == 3


def test_a_second_fit_replaces_everything():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0], "b": ["x"]}))
    assert encoder.place_of["b=x"] == (1, 0)
    encoder.fit(pd.DataFrame({"b": ["y"]}))
    assert encoder.place_of == {"b=y": (0, 0), 0: (0, 0)}


def test_a_copy_has_no_caches():
    encoder = TableEncoder().fit(as_pandas(columns()))
    assert encoder.place_of
    twin = pickle.loads(pickle.dumps(encoder))
    assert set(vars(twin)) == {"max_levels", "kinds", "fields_", "source_"}
    np.testing.assert_array_equal(twin.transform(as_polars(columns())), encoder.transform(as_polars(columns())))
