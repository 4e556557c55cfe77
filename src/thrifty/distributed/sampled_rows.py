"""Rows of a search on Dask collections: a sample in this process to choose on, and all rows as numbers to fit."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from dask import compute, delayed

from thrifty.distributed.collections import (
    as_array,
    column_parts,
    is_frame,
    n_parts,
    refuse_missing_target,
    refuse_other_tables,
    table_parts,
)
from thrifty.models.rows import Rows, refuse_divided_queries

FAN_IN = 8  # samples that a task joins
MOST_CLASSES = 10_000  # targets with more distinct values are not counted, because they are numbers
BESIDE = ("y", "sample_weight", "qid", "groups")  # columns beside the table


class Sample(NamedTuple):
    """Rows that were drawn, and what is known of all rows.

    Attributes
    ----------
    X : DataFrame or ndarray
    y : ndarray
    sample_weight, qid, groups : ndarray or None
        None if they were not given.
    n_rows : int
        The number of all rows.
    class_counts : dict or None
        How many of all rows have each target; None if there are more than `MOST_CLASSES` different ones.
    """

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray | None
    qid: np.ndarray | None
    groups: np.ndarray | None
    n_rows: int
    class_counts: Mapping[Any, int] | None


class _Drawn(NamedTuple):
    """What was drawn of some partitions, and the number and the targets of all their rows."""

    frame: pd.DataFrame
    n_rows: int
    class_counts: Counter[Any] | None


def sampled(
    X: Any,
    y: Any,
    sample_weight: Any,
    n_rows: int | None,
    random_state: Any,
    owner: str,
    *,
    qid: Any = None,
    groups: Any = None,
) -> Sample:
    """Draw rows at random, each with the same probability, in the order of the table.

    Each row gets a random number, and those with the smallest numbers are drawn. If there are queries, whole queries
    are drawn: the number of a row is a hash of its query. Partitions and groups of samples are cut on the workers, so
    no task holds more than one partition or `FAN_IN` samples.

    Parameters
    ----------
    X : Dask DataFrame or Array of shape (n, n_features)
    y, sample_weight : Dask Series or Array of shape (n,)
    n_rows : int or None
        The number of rows to draw, with queries the largest number; None means all.
    random_state : int or None
    owner : str
        The beginning of messages.
    qid, groups : Dask Series or Array of shape (n,), optional
    """
    refuse_other_tables(X, owner)
    refuse_missing_target(y, owner)
    given = dict(zip(BESIDE, (y, sample_weight, qid, groups), strict=True))
    columns = [column_parts(column, X, name, owner) for name, column in given.items()]
    root, by_query = np.random.SeedSequence(random_state), qid is not None
    salt = root.generate_state(1, np.uint64)[0] if by_query else None
    names = X.columns.tolist() if is_frame(X) else None
    draw, join = delayed(partial(_drawn, n_rows, salt)), delayed(partial(_joined, n_rows, by_query))
    parts = zip(range(n_parts(X)), root.spawn(n_parts(X)), table_parts(X), *columns, strict=True)
    samples = [draw(owner, names, *part) for part in parts]
    while len(samples) > 1:
        samples = [join(samples[k : k + FAN_IN]) for k in range(0, len(samples), FAN_IN)]
    drawn: _Drawn = compute(samples[0])[0]
    frame = _whole_queries(drawn.frame, n_rows, owner) if by_query else drawn.frame
    if not len(frame):
        raise ValueError(f"{owner}: X has no rows. Pass at least one row.")
    table = frame["X"].reset_index(drop=True)
    beside = {name: None if column is None else frame[name, ""].to_numpy() for name, column in given.items()}
    return Sample(
        X=table if is_frame(X) else table.to_numpy(),
        n_rows=drawn.n_rows,
        class_counts=drawn.class_counts,
        **beside,  # type: ignore[arg-type]
    )


def _drawn(
    n_rows: int | None, salt: Any, owner: str, names: Any, position: int, seed: Any, X: Any, *columns: Any
) -> _Drawn:
    """Return the rows of a partition with the smallest random numbers, and what is known of all its rows."""
    place = f"{owner}: partition {position}:"
    if names is not None and (missing := [name for name in names if name not in X.columns]):
        raise ValueError(f"{place} X lacks column {missing[0]!r}, which the collection has.")
    table = (X if names is None else X[names]).copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    beside = {name: np.asarray(each) for name, each in zip(BESIDE, columns, strict=True) if each is not None}
    for name, column in beside.items():
        if len(column) != len(table):
            raise ValueError(f"{place} {name} has {len(column)} entries for {len(table)} rows of X.")
        if (missing_in := np.flatnonzero(pd.isna(column))).size:
            raise ValueError(f"{place} {name} is missing in row {missing_in[0]} of the partition. Drop such rows.")
    counts = Counter(dict(pd.Series(beside["y"]).value_counts(sort=False).items()))
    if salt is None:
        beside["number"] = np.random.default_rng(seed).random(len(table))
    else:
        beside["number"] = pd.util.hash_array(pd.util.hash_array(beside["qid"]) ^ salt)
    rest = pd.DataFrame({(name, ""): values for name, values in beside.items()})
    table.columns = pd.MultiIndex.from_tuples([("X", name) for name in table.columns])
    frame = pd.concat([table.reset_index(drop=True), rest], axis=1)
    return _Drawn(_smallest(frame, n_rows, salt is not None), len(table), _if_few(counts))


def _joined(n_rows: int | None, by_query: bool, samples: list[_Drawn]) -> _Drawn:
    frames = [each.frame for each in samples if len(each.frame)] or [samples[0].frame]
    frame = _smallest(pd.concat(frames, ignore_index=True), n_rows, by_query)
    counts: Counter[Any] | None = Counter()
    for each in samples:
        counts = None if counts is None or each.class_counts is None else _if_few(counts + each.class_counts)
    return _Drawn(frame, sum(each.n_rows for each in samples), counts)


def _if_few(counts: Counter[Any]) -> Counter[Any] | None:
    return counts if len(counts) <= MOST_CLASSES else None


def _smallest(frame: pd.DataFrame, n_rows: int | None, by_query: bool) -> pd.DataFrame:
    """Return the `n_rows` rows with the smallest numbers; by query, also the other rows of the last query."""
    if n_rows is None or len(frame) <= n_rows:
        return frame
    numbers = frame["number", ""].to_numpy()
    order = np.argpartition(numbers, n_rows - 1)[:n_rows]
    kept = np.flatnonzero(numbers <= numbers[order].max()) if by_query else np.sort(order)
    return frame.iloc[kept].reset_index(drop=True)


def _whole_queries(frame: pd.DataFrame, n_rows: int | None, owner: str) -> pd.DataFrame:
    """Return at most `n_rows` rows: the queries with the smallest numbers."""
    if n_rows is None or len(frame) <= n_rows:
        return frame
    numbers, counts = np.unique(frame["number", ""].to_numpy(), return_counts=True)
    n_whole = int(np.searchsorted(np.cumsum(counts), n_rows, side="right"))
    if n_whole < 2:
        raise ValueError(
            f"{owner}: max_rows is {n_rows}, but the first two queries that were drawn have {counts[:2].sum()} rows. "
            "Pass a larger max_rows."
        )
    return frame[frame["number", ""].to_numpy() <= numbers[n_whole - 1]].reset_index(drop=True)


def queries_are_divided(qid: Any, X: Any, owner: str) -> str | None:
    """Return the message about a query that has rows in several partitions of a column; None if there is none."""
    parts = [delayed(_distinct)(part) for part in column_parts(qid, X, "qid", owner)]
    try:
        refuse_divided_queries(compute(*parts), owner)
    except ValueError as error:
        return str(error)
    return None


def _distinct(column: Any) -> np.ndarray:
    return np.unique(np.asarray(column))


def encoded(X: Any, encoder: Any) -> Any:
    """Return a table as a Dask Array of the columns of numbers that an encoder derives."""
    read, shared = delayed(_encoded), delayed(encoder, pure=True)
    sample = np.empty((0, len(encoder.source_)))
    return as_array([read(part, shared) for part in table_parts(X)], sample, None if is_frame(X) else X.chunks[0])


def _encoded(X: Any, encoder: Any) -> np.ndarray:
    if not len(X):
        return np.empty((0, len(encoder.source_)))
    return encoder.transform(X[[field.name for field in encoder.fields_]] if isinstance(X, pd.DataFrame) else X)


def class_weighted(rows: Rows, weights: Mapping[Any, float]) -> Any:
    """Return the weights of the rows of Dask collections, multiplied by the weights of their classes."""
    owner = "class_weight"
    columns = [column_parts(each, rows.X, name, owner) for each, name in ((rows.y, "y"), (rows.weight, "weight"))]
    parts = [delayed(_class_weights)(weights, *each) for each in zip(*columns, strict=True)]
    return as_array(parts, np.empty(0), rows.X.chunks[0])


def _class_weights(weights: Mapping[Any, float], y: Any, weight: Any) -> np.ndarray:
    of_class = np.array([weights[each] for each in np.asarray(y).tolist()], dtype=float)
    return of_class if weight is None else of_class * np.asarray(weight)


def mean_spend(spend: Any, weight: Any) -> float:
    """Return the mean of a Dask Array of spends, weighted if there are weights."""
    columns = zip(spend.to_delayed().tolist(), column_parts(weight, spend, "sample_weight", "mean spend"), strict=True)
    total, count = np.sum(compute(*(delayed(_spent)(*each) for each in columns)), axis=0)
    return float(total / count)


def _spent(spend: np.ndarray, weight: Any) -> tuple[float, float]:
    """Return the weighted sum of spends, and the sum of the weights."""
    weight = np.ones(len(spend)) if weight is None else np.asarray(weight, dtype=float)
    return float(spend @ weight), float(weight.sum())
