"""Each kind of stored field writes what it reads, and refuses everything else with the name of the field."""

import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from thrifty.exceptions import ModelFileError
from thrifty.stored import (
    Array,
    FeatureId,
    Flag,
    Labels,
    Lengths,
    ListOf,
    MappingOf,
    Number,
    OneOrMany,
    OrNone,
    PairsOf,
    Parameter,
    Plain,
    Text,
    Texts,
    TupleOf,
    Whole,
)
from thrifty.stored.medium import Place, Reader, Writer


def there_and_back(kind, value, sizes=None):
    """Write a value, and read it again through JSON and bytes."""
    writer = Writer()
    node = kind.write(value, Place(writer, "here", dict(sizes or {})))
    reader = Reader(writer.content())
    found = kind.read(json.loads(json.dumps(node)), Place(reader, "here", dict(sizes or {})))
    reader.require_complete()
    return found


def refused(kind, node, complaint, content=b"", sizes=None):
    with pytest.raises(ModelFileError, match=complaint) as caught:
        kind.read(node, Place(Reader(content), "here", dict(sizes or {})))
    assert str(caught.value).startswith("here")


VALUES = [
    (Number(), 0.1),
    (Number(), -0.0),
    (Number(), float("inf")),
    (Whole(), -7),
    (Flag(), True),
    (Text(), "größe\n"),
    (Plain(), 2.5),
    (Plain(), False),
    (FeatureId(), "age"),
    (FeatureId(), 3),
    (ListOf(Number()), [1.0, 2.0]),
    (TupleOf(TupleOf(Whole())), ((1, 2), (), (3,))),
    (MappingOf(ListOf(Text())), {"a": ["x"], "": []}),
    (PairsOf(Whole(), Text()), {3: "x", 1: "y"}),
    (OrNone(Number()), None),
    (OneOrMany(Number()), (1.0, 2.0)),
    (OneOrMany(Number()), 1.0),
]


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_values(kind, value):
    found = there_and_back(kind, value)
    assert repr(found) == repr(value)


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.asfortranarray(np.eye(3)), np.array([[np.nan, np.inf, -0.0]])],
    ids=["plain", "empty", "columns first", "special"],
)
def test_arrays(array):
    found = there_and_back(Array("float64", "n", "m"), array)
    np.testing.assert_array_equal(found, array)
    assert found.flags.c_contiguous
    assert found.flags.aligned
    assert found.flags.writeable


@pytest.mark.parametrize(
    "labels",
    [np.array(["b", "größe"]), np.array(["b", "ab"], dtype=object), np.array([3, -1]), np.array([True, False])],
    ids=str,
)
def test_labels(labels):
    found = there_and_back(Labels("n"), labels)
    np.testing.assert_array_equal(found, labels)
    assert found.dtype == labels.dtype


PARAMETERS = [
    None,
    True,
    5,
    0.1,
    float("nan"),
    "text",
    [1, [2.5, None]],
    (1, ("a",)),
    {"a": 1, 2: (3,), False: None, 2.5: "x"},
    range(2, 9, 3),
    Decimal("0.10"),
    np.float32(0.1),
    np.int64(3),
    np.str_("name"),
    LogisticRegression(C=0.5, class_weight={0: 1.0}),
    make_pipeline(StandardScaler(with_mean=False), SVC(gamma=0.25)),
]


@pytest.mark.parametrize("value", PARAMETERS, ids=repr)
def test_parameters(value):
    assert repr(there_and_back(Parameter(), value)) == repr(value)


def test_random_states():
    state = np.random.RandomState(3)
    state.normal()
    twin = there_and_back(Parameter(), state)
    np.testing.assert_array_equal(twin.normal(size=5), state.normal(size=5))


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(), st.lists))
def test_any_nested_list(value):
    texts = json.dumps(value, ensure_ascii=False)
    try:
        texts.encode()
    except UnicodeEncodeError:
        return
    assert repr(there_and_back(Parameter(), value)) == repr(value)


