"""Samples of training rows."""

import numpy as np

from models.adaptive.problems import training_rows
from thrifty.models.adaptive.training_rows import FEWEST_OF_CLASS

N = 2000
X = np.arange(2.0 * N).reshape(N, 2)


def test_a_sample_keeps_rare_classes():
    targets = np.where(np.arange(N) % 100 == 0, 2, np.where(np.arange(N) % 10 == 1, 1, 0))
    rows = training_rows(X, targets, n_classes=3)
    drawn = rows.sample(500)
    assert len(np.unique(drawn)) == 500
    assert (np.diff(drawn) > 0).all()
    counts = np.bincount(targets[drawn])
    assert counts[2] == 20
    assert counts[1] >= FEWEST_OF_CLASS
    assert rows.sample(N).tolist() == list(range(N))


def test_some_rows_keep_their_codes_and_folds():
    rows = training_rows(X, np.arange(N) % 2)
    index = np.array([3, 7, 1999])
    few = rows.take(index)
    np.testing.assert_array_equal(few.X, rows.X[index])
    np.testing.assert_array_equal(few.codes.bytes, rows.codes.bytes[:, index])
    np.testing.assert_array_equal(few.fold, rows.fold[index])
    assert (len(few), few.n_folds) == (3, rows.n_folds)
    everything = np.ones((3, rows.n_groups), dtype=bool)
    np.testing.assert_array_equal(
        few.masked_codes(np.arange(3), everything).bytes, rows.masked_codes(index, everything).bytes
    )
