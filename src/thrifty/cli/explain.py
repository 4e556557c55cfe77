"""``thrifty explain``: what a model buys for whom, or one row's way through it step by step."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

ROW_HELP = "Trace one row: its number in --rows, counted from 1, or its values as JSON."


def explain(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    row: Annotated[str | None, typer.Option(help=ROW_HELP)] = None,
    rows: Annotated[Path | None, typer.Option(help="Rows to tell shares of, or to take --row from.")] = None,
    cap: Annotated[float | None, typer.Option(help="Hard limit on each row's spend, below the model's own.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain a model: what it buys for whom; with --row, one row's way step by step."""
    from thrifty.cli.explanations import explain_model, explain_row
    from thrifty.cli.served import Served

    served = Served.open(model)
    if row is None:
        explain_model(served, rows, cap, as_json=json)
    else:
        explain_row(served, row_values(row, rows, served), cap, as_json=json)


def row_values(row: str, rows: Path | None, served: Any) -> Mapping[str, Any]:
    """Return the values of a row by name, from JSON or from a table; what is missing is left out."""
    if row.strip().isdigit():
        if rows is None:
            raise ValueError(f"--row is {row}, but there is no --rows to take it from. Pass a table.")
        values = _row_of_table(rows, int(row), served.text_columns)
    elif rows is not None:
        raise ValueError(f"--row is {row!r}; expected a number, since --rows is given.")
    else:
        values = _row_of_json(row, served.names)
    return {name: value for name, value in values.items() if value is not None and value == value}  # NaN is not itself


def _row_of_table(rows: Path, number: int, text_columns: list[str]) -> dict[str, Any]:
    from thrifty.cli.tables.opening import open_table

    n_before = 0
    with open_table(rows) as table:
        for chunk in table.chunks(text_columns):
            if 1 <= number - n_before <= len(chunk):
                return chunk.iloc[[number - n_before - 1]].to_dict("records")[0]
            n_before += len(chunk)
    raise ValueError(f"--row is {number}, but {rows} has rows 1 to {n_before}.")


def _row_of_json(row: str, names: list[str]) -> dict[str, Any]:
    import json

    from thrifty.cli.tables.training import refuse_unknown

    try:
        values = json.loads(row)
    except json.JSONDecodeError as error:
        raise ValueError(f"--row is no number and no JSON ({error}). Pass --row '{{\"{names[0]}\": 1}}'.") from None
    if not isinstance(values, dict):
        raise ValueError(f"--row is {row!r}; expected an object of names and values.")
    refuse_unknown(list(values), names, "--row has", "the model")
    return values
