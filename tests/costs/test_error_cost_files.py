"""Files with error costs: pairs, matrices, numbers, and one clear line about what is wrong."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thrifty import CostError
from thrifty.costs import ErrorCosts

WORDS = ["healthy", "ill"]
TEXT = st.characters(exclude_categories=("Cs",), exclude_characters="\0")  # NumPy drops "\0" at the end of a text
NAMES = st.lists(st.text(TEXT, min_size=1).map(str.strip).filter(bool), min_size=2, max_size=4, unique=True).map(sorted)


@pytest.fixture
def read(tmp_path):
    def read(text, classes=None):
        path = tmp_path / "errors.csv"
        path.write_text(text, encoding="utf-8")
        return ErrorCosts.from_file(path, classes)

    return read


def written(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


@given(NAMES, st.data())
def test_both_forms_return_what_was_written(tmp_path_factory, names, data):
    matrix = data.draw(arrays(float, (len(names),) * 2, elements=st.floats(0, 1e6)))
    path = tmp_path_factory.mktemp("errors") / "errors.csv"
    cells = [[true, *row] for true, row in zip(names, matrix.tolist(), strict=True)]
    as_matrix = ErrorCosts.from_file(written(path, [["", *names], *cells]), names)
    pairs = [[t, a, matrix[i, j]] for i, t in enumerate(names) for j, a in enumerate(names)]
    as_pairs = ErrorCosts.from_file(written(path, [["true", "predicted", "cost"], *pairs]), names)
    np.testing.assert_array_equal(as_matrix.matrix, matrix)
    np.testing.assert_array_equal(as_pairs.matrix, matrix)


def test_pairs_that_are_not_listed_cost_nothing(read):
    assert read("true,predicted,cost\n\nill, healthy ,1000\n", WORDS).matrix.tolist() == [[0, 0], [1000, 0]]


def test_rows_and_columns_of_a_matrix_may_be_in_any_order(read):
    found = read("true \\ predicted,ill,healthy\nhealthy,100,0\nill,0,1000\n", WORDS)
    assert found.matrix.tolist() == [[0, 100], [1000, 0]]


def test_classes_are_found_by_their_text(read):
    assert read("true,predicted,cost\n1,0,7\n", [0, 1]).matrix.tolist() == [[0, 0], [7, 0]]
    assert read("true,predicted,cost\ntrue,FALSE,7\n", [False, True]).matrix.tolist() == [[0, 0], [7, 0]]


def test_costs_of_numbers(read):
    assert (read("absolute,2.5\n").cost, read("absolute,2.5\n").power) == (2.5, 1)
    assert (read("Squared, 3").cost, read("squared,3").power) == (3.0, 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file has no lines"),
        ("true,predicted,cost\nill,sick,3", "line 2: 'sick' is not a class of the data"),
        ("true,predicted,cost\nill,healthy,-3", "line 2: the answer 'healthy' for 'ill' costs '-3'"),
        ("true,predicted,cost\nill,healthy,nan", "line 2: the answer 'healthy' for 'ill' costs 'nan'"),
        ("true,predicted,cost\nill,healthy,", "line 2: the answer 'healthy' for 'ill' costs ''"),
        ("true,predicted,cost\nill,healthy,1_0", "line 2: the answer 'healthy' for 'ill' costs '1_0'"),
        ("true,predicted,cost\nill,healthy,1\nill,healthy,2", "line 3: the pair ill,healthy appears twice"),
        ("true,predicted,cost\nill,ill,1", "the class 'healthy' of the data is missing"),
        ("true,predicted,cost\nill,healthy", "line 2: there are 2 cells"),
        (",healthy,ill\nhealthy,0,1", "line 1: a matrix needs the same classes"),
        (",healthy,ill\nhealthy,0,1\nill,1", "line 3: there are 1 costs for 2 predicted classes"),
        (",healthy,ill\nhealthy,0,1\nhealthy,0,1\nill,1,0", "line 3: the pair healthy,healthy appears twice"),
        ('true,predicted,cost\n"ill,healthy,1', "unexpected end of data"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(read, text, problem):
    with pytest.raises(CostError) as caught:
        read(text, WORDS)
    assert problem in str(caught.value)
    assert str(caught.value).split(":")[0].endswith("errors.csv")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("absolute,1\nsquared,1", "the file has 2 lines, but the target is a number"),
        ("ill,healthy,3", "'ill,healthy,3' is not the cost of an error of a number"),
        ("absolute,0", "an error costs 0"),
        ("absolute,inf", "an error costs 'inf'"),
    ],
)
def test_bad_costs_of_numbers(read, text, problem):
    with pytest.raises(CostError) as caught:
        read(text)
    assert problem in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(CostError, match=r"missing.csv: cannot be read"):
        ErrorCosts.from_file(tmp_path / "missing.csv", WORDS)
    (tmp_path / "latin.csv").write_bytes("true,predicted,cost\nié,a,1".encode("latin-1"))
    with pytest.raises(CostError, match="is not UTF-8"):
        ErrorCosts.from_file(tmp_path / "latin.csv", WORDS)
