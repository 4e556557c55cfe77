"""The table to fit on: its features, its target, its queries."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thrifty.cli.tables.opening import open_table
from thrifty.cli.terminal import note

DECIMAL_COMMA = r"[-+]?\d+,\d+"


@dataclass(frozen=True)
class TrainingTable:
    """What a search is given; `X` is a pandas DataFrame, `qid` None where there are no queries."""

    X: Any
    y: Any
    qid: Any


def read_training_table(
    path: Path, *, target: str, qid: str | None = None, drop: Sequence[str] = (), task: str | None = None
) -> TrainingTable:
    """Read a table, leave out rows without a target, and tell features, target and queries apart."""
    queries = [qid] if qid else []
    with open_table(path) as table:
        for option, names in (("--target", [target]), ("--qid", queries), ("--drop", drop)):
            refuse_unknown(names, table.names, option, table.place)
        frame = _with_target(table.read(), target, table.place)
    for name in queries:
        refuse_gaps(frame[name], "--qid", str(path))
    features = frame.drop(columns=list({target, *queries, *drop}))
    if features.shape[1] == 0:
        raise ValueError(f"{path}: no column is left beside the target. Pass a table with features.")
    refuse_decimal_commas(frame.drop(columns=list(drop)), str(path))
    return TrainingTable(features, _answers(frame[target], task), frame[qid].to_numpy() if qid else None)


def refuse_unknown(names: Sequence[str], known: Sequence[str], option: str, place: str) -> None:
    """Refuse a column that is not there."""
    for name in names:
        if name not in known:
            raise ValueError(f"{option} is {name!r}, which is no column of {place}. It has {listed(known)}.")


def refuse_gaps(column: Any, option: str, place: str) -> None:
    """Refuse a column that is missing in some rows."""
    if gaps := int(column.isna().sum()):
        raise ValueError(
            f"{option} is {column.name!r}, which is missing in {gaps} rows of {place}. Fill them, or leave them out."
        )


def refuse_decimal_commas(frame: Any, place: str) -> None:
    """Refuse numbers such as 1,5, which would be taken for text."""
    for name in frame.select_dtypes(exclude=["number", "bool", "datetime"]):
        texts = frame[name].dropna().astype(str)
        if len(texts) and re.fullmatch(DECIMAL_COMMA, texts.iloc[0]) and texts.str.fullmatch(DECIMAL_COMMA).all():
            raise ValueError(
                f"{place}: column {name!r} has decimal commas, as in {texts.iloc[0]!r}. Write decimal points."
            )


def listed(names: Sequence[str], most: int = 12) -> str:
    """List names in quotes, the first few of many.

    >>> listed(["age", "sex", "cp"], most=2)
    "'age', 'sex' and 1 more"
    """
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest


def _with_target(frame: Any, target: str, place: str) -> Any:
    known = frame[frame[target].notna()]
    if not len(known):
        raise ValueError(f"{place}: no row has a value in {target!r}. Pass rows to learn from.")
    if left_out := len(frame) - len(known):
        note(f"{left_out} of {len(frame)} rows have no {target!r} and are left out.")
    return known


def _answers(column: Any, task: str | None) -> Any:
    """Return the target as an array of one type that suits the task; a whole number may be a float for gaps alone."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    values = column.to_numpy()
    if is_bool_dtype(column) or isinstance(values[0], bool):
        return values.astype(bool)
    if task in ("regression", "ranking"):
        if not is_numeric_dtype(column):
            raise ValueError(f"--target is {column.name!r}, which is text such as {values[0]!r}; {task} needs numbers.")
        return values.astype(float)
    if not is_numeric_dtype(column):
        return values.astype(str)
    whole = (values == values.round()).all()
    return values.astype(int) if whole else values.astype(str if task == "classification" else float)
