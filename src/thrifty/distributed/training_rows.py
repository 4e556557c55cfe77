"""Training rows on the workers: checked partition by partition, with errors that name the partition."""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from dask import delayed
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    _check_y,
    check_array,
)

from distributed import Client, Future, default_client, wait
from thrifty.distributed.collections import (
    column_parts,
    has_unknown_categories,
    is_frame,
    refuse_missing_target,
    refuse_other_tables,
    table_parts,
)
from thrifty.distributed.partitions import Partitions
from thrifty.models.magnitudes import refuse_extreme
from thrifty.models.rows import Rows, checked_queries, distinct_queries, largest_target
from thrifty.models.training_record import Training, fingerprint

NUMBERS = "biuf"  # kinds of dtypes
ROWS_IN_CACHE = 256  # that are copied together

FITTED = (
    "ASTCClassifier",
    "ASTCRegressor",
    "CSCCClassifier",
    "CSCCRegressor",
    "CSTCClassifier",
    "CSTCRegressor",
    "CostWeightedL1Classifier",
    "CostWeightedL1Regressor",
    "CronusClassifier",
    "CronusRegressor",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
)


def cannot_fit(owner: str) -> str:
    """Return the message of an estimator that is not fitted on Dask collections."""
    return (
        f"{owner}: X is a Dask collection, but this estimator needs all rows in one process. Pass X and y as arrays or "
        f"frames (X.compute(), y.compute()), or a sample of them, or use one of {', '.join(FITTED)}."
    )


def located(estimator: Any, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> Partitions[Rows]:
    """Check training data on the workers, drop rows of weight 0, and resolve the costs against the columns.

    Parameters
    ----------
    estimator : BudgetedEstimator
        Gets its attributes about columns, costs and the record of the fit.
    X : Dask DataFrame or Array of shape (n, n_features)
        Numeric columns. NaN means that a value is unavailable.
    y, sample_weight, qid : Dask Series or Array of shape (n,)
        With the partitions of X.

    Returns
    -------
    Partitions of Rows
        They stay in the memory of the workers.
    """
    owner = type(estimator).__name__
    refuse_other_tables(X, owner)
    refuse_missing_target(y, owner)
    schema = _Schema.of(X, owner, estimator._reads_columns)
    parts = [table_parts(X)] + [
        column_parts(column, X, name, owner)
        for column, name in ((y, "y"), (sample_weight, "sample_weight"), (qid, "qid"))
    ]
    _check_feature_names(estimator, X._meta, reset=True)
    estimator.n_features_in_ = schema.n_features
    estimator._resolve_costs()
    client = _client(owner)
    checked, described = delayed(_checked_rows, pure=False), delayed(_described, pure=False)
    blocks = [checked(schema, *each) for each in zip(*parts, strict=True)]
    futures = client.compute([*blocks, *map(described, blocks)])  # each block is described while it is in memory
    _refuse_failed(futures[: len(blocks)], owner)
    descriptions = client.gather(futures[len(blocks) :])
    rows: Partitions[Rows] = Partitions.of(client, futures[: len(blocks)])
    lengths, smallest, largest, weight, prints, targets = zip(*descriptions, strict=True)
    if not (n_rows := sum(lengths)):
        raise ValueError(f"{owner}: X has no rows of positive weight. Pass at least one row.")
    refuse_extreme(np.array(largest), "sample_weight", owner, "Multiply all weights by a constant.")
    estimator.training_ = Training.now(n_rows, sha256("".join(prints).encode()).hexdigest())
    weighted = rows if min(smallest) >= 1 else rows.map(_reweighted, n_rows / sum(weight))
    weighted.remember(len, list(lengths))
    if qid is None:
        weighted.remember(distinct_queries, [np.zeros(0, dtype=int)] * len(lengths))
    if None not in targets:
        weighted.remember(largest_target, list(targets))
    return weighted


def _client(owner: str) -> Client:
    try:
        return default_client()
    except ValueError as error:
        raise RuntimeError(
            f"{owner}: X is a Dask collection, but there is no cluster to fit on. Start one first: "
            "from distributed import Client; client = Client()."
        ) from error


@dataclass(frozen=True)
class _Schema:
    """What every partition of X must look like: names and types of columns, and how rows are read.

    They are read as `dtype`, and if `by_column` is False, each row is then contiguous.
    """

    owner: str
    columns: list[Any] | None
    types: list[Any] | None
    n_features: int
    dtype: Any
    by_column: bool

    @classmethod
    def of(cls, X: Any, owner: str, by_column: bool) -> "_Schema":
        """Return the schema of a collection, or raise TypeError if a column is not numeric."""
        if not X.shape[1]:
            raise ValueError(f"{owner}: X has no columns; expected at least one.")
        types = X._meta.dtypes.tolist() if is_frame(X) else [X.dtype]
        names = X._meta.columns.tolist() if is_frame(X) else None
        if names and (twice := [name for name in names if names.count(name) > 1]):
            raise ValueError(f"{owner}: X has several columns named {twice[0]!r}. Rename or drop them.")
        for j, each in enumerate(types):
            if not _holds_numbers(each):
                what = f"column {names[j]!r}" if names else "X"
                raise TypeError(
                    f"{owner}: {what} has dtype {each}; expected numbers. Encode it first, for instance with a "
                    "dictionary: ddf[name].map({'low': 0, 'high': 1}, meta=(name, 'float64'))."
                )
        dtype = np.float32 if all(each == np.float32 for each in types) else np.float64
        n_features = len(types) if is_frame(X) else X.shape[1]
        return cls(owner, names, types if is_frame(X) else None, n_features, dtype, by_column)

    def refuse_other(self, part: Any) -> None:
        """Raise ValueError unless a partition has the columns and types of the collection."""
        if self.columns is None:
            if part.ndim != 2 or part.shape[1] != self.n_features:
                raise ValueError(f"X has shape {part.shape}; expected {self.n_features} columns")
            return
        found = part.columns.tolist()
        for name in self.columns:
            if name not in found:
                raise ValueError(f"X lacks column {name!r}, which the collection has")
        for name in found:
            if name not in self.columns:
                raise ValueError(f"X has column {name!r}, which the collection does not have")
        if found != self.columns:
            raise ValueError(f"X has columns in the order {found}; expected {self.columns}")
        for name, expected, dtype in zip(found, self.types or (), part.dtypes, strict=True):
            if isinstance(expected, pd.CategoricalDtype) and isinstance(dtype, pd.CategoricalDtype):
                if not _holds_numbers(dtype):  # partitions may have other categories, which must be numbers too
                    odd = dtype.categories[:1].tolist()[0]
                    raise ValueError(f"column {name!r} of X has the category {odd!r}; expected numbers")
            elif dtype != expected:
                raise ValueError(f"column {name!r} of X has dtype {dtype}; expected {expected} as in the collection")


def _holds_numbers(dtype: Any) -> bool:
    """Tell whether a type stands for numbers, or for categories that are numbers or are not known yet."""
    if isinstance(dtype, pd.CategoricalDtype):
        return has_unknown_categories(dtype) or _holds_numbers(dtype.categories.dtype)
    is_real = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)
    return is_real or pd.api.types.is_bool_dtype(dtype)


