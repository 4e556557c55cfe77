"""``thrifty explain``: what a model buys for which rows, or the trace of one row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli.keys import KeyFile, read_key

ROW_HELP = "Trace one row: its number in --rows, counted from 1, or its values as JSON."


def explain(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    row: Annotated[str | None, typer.Option(help=ROW_HELP)] = None,
    rows: Annotated[
        Path | None, typer.Option(help="A table: show what its rows buy, or trace the row that --row names.")
    ] = None,
    cap: Annotated[float | None, typer.Option(help="Hard limit on each row's spend.")] = None,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain a model: what it buys for which rows. With --row: the trace of one row, step by step."""
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.model_report import print_model
    from thrifty.cli.trace_text import print_trace

    if cap is not None and row is None and rows is None:
        raise ValueError("--cap is given, but there are no rows. Pass --rows or --row too.")
    loaded = LoadedModel.open(model, read_key(key_file))
    if row is None:
        print_model(loaded, rows, cap, as_json=json)
    else:
        print_trace(loaded, row_values(row, rows, loaded), cap, as_json=json)


def row_values(row: str, rows: Path | None, loaded: Any) -> Mapping[str, Any]:
    """Return the values of a row by name, from JSON or from a table, without those that are missing."""
    if row.strip().isdigit():
        if rows is None:
            raise ValueError(f"--row is {row}, but there is no --rows to take it from. Pass a table.")
        values = _row_of_table(rows, int(row), loaded.text_columns)
    elif rows is not None:
        raise ValueError(f"--row is {row!r}; expected a number, because --rows is given.")
    else:
        values = _row_of_json(row, loaded.names)
    return {name: value for name, value in values.items() if value is not None and value == value}  # NaN != NaN


def _row_of_table(rows: Path, number: int, text_columns: list[str]) -> dict[str, Any]:
    from thrifty.cli.tables.table_file import open_table

    n_before = 0
    with open_table(rows) as table:
        for chunk in table.chunks(text_columns):
            if 1 <= number - n_before <= len(chunk):
                return chunk.iloc[[number - n_before - 1]].to_dict("records")[0]
            n_before += len(chunk)
    raise ValueError(f"--row is {number}, but {rows} has rows 1 to {n_before}.")


def _row_of_json(row: str, names: list[str]) -> dict[str, Any]:
    import json

    from thrifty.cli.tables.table_file import quoted

    try:
        values = json.loads(row)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"--row is neither a number nor JSON ({error}). Pass for example --row '{{\"{names[0]}\": 1}}'."
        ) from None
    if not isinstance(values, dict):
        raise ValueError(f"--row is {row!r}; expected an object of names and values.")
    for name in values:
        if name not in names:
            raise ValueError(f"--row has {name!r}, which is not a column of the model. It has {quoted(names)}.")
    return values
