"""Dask collections as lists of partitions that are computed later."""

from typing import Any

import dask.array as da
import dask.dataframe as dd


def is_frame(X: Any) -> bool:
    """Tell whether X is a Dask DataFrame."""
    return isinstance(X, dd.DataFrame)


def refuse_other_tables(X: Any, owner: str) -> None:
    """Raise TypeError unless X is a Dask DataFrame or a Dask Array with two axes."""
    if not (is_frame(X) or (isinstance(X, da.Array) and X.ndim == 2)):
        what = f"a Dask Array with {X.ndim} axes" if isinstance(X, da.Array) else f"a {_name_of(X)}"
        raise TypeError(f"{owner}: X is {what}; expected a Dask DataFrame or a Dask Array with two axes.")


def table_parts(X: Any) -> list[Any]:
    """Return the partitions of a table."""
    return frame_parts(X) if is_frame(X) else X.rechunk({1: -1}).to_delayed()[:, 0].tolist()


def frame_parts(frame: Any) -> list[Any]:
    """Return the partitions of a DataFrame or Series, which reads only its own columns.

    Dask's full optimisation would also join partitions of Parquet files if few of their columns are read. Then y would
    have other partitions than X.
    """
    return frame.simplify().to_delayed(optimize_graph=False)


def column_parts(column: Any, X: Any, name: str, owner: str) -> list[Any]:
    """Return the partitions of a column with one entry per row of X; None if there is no column.

    An Array whose chunks are known is divided like X. Other columns must have as many partitions as X.
    """
    n_parts = X.npartitions if is_frame(X) else len(X.chunks[0])
    if column is None:
        return [None] * n_parts
    if isinstance(column, da.Array) and column.ndim == 1:
        if isinstance(X, da.Array) and not _unknown(X) and not _unknown(column):
            column = _divided_like(column, X, name, owner)
    elif not isinstance(column, dd.Series):
        raise TypeError(
            f"{owner}: {name} is a {_name_of(column)} but X is a Dask collection. Pass {name} as a Dask Series or as a "
            "Dask Array with one axis, with the partitions of X."
        )
    if column.npartitions != n_parts:
        raise ValueError(
            f"{owner}: {name} has {column.npartitions} partitions but X has {n_parts}. Take both from one DataFrame, "
            "or repartition one of them."
        )
    return frame_parts(column) if isinstance(column, dd.Series) else column.to_delayed().tolist()


def _divided_like(column: da.Array, X: da.Array, name: str, owner: str) -> da.Array:
    if column.shape[0] != X.shape[0]:
        raise ValueError(f"{owner}: {name} has {column.shape[0]} entries for the {X.shape[0]} rows of X.")
    return column.rechunk((X.chunks[0],))


def _unknown(array: da.Array) -> bool:
    """Tell whether the lengths of chunks are unknown, as in an Array that was made of a DataFrame."""
    return any(length != length for length in array.chunks[0])


def _name_of(data: Any) -> str:
    return f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"