def _refuse_failed(futures: list[Future], owner: str) -> None:
    """Raise an error that names the first partition that cannot be read or is not valid."""
    wait(futures)
    for position, future in enumerate(futures):
        if future.status == "error":
            error = future.exception()
            if not isinstance(error, ValueError | TypeError | KeyError):
                error.add_note(f"{owner}: this error was raised when partition {position} of X was read.")
                raise error
            problem = str(error).removeprefix(f"{owner}: ").rstrip(". ")
            raise ValueError(f"{owner}: partition {position}: {problem}. Correct it.") from error


def _checked_rows(schema: _Schema, X: Any, y: Any, weight: Any, qid: Any) -> Rows:
    """Return the rows of a partition as arrays."""
    schema.refuse_other(X)
    values = check_array(
        _numbers(X, schema),
        dtype=schema.dtype,
        order=None if schema.by_column else "C",
        ensure_all_finite="allow-nan",
        ensure_min_samples=0,
        input_name="X",
    )
    for name, column in (("y", y), ("sample_weight", weight), ("qid", qid)):
        if column is not None and len(column) != len(values):
            raise ValueError(f"{name} has {len(column)} entries for {len(values)} rows of X")
    if pd.isna(y).any():
        raise ValueError("y contains NaN or another missing value")
    labels = _check_y(np.asarray(y), multi_output=False) if len(values) else np.asarray(y)
    weights = np.zeros(len(values))  # a partition may have no row that counts, if others have one
    if len(values) and (weight is None or np.any(weight)):
        weights = _check_sample_weight(weight, values, dtype=np.float64, ensure_non_negative=True)
    return Rows(values, labels, weights, checked_queries(qid, len(values), schema.owner)).counted()


def _numbers(X: Any, schema: _Schema) -> Any:
    """Return a frame of numbers as an array; other tables are returned as they are.

    The columns of a frame are contiguous. If rows must be, a few rows are copied at a time, which stay in the cache of
    the processor. This takes a tenth of the time.
    """
    if not isinstance(X, pd.DataFrame) or not all(isinstance(each, np.dtype) for each in X.dtypes):
        return X
    columns = X.to_numpy(dtype=schema.dtype)
    if schema.by_column and columns.flags.f_contiguous:
        return columns
    rows = np.empty(columns.shape, schema.dtype)
    for first in range(0, len(rows), ROWS_IN_CACHE):
        rows[first : first + ROWS_IN_CACHE] = columns[first : first + ROWS_IN_CACHE]
    return rows


def _described(rows: Rows) -> tuple[int, float, float, float, str, float | None]:
    """Return the number of rows, the smallest, the largest and the sum of the weights, a fingerprint, and the largest
    absolute target; None if targets are not numbers.
    """
    weight = rows.weight
    ends = float(weight.min(initial=np.inf)), float(weight.max(initial=0.0))
    target = largest_target(rows) if rows.y.dtype.kind in NUMBERS else None
    return len(rows), *ends, float(weight.sum()), fingerprint(rows.X, rows.y), target


def _reweighted(rows: Rows, factor: float) -> Rows:
    return replace(rows, weight=rows.weight * factor)
