"""Error costs: every way to write them, what they say about answers, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reference import error_costs as reference
from thrifty import CostError
from thrifty.costs import ErrorCosts
from thrifty.costs.error_costs import ClassErrorCosts, NumberErrorCosts

AMOUNTS = st.integers(0, 1000).map(float)  # their sums are exact
LABELS = [["absent", "present"], [3, 7], [False, True], ["a", "b", "c"], [0.5, 1.5, 2.5, 9.0]]


@st.composite
def matrices(draw):
    classes = draw(st.sampled_from(LABELS))
    n = len(classes)
    return classes, draw(arrays(float, (n, n), elements=AMOUNTS))


def pairs_of(classes, matrix):
    return {(t, a): matrix[i, j] for i, t in enumerate(classes) for j, a in enumerate(classes) if matrix[i, j]}


@given(matrices(), st.randoms(use_true_random=False))
def test_all_forms_of_a_matrix_are_the_same(given_matrix, random):
    classes, matrix = given_matrix
    order = random.sample(range(len(classes)), len(classes))
    frame = pd.DataFrame(matrix, index=classes, columns=classes).iloc[order, order[::-1]]
    found = ErrorCosts.resolve(matrix, classes)
    for form in (matrix.tolist(), pairs_of(classes, matrix), frame, found):
        np.testing.assert_array_equal(ErrorCosts.resolve(form, classes).matrix, matrix)


@given(matrices(), st.data())
def test_answers_and_costs_are_those_of_the_definitions(given_matrix, data):
    classes, matrix = given_matrix
    costs, n = ErrorCosts.resolve(matrix, classes), len(classes)
    codes = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=20)))
    answers = np.array([data.draw(st.integers(0, n - 1)) for _ in codes])
    weight = np.array([data.draw(st.integers(1, 5)) for _ in codes])
    names = np.asarray(classes)
    found = costs.of(names[codes], names[answers])
    assert found.mean() == pytest.approx(reference.mean_cost(codes, answers, matrix))
    assert costs.constant(names[codes], weight) == classes[reference.cheapest_constant(codes, weight, matrix)]
    eighths = np.array(data.draw(st.lists(st.integers(1, 8), min_size=n, max_size=n)))  # weights instead of shares
    assert costs.cheapest(eighths[None])[0] == classes[reference.cheapest_answer(eighths, matrix)]


def test_the_likeliest_class_is_not_always_the_answer():
    costs = ErrorCosts.resolve({("ill", "healthy"): 100, ("healthy", "ill"): 20}, ["healthy", "ill"])
    assert costs.cheapest([[0.84, 0.16], [0.82, 0.18]]).tolist() == ["healthy", "ill"]  # 1/6 is the threshold
    equal = ErrorCosts.resolve(1 - np.eye(2), ["healthy", "ill"])
    assert equal.cheapest([[0.5, 0.5], [0.4, 0.6]]).tolist() == ["healthy", "ill"]


def test_costs_of_numbers():
    squared, absolute = ErrorCosts.resolve(2.0), ErrorCosts.resolve({"absolute": 3})
    assert squared == ErrorCosts.resolve({"squared": 2}) == ErrorCosts.resolve(squared)
    assert squared.of([1.0, 5.0], [2.0, 2.0]).tolist() == [2.0, 18.0]
    assert absolute.of([1.0, 5.0], [2.0, 2.0]).tolist() == [3.0, 9.0]


@given(
    st.sampled_from([1, 2]),
    st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 4)), min_size=1, max_size=12),
    st.integers(-20, 20),
)
def test_no_constant_number_costs_less(power, rows, other):
    numbers, weight = np.array(rows, dtype=float).T
    costs = NumberErrorCosts(1.5, power)
    best = costs.constant(numbers, weight)

    def total(answer):
        return weight @ costs.of(numbers, np.full(len(numbers), answer))

    assert total(best) <= total(float(other)) + 1e-9


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ([[0, 1]], "expected a matrix of shape (2, 2)"),
        ([[0, -1], [1, 0]], "expected a matrix of shape (2, 2)"),
        ([[0, np.nan], [1, 0]], "expected a matrix of shape (2, 2)"),
        ([[0, "much"], [1, 0]], "expected a matrix of shape (2, 2)"),
        ("errors.csv", "expected a matrix of shape (2, 2)"),
        ({("ill", "sick"): 1}, "'sick' is not a class"),
        ({"ill": 1}, "'ill' is not a pair (true class, answer)"),
        ({("ill", "well"): -1}, "where ('ill', 'well') costs -1"),
        ({("ill", "well"): np.inf}, "where ('ill', 'well') costs inf"),
        ({("ill", "well"): True}, "where ('ill', 'well') costs True"),
        (pd.DataFrame(np.ones((2, 2))), "expected the classes 'ill', 'well' on both axes"),
        (NumberErrorCosts(1.0), "expected error costs of the classes 'ill', 'well'"),
        (ErrorCosts.resolve(np.ones((2, 2)), ["a", "b"]), "expected error costs of the classes 'ill', 'well'"),
    ],
    ids=repr,
)
def test_bad_costs_of_classes_are_refused(bad, problem):
    with pytest.raises(CostError) as caught:
        ErrorCosts.resolve(bad, ["ill", "well"], "Model")
    assert str(caught.value).startswith("Model: error_costs is ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("bad", [0, -1, np.nan, "high", {}, {"cubic": 1}, {"absolute": 0}, [[0, 1], [1, 0]]], ids=repr)
def test_bad_costs_of_numbers_are_refused(bad):
    with pytest.raises(CostError, match=r"Model: error_costs is .*; expected a cost above 0"):
        ErrorCosts.resolve(bad, owner="Model")


def test_a_class_that_is_not_known_has_no_cost():
    costs = ClassErrorCosts(np.array(["ill", "well"]), 1 - np.eye(2))
    with pytest.raises(CostError, match="'sick' is not one of the classes 'ill', 'well'"):
        costs.of(["ill", "sick"], ["ill", "ill"])
