"""``thrifty explain``: what a model buys for which rows, or the trace of one row."""

import os
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
    target: Annotated[
        str | None,
        typer.Option(help="The column of --rows with the targets; by default the one that the model was fitted to."),
    ] = None,
    qid: Annotated[
        str | None, typer.Option(help="The column of --rows with the query of each row, for ranking.")
    ] = None,
    cap: Annotated[float | None, typer.Option(help="Hard limit on each row's spend.")] = None,
    png: Annotated[
        Path | None,
        typer.Option(help="Also write a bar chart of what each purchase costs and earns to this file: .png."),
    ] = None,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain a model: what it buys for which rows, and what each purchase earns. With --row: the trace of one row."""
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.model_report import Purchases, print_model
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.trace_text import print_trace

    if cap is not None and row is None and rows is None:
        raise ValueError("--cap is given, but there are no rows. Pass --rows or --row too.")
    _refuse_without_table(row, rows, {"--target": target, "--qid": qid, "--png": png})
    if png is not None:
        refuse_output("--png", png, formats=(".png",), inputs=(model, rows))
    loaded = LoadedModel.open(model, read_key(key_file))
    if row is not None:
        one = loaded.for_row(int(row) - 1 if row.strip().isdigit() else None)
        print_trace(one, row_values(row, rows, loaded), cap, as_json=json)
        return
    bought = None if rows is None else Purchases.of_table(loaded, rows, cap, target, qid)
    if png is not None and bought is not None:
        write_picture(bought, loaded, png)
    print_model(loaded, bought, as_json=json)


def _refuse_without_table(row: str | None, rows: Path | None, options: Mapping[str, Any]) -> None:
    """Raise ValueError if an option is given that only a table of rows uses."""
    for option, given in options.items():
        if given is not None and (rows is None or row is not None):
            raise ValueError(f"{option} is for a table of rows. Pass --rows without --row.")


def write_picture(bought: Any, loaded: Any, path: Path) -> None:
    """Write the bar chart of what each purchase costs and earns."""
    os.environ["MPLBACKEND"] = "agg"  # draw without a window system
    from thrifty.cli.page import png_bytes
    from thrifty.metrics.curves import score_name
    from thrifty.plots import PurchasesDisplay
    from thrifty.replacing import replacing

    display = PurchasesDisplay(
        bought.earned, unit=loaded.model.cost_model_.unit, score_name=score_name(bought.scoring or "score")
    )
    with replacing(path) as unfinished:
        unfinished.write_bytes(png_bytes(display.plot()))


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
