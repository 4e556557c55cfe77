"""The numbers that stand for one value, in every form in which it can be written."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from thrifty.models.tables.fields import Field, days_since_1970

NUMBER, BOOLEAN, DATE = Field("n", "number"), Field("b", "boolean"), Field("d", "date")
PAIN = Field("pain", "category", ("none", "typical"))
WITH_MISSING = Field("pain", "category", ("none", "typical"), missing_level=True)
UTC_NOON = dt.datetime(1970, 1, 2, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize("value", [59, 59.0, "59", " 59.0 ", np.float32(59), np.int8(59), Decimal(59)])
def test_a_number_may_be_written_in_many_ways(value):
    assert NUMBER.encode(value) == [59.0]


@pytest.mark.parametrize(("value", "truth"), [(True, 1), ("yes", 1), ("True", 1), (1, 1), ("0", 0), ("NO", 0)])
def test_a_boolean_may_be_written_in_many_ways(value, truth):
    assert BOOLEAN.encode(value) == [truth]
    assert BOOLEAN.encode(np.bool_(truth)) == [truth]


@pytest.mark.parametrize(
    "value",
    [
        "1970-01-02 12:00", "1970-01-02T12:00:00Z", "1970-01-02T14:00+02:00", UTC_NOON,
        dt.datetime(1970, 1, 2, 12), pd.Timestamp("1970-01-02 12:00"), np.datetime64("1970-01-02T12"),
        pd.Timestamp("1970-01-02 13:00", tz="Europe/Zurich"),
    ],
)  # fmt: skip
def test_a_date_may_be_written_in_many_ways(value):
    assert DATE.encode(value) == [1.5]


def test_a_date_is_days_since_1970():
    assert [DATE.read(day) for day in (dt.date(1970, 1, 1), "1969-12-31", "2024-01-31")] == [0, -1, 19753]
    np.testing.assert_array_equal(days_since_1970(np.array(["1970-01-03", "NaT"], dtype="datetime64[ns]")), [2, np.nan])


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_a_missing_value_is_nan_or_a_level_of_its_own(missing):
    assert all(math.isnan(field.read(missing)) for field in (NUMBER, BOOLEAN, DATE))
    assert all(map(math.isnan, PAIN.encode(missing)))
    assert WITH_MISSING.encode(missing) == [0, 0, 1]


def test_other_levels_are_zero_in_all_columns():
    assert PAIN.encode("typical") == [0, 1]
    assert PAIN.encode("unheard of") == PAIN.encode("") == [0, 0]
    assert WITH_MISSING.encode("unheard of") == [0, 0, 0]


def test_levels_that_are_whole_numbers_may_come_as_floats():
    stage = Field("stage", "category", ("1", "2", "True"))
    assert stage.encode(2) == stage.encode(2.0) == stage.encode("2") == stage.encode(np.float64(2)) == [0, 1, 0]
    assert stage.encode(True) == [0, 0, 1]
    assert stage.encode(2.5) == [0, 0, 0]
    assert Field("id", "category", (str(10**20 + 1),)).encode(10**20 + 1) == [1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (NUMBER, "n/a"), (NUMBER, "inf"), (NUMBER, math.inf), (NUMBER, 10**400), (NUMBER, [1]),
        (NUMBER, dt.date(2020, 1, 1)),
        (BOOLEAN, "maybe"), (BOOLEAN, 2), (BOOLEAN, 0.5), (DATE, "yesterday"), (DATE, 7), (DATE, "2024-02-30"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_read_is_refused(field, value):
    with pytest.raises(ValueError):
        field.encode(value)


def test_labels_name_level_and_field():
    assert WITH_MISSING.labels == ["pain=none", "pain=typical", "pain missing"]
    assert Field(3, "number").labels == ["x3"]
