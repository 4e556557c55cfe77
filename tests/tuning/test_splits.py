"""Samples and folds: whole queries, shares of each class, and the same rows for the same seed."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

from thrifty.models.rows import Rows
from thrifty.tuning.splits import checked_groups, folds_of, sample

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


def test_groups_are_not_divided_and_splitters_get_them():
    groups = np.arange(100) % 10
    for cv in (3, GroupKFold(3)):
        for kept, held in folds_of(Rows(X, Y), cv, groups=groups, **OPTIONS):
            assert not np.intersect1d(groups[kept], groups[held]).size
    with pytest.raises(ValueError, match="all rows are in one group"):
        folds_of(Rows(X, Y), 3, groups=np.zeros(100), **OPTIONS)


def test_groups_are_checked():
    rows = Rows(X, Y, None, np.arange(100) // 10)
    assert checked_groups(None, rows) is None
    assert checked_groups(["a", "b"] * 50, Rows(X, Y)).tolist() == [0, 1] * 50
    with pytest.raises(ValueError, match=r"groups has shape \(3,\) for 100 rows"):
        checked_groups([1, 2, 3], rows)
    with pytest.raises(ValueError, match="groups is missing in row 4"):
        checked_groups([1.0] * 4 + [None] + [1.0] * 95, rows)
    with pytest.raises(ValueError, match="query 0 is in several groups"):
        checked_groups(np.arange(100) // 5, rows)


def test_time_ordered_splits_need_not_hold_out_every_row():
    folds = folds_of(Rows(X, Y), TimeSeriesSplit(3), **OPTIONS)
    assert all(kept.max() < held.min() for kept, held in folds)
    assert sum(len(held) for _, held in folds) == 75


def test_pairs_of_positions_may_be_any_iterable_and_are_translated_to_drawn_rows():
    pairs = [(np.arange(50), np.arange(50, 100)), (np.arange(50, 100), np.arange(50))]
    folds = folds_of(Rows(X, Y), iter(pairs), **OPTIONS)
    assert [held.tolist() for _, held in folds] == [held.tolist() for _, held in pairs]
    drawn = np.arange(0, 100, 2)
    rows = Rows(X[drawn], Y[drawn])
    for (kept, held), (given, _) in zip(folds_of(rows, pairs, drawn=drawn, **OPTIONS), pairs, strict=True):
        assert set(rows.X[kept, 0]) == set(given[given % 2 == 0])
        assert not set(kept) & set(held)


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([], "cv has 0 folds; expected at least 2"),
        ([([0, 1], [2])], "cv has 1 folds"),
        ([3, 4], "fold 0 of cv is 3; expected a whole number of at least 2, a splitter, or pairs"),
        ([([0, 1], [100]), ([0], [1])], "the position 100; expected whole numbers from 0 to 99"),
        ([([0.5], [1]), ([0], [1])], "expected whole numbers from 0"),
        ([([], [1]), ([0], [1])], "fold 0 of cv has 0 rows to fit and 1 held-out rows"),
        ([([0], [1]), ([0, 1], [1])], "fold 1 of cv has rows that are both fitted and held out"),
    ],
)
def test_pairs_that_are_not_folds_are_refused(pairs, says):
    with pytest.raises(ValueError, match=says):
        folds_of(Rows(X, Y), pairs, **OPTIONS)


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (np.arange(50, 101), "has the position 100; expected whole numbers from 0 to 99"),
        (-np.arange(1, 50), "has the position -1; expected"),
        (np.arange(50.0, 100.0), "has array.*; expected whole numbers"),
        (np.arange(100) >= 50, "has array.*; expected whole numbers"),
    ],
)
def test_wrong_positions_are_told_in_one_short_line(held, told):
    with pytest.raises(ValueError, match=rf"^BudgetSearchCV: fold 0 of cv {told}") as error:
        folds_of(Rows(X, Y), [(np.arange(50), held), (np.arange(50), held)], **OPTIONS)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


def test_what_is_not_a_pair_of_positions_is_told_in_one_short_line():
    with pytest.raises(ValueError, match=r"^BudgetSearchCV: fold 0 of cv is .*; expected a whole number") as error:
        folds_of(Rows(X, Y), [(np.arange(50),) * 3], **OPTIONS)
    assert len(str(error.value)) < 250
