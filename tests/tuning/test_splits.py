"""Samples and folds: whole queries, shares of each class, and the same rows for the same seed."""

import numpy as np

from thrifty.models.rows import Rows
from thrifty.tuning.splits import folds_of, sample

X = np.arange(100.0)[:, None]
Y = np.repeat([0, 1], [80, 20])
OPTIONS = {"stratify": True, "random_state": 0}


def test_a_sample_has_the_share_of_each_class_in_order():
    drawn = sample(Rows(X, Y), 50, **OPTIONS)
    assert np.bincount(drawn.y).tolist() == [40, 10]
    assert (np.diff(drawn.X[:, 0]) > 0).all()
    np.testing.assert_array_equal(drawn.X, sample(Rows(X, Y), 50, **OPTIONS).X)


def test_few_rows_are_their_own_sample():
    rows = Rows(X, Y)
    assert sample(rows, None, **OPTIONS) is rows
    assert sample(rows, 100, **OPTIONS) is rows


def test_a_class_with_one_row_prevents_stratification():
    assert len(sample(Rows(X, np.arange(100) == 7), 50, **OPTIONS)) == 50
    assert len(folds_of(Rows(X, np.arange(100) == 7), 4, **OPTIONS)) == 4


def test_queries_are_not_divided():
    rows = Rows(X, Y, None, np.arange(100) // 10)
    drawn = sample(rows, 50, **OPTIONS)
    assert np.unique(drawn.qid, return_counts=True)[1].tolist() == [10] * 5
    for kept, held in folds_of(rows, 3, **OPTIONS):
        assert not np.intersect1d(rows.qid[kept], rows.qid[held]).size
    assert len(folds_of(rows, 20, **OPTIONS)) == 10


def test_folds_have_the_share_of_each_class_and_no_more_folds_than_its_rows():
    for _, held in folds_of(Rows(X, Y), 5, **OPTIONS):
        assert np.bincount(Y[held]).tolist() == [16, 4]
    assert len(folds_of(Rows(X, np.arange(100) < 3), 5, **OPTIONS)) == 3
