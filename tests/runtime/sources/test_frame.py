"""Tables in memory as sources."""

import asyncio
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from thrifty.exceptions import SourceError
from thrifty.runtime.sources.frame import FrameSource

COLUMNS = {"id": ["a", "b", "c"], "age": [63, 41, 7], "tsh": [1.4, None, 0.5], "sex": ["f", "m", None]}


def fetch(source, keys):
    return asyncio.run(source.fetch(keys))


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_come_in_the_order_of_the_keys(make):
    source = FrameSource(make(COLUMNS), key="id")
    assert source.features == ("age", "tsh", "sex")
    assert source.max_batch is None
    expected = [{"age": 7, "tsh": 0.5, "sex": None}, None, {"age": 63, "tsh": 1.4, "sex": "f"}]
    assert fetch(source, ["c", "z", "a"]) == expected
    assert fetch(source, []) == []


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_without_a_key_column_the_row_number_is_the_key(make):
    source = FrameSource(make(COLUMNS), provides={"age": int}, name="people")
    assert fetch(source, [2, np.int64(0), -1, 3, "a"]) == [{"age": 7}, {"age": 63}, None, None, None]
    assert (source.name, source.types) == ("people", {"age": int})


def test_values_are_plain_python_objects():
    frame = pd.DataFrame({"x": np.float32([1, 2]), "n": pd.array([1, None], dtype="Int64"), "b": [True, False]})
    first, second = fetch(FrameSource(frame), [0, 1])
    assert [type(value) for value in first.values()] == [float, int, bool]
    assert second["n"] is None
    (record,) = fetch(FrameSource({"x": np.array([math.nan])}), [0])
    assert math.isnan(record["x"])


def test_a_pandas_index_is_not_the_key():
    frame = pd.DataFrame({"age": [1, 2]}, index=[7, 8])
    assert fetch(FrameSource(frame), [0, 7]) == [{"age": 1}, None]


@pytest.mark.parametrize(
    ("frame", "settings", "message"),
    [
        ({"id": [1, 2, 1], "x": [1, 2, 3]}, {"key": "id"}, "rows 0 and 2 have the same key 1 in column 'id'"),
        (pd.DataFrame({"id": [1, None], "x": [1, 2]}), {"key": "id"}, "row 1 has no key in column 'id'"),
        (COLUMNS, {"key": "patient"}, "no column 'patient'. Its columns are 'id', 'age', 'tsh', 'sex'"),
        (COLUMNS, {"provides": ["age", "t4"]}, "source 'age': the table has no column 't4'"),
        ({"x": [1, 2], "y": [1]}, {}, "different numbers of rows: {'x': 2, 'y': 1}"),
        ({"id": [1], "y": [1, 2]}, {"key": "id"}, "key 'id' has 1 rows, but other columns 2"),
        ({"id": [1]}, {"key": "id"}, "at least one name"),
        (pl.DataFrame(COLUMNS).lazy(), {}, "frame is a LazyFrame; expected a table"),
        ([1, 2], {}, "frame is a list; expected a table"),
    ],
)
def test_a_wrong_table_is_refused(frame, settings, message):
    with pytest.raises(SourceError) as caught:
        FrameSource(frame, **settings)
    assert message in str(caught.value)


def test_later_changes_of_the_table_change_nothing():
    frame = pd.DataFrame(COLUMNS)
    source = FrameSource(frame, key="id")
    frame.loc[0, "age"] = 0
    assert fetch(source, ["a"])[0]["age"] == 63