REFUSED = [
    (Number(), "x", "expected a number"),
    (Number(), True, "expected a number"),
    (Number(), 10**400, "expected a number"),
    (Number(finite=True), "inf", "expected a finite number"),
    (Number(0), -1.0, "expected a number from 0"),
    (Whole(), 1.0, "expected a whole number"),
    (Whole(), True, "expected a whole number"),
    (Whole(1, 9), 10, "from 1 to 9"),
    (Flag(), 1, "expected True or False"),
    (Text(), 1, "expected text"),
    (Text(), "\ud800", "expected text"),
    (Text("a", "b"), "c", "expected one of a, b"),
    (Plain(), None, "expected text, a finite number"),
    (Plain(), float("inf"), "expected text, a finite number"),
    (FeatureId(), -1, "from 0"),
    (ListOf(Flag()), "x", "expected a list"),
    (ListOf(Flag(), 1, 2), [], "expected from 1 to 2"),
    (ListOf(Flag()), [True, 0], r"here\[1\] is 0"),
    (MappingOf(Flag()), [], "expected a dict"),
    (PairsOf(Whole(), Flag()), [[1, True], [1, False]], "has a key twice"),
    (PairsOf(Whole(), Flag()), [[1]], "expected a list of pairs"),
    (Texts("n"), ["a", 3], "expected text"),
    (Array("float64", "n"), 3, "expected an array"),
    (Labels(), {"objects": {"dtype": "|b1", "shape": [0], "at": 0}}, "objects that are not text"),
]


@pytest.mark.parametrize(("kind", "node", "complaint"), REFUSED)
def test_refusals(kind, node, complaint):
    refused(kind, node, complaint)


def node_of(array):
    array = np.asarray(array)
    return {"dtype": array.dtype.str, "shape": list(array.shape), "at": 0}, array.tobytes()


@pytest.mark.parametrize(
    ("kind", "array", "complaint"),
    [
        (Array("int64", "n"), np.arange(3.0), "has dtype float64; expected int64"),
        (Array("int64", "n"), np.arange(3, dtype=np.uint16), "has dtype uint16"),
        (Array("int64", "n"), np.zeros((2, 2), dtype=int), r"has shape \(2, 2\)"),
        (Array("int64", 4), np.arange(3), r"has shape \(3,\)"),
        (Array("int64", "k"), np.arange(3), r"expected \(k = 5\)"),
        (Array("int64", "n", low=0), np.array([0, -1]), "has numbers below 0"),
        (Array("int64", "n", below="k"), np.array([5]), "not below 5"),
        (Array("float64", "n", finite=True), np.array([np.nan]), "not finite"),
        (Lengths("n", total="k"), np.array([2**63 - 1, 2**63 - 1, 7]), "do not add up to 5"),
        (Lengths("n", total="k"), np.array([6, -1]), "has numbers below 0"),
        (Lengths("n", total="k"), np.array([2, 2]), "do not add up to 5"),
        (Labels(), np.array([0x110000, 65], dtype=np.uint32).view("<U2"), "not a character"),
        (Labels(), np.array([2], dtype=np.uint8).view(bool), "neither True nor False"),
        (Labels(), np.array([1 + 2j]), "which a file may not hold"),
        (Labels(), np.array(["2024-01-01"], dtype="M8[D]"), "which a file may not hold"),
    ],
)
def test_arrays_that_are_refused(kind, array, complaint):
    node, content = node_of(array)
    refused(kind, node, complaint, content, {"k": 5})


def test_arrays_with_one_name_have_one_length():
    place = Place(Writer(), "pair", {})
    Array("int64", "n").write(np.arange(3), place)
    with pytest.raises(ModelFileError, match=r"pair has shape \(4,\); expected \(n = 3\)"):
        Array("int64", "n").write(np.arange(4), place)


def test_values_that_cannot_be_written():
    for value in (len, object(), {1, 2}, 1j, np.array([1j]), b"bytes", LogisticRegression().fit([[0], [1]], [0, 1])):
        with pytest.raises(ModelFileError, match="cannot hold"):
            there_and_back(Parameter(), value)
