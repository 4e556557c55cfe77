"""Rows of training data: features, targets, weights and queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets

from thrifty.arrays import is_device_array, taken
from thrifty.models.parameters import is_number

Encoder = Callable[[np.ndarray], np.ndarray]  # turns y into columns of numbers (n, n_targets)
LARGEST_TARGET, SMALLEST_TARGET = 1e100, 1e-100  # squares of targets and their sums are then finite and not 0


@dataclass(frozen=True, eq=False)
class Rows:
    """``n`` rows of training data.

    Attributes
    ----------
    X : array, sparse matrix or frame of shape (n, n_features)
    y : ndarray of shape (n,)
        The targets, as the user gave them.
    weight : ndarray of shape (n,) or None
        How often each row counts; None means once.
    qid : ndarray of shape (n,) or None
        The query that each row belongs to, if there are queries.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.zeros((3, 2)), np.array([1.0, 2.0, 3.0]), np.ones(3))
    >>> rows.take(np.array([0, 2])).y
    array([1., 3.])
    """

    X: Any
    y: np.ndarray
    weight: Any = None
    qid: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, index: np.ndarray) -> Rows:
        """Return the rows at some positions, or where a boolean mask is True."""
        y, weight, qid = (None if each is None else each[index] for each in (self.y, self.weight, self.qid))
        X = taken(self.X, index) if is_device_array(self.X) else _safe_indexing(self.X, index)
        return Rows(X, np.asarray(y), weight, qid)

    def counted(self) -> Rows:
        """Return the rows of positive weight."""
        is_counted = self.weight > 0
        return self if is_counted.all() else self.take(is_counted)


def as_counts(weight: np.ndarray) -> np.ndarray:
    """Return sample weights as numbers of rows: unchanged if all are at least 1, else rescaled to a mean of 1.

    Rules that count rows (``min_samples_leaf``, leverages) then give the same result whether a row is repeated or
    weighted, and do not break on weights that sum to one.
    """
    return weight if weight.min() >= 1 else weight * (weight.size / weight.sum())


def class_weighted(rows: Rows, class_weight: Any) -> Rows:
    """Return rows whose weights are multiplied by the weights of their classes.

    Parameters
    ----------
    rows : Rows
    class_weight : dict, "balanced" or None
        As scikit-learn has it: ``{class: weight}``, where classes that are not listed have weight 1; "balanced" means
        the weight n / (n_classes * n_k) of a class with n_k of n rows.

    Returns
    -------
    Rows
    """
    if class_weight is None:
        return rows
    classes, code, count = np.unique(rows.y, return_inverse=True, return_counts=True)
    weights = weights_of_classes(dict(zip(classes.tolist(), count.tolist(), strict=True)), class_weight)
    of_class = np.array(list(weights.values()))
    return replace(rows, weight=of_class[code] if rows.weight is None else rows.weight * of_class[code])


def weights_of_classes(counts: Mapping[Any, int], class_weight: Any) -> dict[Any, float]:
    """Return the weight of each class, given how many rows it has; see `class_weighted`."""
    if isinstance(class_weight, Mapping):
        return {each: float(class_weight.get(each, 1.0)) for each in counts}
    n_rows = sum(counts.values())
    return {each: n_rows / (len(counts) * count) for each, count in counts.items()}


def refuse_bad_class_weight(class_weight: Any, y: np.ndarray, owner: str) -> None:
    """Raise ValueError unless weights of classes are None, "balanced", or a dict of classes and weights above 0."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    expected = "expected 'balanced', or a dict {class: weight} with weights above 0"
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"{owner}: class_weight is {class_weight!r}; {expected}.")
    classes = np.unique(y).tolist()
    for label, weight in class_weight.items():
        if label not in classes:
            raise ValueError(f"{owner}: class_weight has {label!r}, which is not a class of y; {expected}.")
        if not is_number(weight, 0) or not weight > 0:
            raise ValueError(f"{owner}: class_weight of {label!r} is {weight!r}; {expected}.")


