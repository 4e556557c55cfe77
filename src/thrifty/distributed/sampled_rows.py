"""Rows of a search on Dask collections: a sample in this process to choose on, and all rows as numbers to fit."""

from functools import partial
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import pandas as pd
from dask import compute, delayed

from thrifty.distributed.collections import column_parts, is_frame, refuse_other_tables, table_parts

FAN_IN = 8  # samples that a task joins


class Sample(NamedTuple):
    """Rows that were drawn: the table, the targets, the weights if there are any, and the number of all rows."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    n_rows: int


def sampled(X: Any, y: Any, sample_weight: Any, n_rows: int | None, random_state: Any, owner: str) -> Sample:
    """Draw rows at random, each with the same probability, in the order of the table.

    Each row gets a random number, and those with the smallest numbers are drawn. Partitions and groups of samples are
    cut on the workers, so no task holds more than one partition or `FAN_IN` samples.

    Parameters
    ----------
    X : Dask DataFrame or Array of shape (n, n_features)
    y, sample_weight : Dask Series or Array of shape (n,)
    n_rows : int or None
        The number of rows to draw; None means all.
    random_state : int or None
    owner : str
        The beginning of messages.
    """
    refuse_other_tables(X, owner)
    columns = [column_parts(each, X, name, owner) for each, name in ((y, "y"), (sample_weight, "sample_weight"))]
    seeds = np.random.SeedSequence(random_state).spawn(len(columns[0]))
    names = X.columns.tolist() if is_frame(X) else None
    draw, join = (delayed(partial(each, n_rows)) for each in (_drawn, _joined))
    parts = zip(range(len(seeds)), seeds, table_parts(X), *columns, strict=True)
    samples = [draw(owner, names, *part) for part in parts]
    while len(samples) > 1:
        samples = [join(samples[k : k + FAN_IN]) for k in range(0, len(samples), FAN_IN)]
    (frame, n_all) = compute(samples[0])[0]
    if not len(frame):
        raise ValueError(f"{owner}: X has no rows. Pass at least one row.")
    table = frame["X"].reset_index(drop=True)
    weight = None if sample_weight is None else frame["weight", ""].to_numpy()
    return Sample(table if is_frame(X) else table.to_numpy(), frame["y", ""].to_numpy(), weight, n_all)


def _drawn(
    n_rows: int | None, owner: str, names: Any, position: int, seed: Any, X: Any, y: Any, weight: Any
) -> tuple[pd.DataFrame, int]:
    """Return the rows of a partition with the smallest random numbers, and the number of its rows."""
    if names is not None and (missing := [name for name in names if name not in X.columns]):
        raise ValueError(f"{owner}: partition {position}: X lacks column {missing[0]!r}, which the collection has.")
    table = (X if names is None else X[names]).copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if len(y) != len(table):
        raise ValueError(f"{owner}: partition {position}: y has {len(y)} entries for {len(table)} rows of X.")
    beside = {"y": np.asarray(y), "number": np.random.default_rng(seed).random(len(table))}
    if weight is not None:
        beside["weight"] = np.asarray(weight)
    rest = pd.DataFrame({(name, ""): values for name, values in beside.items()})
    table.columns = pd.MultiIndex.from_tuples([("X", name) for name in table.columns])
    return _smallest(pd.concat([table.reset_index(drop=True), rest], axis=1), n_rows), len(table)


def _joined(n_rows: int | None, samples: list[tuple[pd.DataFrame, int]]) -> tuple[pd.DataFrame, int]:
    frames = [frame for frame, _ in samples if len(frame)] or [samples[0][0]]
    return _smallest(pd.concat(frames, ignore_index=True), n_rows), sum(count for _, count in samples)


def _smallest(frame: pd.DataFrame, n_rows: int | None) -> pd.DataFrame:
    if n_rows is None or len(frame) <= n_rows:
        return frame
    kept = np.argpartition(frame["number", ""].to_numpy(), n_rows - 1)[:n_rows]
    return frame.iloc[np.sort(kept)].reset_index(drop=True)


def encoded(X: Any, encoder: Any) -> Any:
    """Return a table as a Dask Array of the columns of numbers that an encoder derives."""
    read, shared = delayed(_encoded), delayed(encoder, pure=True)
    meta, rows = np.empty((0, len(encoder.source_))), table_parts(X)
    lengths = [np.nan] * len(rows) if is_frame(X) else X.chunks[0]
    parts = [
        da.from_delayed(read(part, shared), (length, meta.shape[1]), meta=meta)
        for part, length in zip(rows, lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _encoded(X: Any, encoder: Any) -> np.ndarray:
    if not len(X):
        return np.empty((0, len(encoder.source_)))
    return encoder.transform(X[[field.name for field in encoder.fields_]] if isinstance(X, pd.DataFrame) else X)


def mean_spend(spend: Any, weight: Any) -> float:
    """Return the mean of a lazy column of spends, weighted if there are weights."""
    spend = _as_array(spend)
    weight = da.ones_like(spend) if weight is None else _as_array(weight)
    total, count = compute((spend * weight).sum(), weight.sum())
    return float(total / count)


def _as_array(column: Any) -> Any:
    return column.to_dask_array() if hasattr(column, "to_dask_array") else column
