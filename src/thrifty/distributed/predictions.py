"""Predictions of a fitted model on Dask collections: lazy collections with the partitions of X."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from sklearn.utils.validation import check_is_fitted

from thrifty.distributed.collections import (
    as_array,
    column_parts,
    has_unknown_categories,
    is_frame,
    n_parts,
    refuse_other_tables,
    table_parts,
)
from thrifty.kernels.threads import on_one_thread

N_SAMPLE = 2  # rows of a made-up table whose predictions tell shapes and types


def acquired(model: Any, X: Any, cap: Any = None, qid: Any = None) -> "LazyAcquisition":
    """Return what a fitted model acquires and predicts for the rows of a Dask collection.

    Parameters
    ----------
    model : BudgetedEstimator
    X : Dask DataFrame or Array of shape (n, n_features)
    cap : float, Dask Series or Array of shape (n,), optional
        Hard limit on each row's spend.
    qid : Dask Series or Array of shape (n,), optional
        The query of each row.

    Returns
    -------
    LazyAcquisition
    """
    check_is_fitted(model)
    refuse_other_tables(X, type(model).__name__)
    return LazyAcquisition(model, X, cap, qid)


def probabilities(model: Any, X: Any, cap: Any = None, qid: Any = None) -> Any:
    """Return the class probabilities of the rows of a Dask collection, (n, n_classes)."""
    check_is_fitted(model)
    return acquired(model, X, cap, qid).field(
        lambda acquisition: model._probabilities(acquisition.score), "probability"
    )


class LazyAcquisition:
    """The outcome of `acquire` on a Dask collection: each attribute is a lazy collection.

    If X is a DataFrame, columns of numbers are Series and tables are DataFrames, both with the index of X. If X is an
    Array, all are Arrays. ``dask.compute(acquisition.prediction, acquisition.spend)`` runs the model once.

    Parameters
    ----------
    model : BudgetedEstimator
        A fitted model.
    X : Dask DataFrame or Array
    cap, qid : object
        As in `acquire`; columns must be Dask collections.

    Attributes
    ----------
    prediction, spend, feature_spend, evaluation_spend, exit : Dask Series or Array of shape (n,)
        As in `Acquisition`.
    score : Dask Series, DataFrame or Array
        As in `Acquisition`. The columns of a DataFrame are the classes.
    acquired : Dask DataFrame or Array of bool, shape (n, n_features)
        The features that each row bought.
    cost_model : CostModel
        The costs of the features.

    Examples
    --------
    >>> import dask.array as da
    >>> from thrifty import CostWeightedL1Regressor
    >>> model = CostWeightedL1Regressor(costs=[2.5]).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> X = da.from_array([[0.5], [1.5], [1.0]], chunks=(2, 1))
    >>> model.acquire(X).spend.compute(scheduler="threads")
    array([2.5, 2.5, 2.5])
    """

    def __init__(self, model: Any, X: Any, cap: Any = None, qid: Any = None):
        owner = type(model).__name__
        self.cost_model, self._model, self._X = model.cost_model_, model, X
        self._sample = _acquire(model, None, _made_up(X), cap if np.ndim(cap) == 0 else None, None)
        caps = column_parts(cap, X, "cap", owner) if np.ndim(cap) else [cap] * n_parts(X)
        columns = zip(table_parts(X), caps, column_parts(qid, X, "qid", owner), strict=True)
        shared, run = delayed(model, pure=True), delayed(_acquire, pure=False)
        self._rows = table_parts(X)
        self._parts = [run(shared, k, *each) for k, each in enumerate(columns)]

    @cached_property
    def prediction(self) -> Any:
        """The predictions."""
        return self.field(lambda acquisition: acquisition.prediction, "prediction")

    @cached_property
    def score(self) -> Any:
        """What the predictions are made from."""
        return self.field(lambda acquisition: acquisition.score, "score")

    @cached_property
    def acquired(self) -> Any:
        """The features that each row bought."""
        return self.field(
            lambda acquisition: acquisition.acquired, "acquired", self._X.columns if is_frame(self._X) else None
        )

    @cached_property
    def spend(self) -> Any:
        """What each row is charged for features and evaluation."""
        return self.field(lambda acquisition: acquisition.spend, "spend")

    @cached_property
    def feature_spend(self) -> Any:
        """What each row is charged for features."""
        return self.field(lambda acquisition: acquisition.feature_spend, "feature_spend")

    @cached_property
    def evaluation_spend(self) -> Any:
        """What each row is charged for the evaluation of the model."""
        return self.field(lambda acquisition: acquisition.evaluation_spend, "evaluation_spend")

    @cached_property
    def exit(self) -> Any:
        """Where each row ended."""
        return self.field(lambda acquisition: acquisition.exit, "exit")

    def field(self, read: Callable[[Any], np.ndarray], name: str, columns: Any = None) -> Any:
        """Return what a function reads from the acquisition of each partition, as a collection.

        Parameters
        ----------
        read : callable
            Returns an array (n,) or (n, k) of an `Acquisition`.
        name : str
            The name of a Series; Dask cannot shuffle one without a name.
        columns : sequence, default=None
            Names of the k columns. By default the classes.
        """
        sample = read(self._sample)
        if is_frame(self._X):
            names = name if sample.ndim == 1 else self._model.classes_ if columns is None else columns
            meta = _without_rows(sample, self._X._meta.index[:0], names)
            framed, pairs = delayed(_read_frame), zip(self._parts, self._rows, strict=True)
            parts = [framed(read, *each, meta, sample[:0]) for each in pairs]
            return dd.from_delayed(parts, meta=meta, divisions=self._X.divisions)
        read_part = delayed(_read)
        return as_array([read_part(read, part, sample[:0]) for part in self._parts], sample, self._X.chunks[0])

    def __repr__(self) -> str:
        return f"LazyAcquisition({n_parts(self._X)} partitions)"


def _made_up(X: Any) -> Any:
    """Return a table of a few rows with the columns and types of X; categories that are not known are missing."""
    if not is_frame(X):
        return np.ones((N_SAMPLE, X.shape[1]), X.dtype)
    rows = X._meta_nonempty.copy()
    unknown = [name for name, dtype in zip(rows.columns, rows.dtypes, strict=True) if has_unknown_categories(dtype)]
    for name in unknown:  # names may be numbers
        rows[name] = pd.Categorical([np.nan] * len(rows), categories=[0.0])
    return rows


def _acquire(model: Any, position: int | None, X: Any, cap: Any, qid: Any) -> Any:
    """Return the acquisition of a partition, or None if it has no rows; errors name the partition."""
    if not len(X):
        return None
    try:
        with on_one_thread():
            return model.acquire(X, _as_array(cap), qid=_as_array(qid))
    except (ValueError, TypeError) as error:
        if position is None:
            raise
        raise ValueError(f"partition {position} of X: {error}") from error


def _as_array(column: Any) -> Any:
    return column if column is None or np.ndim(column) == 0 else np.asarray(column)


def _read(read: Callable[[Any], np.ndarray], acquisition: Any, empty: np.ndarray) -> np.ndarray:
    return empty if acquisition is None else read(acquisition)


def _read_frame(read: Callable[[Any], np.ndarray], acquisition: Any, rows: Any, meta: Any, empty: np.ndarray) -> Any:
    """Return what a function reads from an acquisition, with the index of the rows, and the type and names of meta."""
    values = _read(read, acquisition, empty)
    if meta.ndim == 1:
        return pd.Series(values, index=rows.index, name=meta.name, dtype=meta.dtype)
    return pd.DataFrame(values, index=rows.index, columns=meta.columns)


def _without_rows(values: np.ndarray, index: Any, names: Any) -> Any:
    """Return no rows of a Series of that name, or of a DataFrame with those columns, with the type of values."""
    if values.ndim == 1:
        return pd.Series(values, name=names)[:0].set_axis(index)
    return pd.DataFrame(values[:0], index=index, columns=names)
