"""Values have their declared types, whatever library they come from; anything else is refused in a short sentence."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty import SourceError, source
from thrifty.runtime.sources.values import checked_records, checked_value, record_values

DAY = datetime.date(2024, 2, 29)


@source(provides={"age": int, "town": str, "dose": float, "ill": bool, "more": None})
def person(key): ...


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, float, 3.0),
        (np.float32(0.5), float, 0.5),
        (np.int64(3), float, 3.0),
        (Decimal("2.5"), float, 2.5),
        (Fraction(1, 4), float, 0.25),
        (np.array(1.5), float, 1.5),
        (4.0, int, 4),
        (np.uint8(4), int, 4),
        (Decimal("12345678901234567890"), int, 12345678901234567890),
        (True, bool, True),
        (np.bool_(False), bool, False),
        (1, bool, True),
        (0.0, bool, False),
        ("Bern", str, "Bern"),
        (np.str_("Bern"), str, "Bern"),
        ("Bern", None, "Bern"),
        (True, None, True),
        (np.int32(7), None, 7),
        (Decimal("0.5"), None, 0.5),
        (DAY, None, DAY),
        (np.datetime64("2024-02-29T10:00", "ns"), None, datetime.datetime(2024, 2, 29, 10)),
    ],
)
def test_a_value_becomes_a_plain_object_of_its_type(value, kind, expected):
    checked = checked_value(value, kind)
    assert checked == expected
    assert type(checked) is type(expected)


@pytest.mark.parametrize("kind", [float, int, bool, str, None])
@pytest.mark.parametrize(
    "value",
    [None, math.nan, np.float32("nan"), Decimal("nan"), Decimal("sNaN"), pd.NA, pd.NaT, np.datetime64("NaT")],
    ids=repr,
)
def test_a_missing_value_is_unavailable_in_every_type(value, kind):
    assert checked_value(value, kind) is None


@pytest.mark.parametrize(
    ("value", "kind", "says"),
    [
        (True, float, "True is not a number"),
        (np.bool_(True), float, "True is not a number"),
        ("3", float, "'3' is not a number"),
        (math.inf, float, "inf is not a finite number"),
        (10**400, float, "not a finite number"),
        (Decimal("1e999"), float, "not a finite number"),
        ([1.0], float, "[1.0] is not a number"),
        (1 + 2j, float, "is not a number"),
        (np.array([1.0, 2.0]), float, "is not a number"),
        (2.5, int, "2.5 is not a whole number"),
        (True, int, "True is not a whole number"),
        (-math.inf, int, "not a finite number"),
        (2, bool, "2 is not True or False"),
        ("yes", bool, "'yes' is not True or False"),
        (b"Bern", str, "is not a text"),
        (3, str, "3 is not a text"),
        ({"a": 1}, None, "is not a number, a text, a boolean or a date"),
        (math.inf, None, "inf is not a finite number"),
        (10**400, None, "not a finite number"),
    ],
)
def test_a_value_of_another_type_is_refused(value, kind, says):
    with pytest.raises(ValueError) as refusal:
        checked_value(value, kind)
    assert says in str(refusal.value)
    assert len(str(refusal.value)) < 200


@given(st.one_of(st.floats(), st.integers(), st.text(), st.booleans(), st.binary(), st.dates(), st.decimals()))
def test_what_passes_as_a_number_is_a_finite_float(value):
    try:
        number = checked_value(value, float)
    except ValueError:
        return
    assert number is None or (type(number) is float and math.isfinite(number))


def test_each_feature_of_a_record_is_judged_alone():
    record = {"age": 61, "town": 3, "dose": np.nan, "ill": 0, "surplus": object()}
    values, problems = record_values(person, record)
    assert values == {"age": 61, "dose": None, "ill": False}
    assert problems == {"town": "3 is not a text", "more": "the record does not have it"}


@pytest.mark.parametrize("record", [17, "text", ["age", 61], object()])
def test_a_record_that_is_not_a_mapping_is_a_problem_of_all_features(record):
    values, problems = record_values(person, record)
    assert values == {}
    assert list(problems) == list(person.features)
    assert all("expected a dictionary" in problem for problem in problems.values())


def test_a_record_that_raises_is_a_problem_and_no_error():
    class Broken(dict):
        def __getitem__(self, name):
            raise OSError("gone")

    assert record_values(person, Broken())[1] == dict.fromkeys(person.features, "gone")


def test_one_entry_per_key_is_taken_from_any_sequence():
    assert checked_records(person, ["a", "b"], ({"age": 1}, None)) == [{"age": 1}, None]
    assert checked_records(person, ["a", "b"], np.array([1, 2])) == [1, 2]


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ([{}], "returned 1 record; expected a list with one record for each of 2 keys"),
        ([{}] * 3, "returned 3 records"),
        (None, "returned None"),
        ("ab", "returned 'ab'"),
        ({"a": 1, "b": 2}, "returned {'a': 1, 'b': 2}"),
        (iter([{}, {}]), "expected a list"),
        (17, "returned 17"),
    ],
)
def test_a_call_that_does_not_return_one_entry_per_key_is_refused(returned, says):
    with pytest.raises(SourceError, match="source 'person'") as refusal:
        checked_records(person, ["a", "b"], returned)
    assert says in str(refusal.value)
