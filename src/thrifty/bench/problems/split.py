"""Training and test rows of a seed: disjoint, with the same share of each class, and queries never divided."""

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from thrifty.bench.problems.problem import Table

SMALLEST_CLASS = 4  # rows; smaller classes cannot be divided, so that rows are drawn without regard to classes
TEST_SHARE = 0.2  # of the rows, if nothing limits them


def split(rows: Table, seed: int, n_train: int | None, n_test: int | None) -> tuple[Table, Table]:
    """Return at most so many training and test rows; None means four fifths and one fifth of all rows."""
    if rows.qid is not None:
        return _split_queries(rows, rows.qid, seed, n_train, n_test)
    wanted_test = min(n_test or len(rows), round(TEST_SHARE * len(rows)))
    if n_train is not None and n_test is not None:
        wanted_test = min(n_test, max(wanted_test, len(rows) - n_train))
    wanted_train = min(n_train or len(rows), len(rows) - wanted_test)
    train, test = train_test_split(
        np.arange(len(rows)),
        train_size=wanted_train,
        test_size=wanted_test,
        stratify=rows.y if np.unique(rows.y, return_counts=True)[1].min() >= SMALLEST_CLASS else None,
        random_state=seed,
    )
    return rows.take(train), rows.take(test)


def _split_queries(
    rows: Table, qid: np.ndarray, seed: int, n_train: int | None, n_test: int | None
) -> tuple[Table, Table]:
    shuffled = GroupShuffleSplit(1, test_size=TEST_SHARE, random_state=seed)
    train, test = next(shuffled.split(rows.X, groups=qid))
    return rows.take(_whole_queries(train, qid, n_train)), rows.take(_whole_queries(test, qid, n_test))


def _whole_queries(index: np.ndarray, qid: np.ndarray, n_rows: int | None) -> np.ndarray:
    """Return the rows of the first whole queries that have at most `n_rows` rows together, sorted by query."""
    index = index[np.argsort(qid[index], kind="stable")]
    if n_rows is None or len(index) <= n_rows:
        return index
    return index[qid[index] < qid[index[n_rows]]]
