"""Checks of the tables that users pass: a frame with distinct column names, or a two-dimensional array."""

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, _num_samples, column_or_1d, validate_data

from thrifty.costs import CostModel
from thrifty.models.homes import collections, is_collection
from thrifty.models.rows import Rows, checked_queries, refuse_missing_targets
from thrifty.models.tables.columns import column_names, is_frame


def checked_rows(estimator: Any, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> Rows:
    """Check the raw training rows of an estimator, which learns the names and the number of its columns.

    Parameters
    ----------
    estimator : object
        Its ``n_features_in_`` and ``feature_names_in_`` are set. Messages begin with the name of its class.
    X : frame or array-like of shape (n, n_features)
    y : array-like of shape (n,)
    sample_weight : array-like of shape (n,), optional
    qid : array-like of shape (n,), optional

    Returns
    -------
    Rows
        With `weight` None if there are no weights.
    """
    owner = type(estimator).__name__
    if is_collection(X):
        raise TypeError(collections().cannot_fit(owner))
    X = checked_table(estimator, X, reset=True)
    n_rows = _num_samples(X)
    y = _checked_target(owner, y, n_rows)
    return Rows(X, y, _checked_weight(owner, sample_weight, y), checked_queries(qid, n_rows, owner))


def checked_table(estimator: Any, X: Any, reset: bool) -> Any:
    """Check a table; the estimator learns its columns if `reset`, otherwise they must be those it has learned."""
    if not is_frame(X):
        return validate_data(estimator, _as_array(X), reset=reset, dtype=None, order="C", ensure_all_finite=False)
    names = list(map(str, column_names(X)))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{type(estimator).__name__}: X has several columns named {twice!r}. Rename or drop them.")
    if 0 in X.shape:
        raise ValueError(f"{type(estimator).__name__}: X has shape {X.shape}; expected at least one row and column.")
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def resolved_costs(estimator: Any, costs: Any) -> CostModel:
    """Return costs that the user gave as a cost model of the columns that an estimator has learned."""
    return CostModel.resolve(
        costs,
        estimator.n_features_in_,
        feature_names=getattr(estimator, "feature_names_in_", None),
        owner=type(estimator).__name__,
    )


def _checked_target(owner: str, y: Any, n_rows: int) -> np.ndarray:
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    target = column_or_1d(y, warn=True)
    if len(target) != n_rows:
        raise ValueError(f"{owner}: y has shape {target.shape} for {n_rows} rows. Pass one entry per row.")
    refuse_missing_targets(target, owner)
    return target


def _checked_weight(owner: str, sample_weight: Any, y: np.ndarray) -> Any:
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
    if (negative := np.flatnonzero(weight < 0)).size:
        row = negative[0]
        raise ValueError(
            f"{owner}: sample_weight is {weight[row]:g} in row {row}; expected numbers of at least 0, how often each "
            "row counts."
        )
    return weight


def _as_array(X: Any) -> Any:
    """Return nested lists that contain text as an array of objects, because NumPy would turn numbers into text."""
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        return np.array(X, dtype=object)
    return X