def checked_queries(qid: Any, n_rows: int, owner: str) -> np.ndarray | None:
    """Return the queries as an array with one entry per row, or None if no queries are given.

    Raises
    ------
    ValueError
        If the number of entries is not the number of rows, or an entry is None or NaN. The message begins with
        `owner`.
    """
    if qid is None:
        return None
    queries = np.asarray(qid)
    if queries.shape != (n_rows,):
        raise ValueError(f"{owner}: qid has shape {queries.shape} for {n_rows} rows. Pass one query per row.")
    if (missing := np.flatnonzero([query is None or query != query for query in queries.tolist()])).size:
        raise ValueError(f"{owner}: qid is missing in row {missing[0]}. Pass one query per row.")
    return queries


def refuse_missing_targets(y: np.ndarray, owner: str) -> None:
    """Raise ValueError if a target is None, NaN or another missing value; the message begins with `owner`."""
    if (missing := np.flatnonzero(pd.isna(y))).size:
        raise ValueError(
            f"{owner}: y is missing in {missing.size} of {len(y)} rows, first in row {missing[0]}. Drop these rows."
        )


def refuse_divided_queries(distinct: Sequence[np.ndarray], owner: str) -> None:
    """Raise ValueError if a query is in several partitions, given the distinct queries of each.

    The message begins with `owner`.
    """
    partition_of: dict[Any, int] = {}
    for partition, queries in enumerate(distinct):
        for query in queries.tolist():
            if (other := partition_of.setdefault(query, partition)) != partition:
                raise ValueError(
                    f"{owner}: query {query!r} has rows in partition {other} and in partition {partition}. "
                    "Repartition the collections so that each query is in one partition, or leave out qid."
                )


def distinct_queries(rows: Rows) -> np.ndarray:
    """Return the queries of a block of rows."""
    return np.zeros(0, dtype=int) if rows.qid is None else np.unique(rows.qid)


def largest_target(rows: Rows) -> float:
    """Return the largest absolute value of the targets of a block of rows."""
    return float(np.abs(np.asarray(rows.y, dtype=float)).max(initial=0.0))


def distinct_classes(rows: Rows) -> np.ndarray:
    """Return the classes of a block of rows."""
    if len(rows.y):
        check_classification_targets(rows.y)
    return np.unique(rows.y)


@dataclass(frozen=True, eq=False)
class NumberEncoder:
    """Turns y into one column of floats.

    Parameters
    ----------
    largest : float
        The largest absolute value of y.
    owner : str
        Messages of errors begin with it.

    Raises
    ------
    ValueError
        If squares of the targets, which every method sums, would be infinite, or would all be rounded to 0.
    """

    largest: float
    owner: str

    def __post_init__(self) -> None:
        _refuse_extreme_targets(self.largest, self.owner)

    def __call__(self, y: Any) -> np.ndarray:
        """Return y as one column."""
        return np.asarray(y, dtype=float)[:, None]


@dataclass(frozen=True, eq=False)
class ClassEncoder:
    """Turns classes into one column of +-1 if there are two classes, otherwise into one-hot columns.

    Parameters
    ----------
    classes : ndarray
        In ascending order.
    """

    classes: np.ndarray

    def __call__(self, y: Any) -> np.ndarray:
        """Return the columns of rows of these classes."""
        codes = np.searchsorted(self.classes, y)
        return 2.0 * codes[:, None] - 1.0 if len(self.classes) == 2 else np.eye(len(self.classes))[codes]


def _refuse_extreme_targets(largest: float, owner: str) -> None:
    if largest > LARGEST_TARGET:
        limit, remedy = f"at most {LARGEST_TARGET:g}", "Divide y by a constant."
    elif 0 < largest < SMALLEST_TARGET:
        limit, remedy = f"at least {SMALLEST_TARGET:g}", "Multiply y by a constant."
    else:
        return
    raise ValueError(
        f"{owner}: the largest number in y has size {largest:g}; expected {limit}, because squares of y are summed. "
        f"{remedy}"
    )
