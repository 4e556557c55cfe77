"""Dask collections as lists of partitions that are computed later."""

from collections.abc import Sequence
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask._task_spec import Alias
from dask.dataframe.utils import UNKNOWN_CATEGORIES
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph


def is_frame(X: Any) -> bool:
    """Tell whether X is a Dask DataFrame."""
    return isinstance(X, dd.DataFrame)


def refuse_other_tables(X: Any, owner: str) -> None:
    """Raise TypeError unless X is a Dask DataFrame or a Dask Array with two axes."""
    if not (is_frame(X) or (isinstance(X, da.Array) and X.ndim == 2)):
        raise TypeError(f"{owner}: X is {_described(X)}; expected a Dask DataFrame or a Dask Array with two axes.")


def refuse_missing_target(y: Any, owner: str) -> None:
    """Raise ValueError if there are no targets."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")


def has_unknown_categories(dtype: Any) -> bool:
    """Tell whether a type has categories that Dask finds only when it computes the column."""
    if not isinstance(dtype, pd.CategoricalDtype):
        return False
    return not len(dtype.categories) or UNKNOWN_CATEGORIES in dtype.categories


def table_parts(X: Any) -> list[Any]:
    """Return the partitions of a table."""
    return frame_parts(X) if is_frame(X) else X.rechunk({1: -1}).to_delayed()[:, 0].tolist()


def n_parts(X: Any) -> int:
    """Return the number of partitions of a table."""
    return X.npartitions if is_frame(X) else len(X.chunks[0])


def frame_parts(frame: Any) -> list[Any]:
    """Return the partitions of a DataFrame or Series, which reads only its own columns.

    Dask's full optimisation would also join partitions of Parquet files if few of their columns are read. Then y would
    have other partitions than X.

    `dd.from_delayed(..., verify_meta=False)` makes tasks of the form {name: Alias(other)} that do not hold their own
    name. Arrays that are made of them then fail, because Dask takes such a task for one that needs itself.
    """
    frame = frame.simplify()
    tasks = {
        key: Alias(key, task.target) if isinstance(task, Alias) else task
        for key, task in frame.__dask_graph__().items()
    }
    layer = f"delayed-{frame._name}"
    graph = HighLevelGraph.from_collections(layer, tasks, dependencies=())
    return [Delayed(key, graph, layer=layer) for key in frame.__dask_keys__()]


def as_array(parts: Sequence[Any], sample: np.ndarray, lengths: Sequence[float] | None = None) -> da.Array:
    """Return parts that are computed later as one Array; `sample` tells the types and the lengths of other axes."""
    chunks = [
        da.from_delayed(part, (length, *sample.shape[1:]), dtype=sample.dtype)
        for part, length in zip(parts, [np.nan] * len(parts) if lengths is None else lengths, strict=True)
    ]
    return da.concatenate(chunks, allow_unknown_chunksizes=True)


def column_parts(column: Any, X: Any, name: str, owner: str) -> list[Any]:
    """Return the partitions of a column with one entry per row of X; None if there is no column.

    An Array whose chunks are known is divided like X. Other columns must have as many partitions as X.
    """
    if column is None:
        return [None] * n_parts(X)
    if isinstance(column, da.Array) and column.ndim == 1:
        if isinstance(X, da.Array) and not _unknown(X) and not _unknown(column):
            column = _divided_like(column, X, name, owner)
    elif not isinstance(column, dd.Series):
        raise TypeError(
            f"{owner}: {name} is {_described(column)} but X is a Dask collection. Pass {name} as a Dask Series or as a "
            f"Dask Array with one axis, with the partitions of X.{_one_column(column, name)}"
        )
    if column.npartitions != n_parts(X):
        raise ValueError(
            f"{owner}: {name} has {column.npartitions} partitions but X has {n_parts(X)}. {_remedy(column, X, name)}"
        )
    return frame_parts(column) if isinstance(column, dd.Series) else column.to_delayed().tolist()


def _one_column(column: Any, name: str) -> str:
    """Return how to pass the only column of a table, if it has one."""
    if isinstance(column, dd.DataFrame) and len(column.columns) == 1:
        return f" For instance {name}[{column.columns[0]!r}]."
    if isinstance(column, da.Array) and column.ndim == 2 and column.shape[1] == 1:
        return f" For instance {name}[:, 0]."
    return ""


def _remedy(column: Any, X: Any, name: str) -> str:
    """Return the code that gives a column the partitions of X."""
    if is_frame(X) and isinstance(column, dd.Series):
        return f"Take both from one DataFrame: X, {name} = frame[features], frame[{column.name!r}]."
    calls = [
        f"{each} = {each}.{'compute_chunk_sizes()' if isinstance(data, da.Array) else 'to_dask_array(lengths=True)'}"
        for each, data in (("X", X), (name, column))
        if not isinstance(data, da.Array) or _unknown(data)
    ]
    return f"Call {' and '.join(calls)}: Arrays whose lengths are known need not have the same partitions."


def _divided_like(column: da.Array, X: da.Array, name: str, owner: str) -> da.Array:
    if column.shape[0] != X.shape[0]:
        raise ValueError(f"{owner}: {name} has {column.shape[0]} entries for the {X.shape[0]} rows of X.")
    return column.rechunk((X.chunks[0],))


def _unknown(array: da.Array) -> bool:
    """Tell whether the lengths of chunks are unknown, as in an Array that was made of a DataFrame."""
    return any(length != length for length in array.chunks[0])


def _described(data: Any) -> str:
    """Return what data are, for messages."""
    return f"a {_name_of(data)}" + (f" with {data.ndim} axes" if isinstance(data, da.Array) else "")


def _name_of(data: Any) -> str:
    return f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"
