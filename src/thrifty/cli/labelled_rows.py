"""Rows of a table with their targets, chunk by chunk, as commands that measure a model read them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thrifty.cli.chunk_predictor import whole_queries
from thrifty.cli.column_notes import OddCellCounts
from thrifty.cli.loaded_model import LoadedModel
from thrifty.cli.tables.table_file import TableFile, open_table, quoted
from thrifty.cli.terminal import note, progress
from thrifty.cli.words import plural
from thrifty.models.tables.fields import text_of


class Labelled(NamedTuple):
    """Rows of a chunk.

    Attributes
    ----------
    X : DataFrame
        The columns of the model.
    y : ndarray or None
        The targets; None if there is no target.
    qid : ndarray or None
        The queries, if there are any.
    first : int
        How many rows of the table come before these rows.
    """

    X: Any
    y: np.ndarray | None
    qid: np.ndarray | None
    first: int


def read_labelled(
    path: Path, loaded: LoadedModel, target: str | None, qid: str | None, *, description: str, need_target: bool = True
) -> Iterator[Labelled]:
    """Yield the rows of a table that have a target; note rows without one, and odd cells.

    Parameters
    ----------
    path : Path
    loaded : LoadedModel
    target : str or None
        The column with the targets; None means the one that the manifest names.
    qid : str or None
        The column with the queries.
    description : str
        What the progress bar says.
    need_target : bool, default=True
        Whether to refuse a table without targets.
    """
    with open_table(path) as table, progress(description, table.size) as advance:
        table.refuse_unknown(target=target, qid=qid)
        target = target or target_of(table, loaded, qid, need_target)
        text = [*loaded.text_columns, *([target] if target and loaded.classes is not None else [])]
        odd, n_read, n_kept, before = OddCellCounts(), 0, 0, 0.0
        chunks = table.chunks(text)
        for chunk in whole_queries(chunks, qid, table.place) if qid else chunks:
            kept = chunk if target is None else chunk[chunk[target].notna()]
            if len(kept):
                frame, cells = loaded.without_unreadable(loaded.select_columns(kept, table.place))
                odd.add(cells, n_read)
                y = None if target is None else typed_targets(kept[target], loaded.classes, table.place)
                yield Labelled(frame, y, kept[qid].to_numpy() if qid else None, n_read)
            n_read, n_kept = n_read + len(chunk), n_kept + len(kept)
            advance(table.position() - before)
            before = table.position()
        _refuse_nothing(table.place, n_read, n_kept, target)
    if n_kept < n_read:
        note(f"{n_read - n_kept:,} of {plural(n_read, 'row')} have no {target!r} and are left out.")
    for sentence in odd.sentences():
        note(sentence)


def _refuse_nothing(place: str, n_read: int, n_kept: int, target: str | None) -> None:
    if not n_read:
        raise ValueError(f"{place}: there are no rows. Pass a table with rows.")
    if not n_kept:
        raise ValueError(f"{place}: no row has a value in {target!r}. Pass rows with known targets.")


def target_of(table: TableFile, loaded: LoadedModel, qid: str | None, need_target: bool) -> str | None:
    """Return the column with the targets: the one that the manifest names, or the only one that is not of the model.

    A command that does not need targets takes the column that the manifest names, or none.
    """
    known = loaded.manifest.target if loaded.manifest else None
    if known in table.names:
        return known
    if not need_target:
        return None
    others = [name for name in table.names if name not in loaded.fields and name != qid]
    if known is None and len(others) == 1:
        return others[0]
    missing = f"{known!r}, which the model predicts" if known else "a single column beside those of the model"
    found = f"it has {quoted(others)}" if others else "it has none"
    raise ValueError(f"{table.place}: the table lacks {missing}; beside the model's columns {found}. Pass --target.")


def typed_targets(column: Any, classes: list[Any] | None, place: str) -> np.ndarray:
    """Return targets as the model has them: as its classes, or as numbers.

    >>> import pandas as pd
    >>> typed_targets(pd.Series(["1", "0.0"]), [0, 1], "rows.csv")
    array([1, 0])
    >>> typed_targets(pd.Series(["true"]), [False, True], "rows.csv")
    array([ True])
    """
    if classes is None:
        return _numbers(column, place)
    labels = {text_of(label): label for label in classes}
    positions = {label: k for k, label in enumerate(classes)}
    distinct = {value: labels.get(_written(value, labels)) for value in column.unique().tolist()}
    for unknown in [value for value, label in distinct.items() if label is None]:
        count = int((column == unknown).sum())
        raise ValueError(
            f"{place}: {column.name!r} is {unknown!r} in {plural(count, 'row')}, which is not a class of the model. It "
            f"has {quoted(classes)}. Correct these rows, or pass another --target."
        )
    return np.array(classes)[[positions[distinct[value]] for value in column]]


def _written(value: Any, labels: dict[str, Any]) -> str:
    """Return a value as the class that it means is written: numbers and booleans may be written in several ways."""
    text = text_of(value).strip()
    try:
        number = text_of(float(text))
    except ValueError:
        number = text
    return next((each for each in (text, number, text.capitalize()) if each in labels), text)


def _numbers(column: Any, place: str) -> np.ndarray:
    try:
        values = column.to_numpy(dtype=float)
    except (TypeError, ValueError):
        first = next(each for each in column if not isinstance(each, int | float))
        raise ValueError(
            f"{place}: {column.name!r} has {first!r}, but the model predicts numbers. Correct these rows, or pass "
            "another --target."
        ) from None
    for unusable in values[~np.isfinite(values)][:1].tolist():
        raise ValueError(f"{place}: {column.name!r} has {unusable}; expected finite numbers. Correct these rows.")
    return values
