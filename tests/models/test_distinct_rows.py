"""Distinct rows in a canonical order, folds and validation rows."""

import numpy as np
import pytest

from thrifty.models.distinct_rows import assign_folds, column_order, distinct_rows, split_validation

RANDOM = np.random.RandomState


def test_equal_rows_are_merged_in_any_order():
    random = np.random.default_rng(0)
    X, labels, count = random.normal(size=(20, 3)), np.arange(20) % 3, np.ones(20)
    X[3] = [np.nan, 0.0, 1.0]
    twice = np.concatenate([X, X[::-1]])
    twice[-4, 1] = -0.0
    once = distinct_rows(X, labels, 2 * count)
    merged = distinct_rows(twice, np.concatenate([labels, labels[::-1]]), np.ones(40))
    for name in ("X", "y", "weight"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(once, name))


def test_equal_rows_of_different_classes_are_not_merged():
    assert len(distinct_rows(np.ones((4, 2)), np.array([0, 1, 0, 1]), np.ones(4)).X) == 2


def test_neither_rows_nor_columns_depend_on_their_order():
    random = np.random.default_rng(1)
    X, labels = random.normal(size=(30, 6)), np.arange(30) % 2
    order, columns = random.permutation(30), random.permutation(6)
    plain = distinct_rows(X, labels, np.ones(30))
    mixed = distinct_rows(X[order][:, columns], labels[order], np.ones(30))
    for rows, sorted_columns in ((plain, column_order(plain.X)), (mixed, column_order(mixed.X))):
        np.testing.assert_array_equal(rows.X[:, sorted_columns], plain.X[:, column_order(plain.X)])


def test_folds_and_validation_rows_are_stratified():
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    fold = assign_folds(labels, 10, RANDOM(0))
    shares = np.array([np.bincount(labels[fold == k], minlength=3) for k in range(10)])
    np.testing.assert_array_equal(shares, np.tile([5, 3, 2], (10, 1)))
    training, validation = split_validation(labels, 0.2, RANDOM(0))
    assert np.bincount(labels[validation]).tolist() == [10, 6, 4]
    assert sorted([*training, *validation]) == list(range(100))


@pytest.mark.parametrize("fraction", [0.0, 0.2])
def test_few_rows_are_all_in_both_parts(fraction):
    training, validation = split_validation(np.array([0, 1, 0]), fraction, RANDOM(0))
    assert training.tolist() == validation.tolist() == [0, 1, 2]


def test_the_order_of_a_stratum_does_not_depend_on_the_unit_of_the_targets():
    random = np.random.default_rng(2)
    X, y, strata = random.normal(size=(30, 4)), random.normal(size=30), np.zeros(30, dtype=int)
    plain, scaled = (distinct_rows(X, scale * y, np.ones(30), strata) for scale in (1.0, 3.7))
    np.testing.assert_array_equal(scaled.X, plain.X)
    assert len(distinct_rows(np.ones((3, 2)), np.array([1.5, 2.5, 1.5]), np.ones(3), strata[:3])) == 2
