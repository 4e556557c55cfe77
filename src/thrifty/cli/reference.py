"""``thrifty reference``: what rows look like to a model, so that an engine can tell when they change."""

from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli.keys import KeyFile, read_key


def reference(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    rows: Annotated[
        Path, typer.Argument(help="Rows like those in production: .csv, .tsv, .parquet, or - for standard input.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .json.")],
    cap: Annotated[float | None, typer.Option(help="Hard limit on each row's spend.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    key_file: KeyFile = None,
) -> None:
    """Record where rows end and what they buy, so that an engine can tell when live rows differ from them."""
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.terminal import console
    from thrifty.cli.words import plural
    from thrifty.runtime.watch.reference import Reference

    refuse_output("--output", output, formats=(".json",), inputs=(model, rows), force=force)
    loaded = LoadedModel.open(model, read_key(key_file))
    loaded.model.session(cap)  # raises ValueError if the cap is not valid, before the table is read
    X = read_rows(loaded, rows)
    made = Reference.of(loaded.model, X, cap)
    made.save(output)
    spend = loaded.amount(made.mean_spend)
    console().print(f"{plural(made.n_rows, 'row')}, {spend} on average. Written to {output}.", soft_wrap=True)


def read_rows(loaded: Any, rows: Path) -> Any:
    """Return the rows of a table as the model takes them; cells that cannot be read are missing, with a note."""
    from thrifty.cli.column_notes import OddCellCounts
    from thrifty.cli.tables.table_file import open_table
    from thrifty.cli.terminal import note

    with open_table(rows) as table:
        selected = loaded.select_columns(table.read(loaded.text_columns), table.place)
    if not len(selected):
        raise ValueError(f"{rows}: the table has no rows. Pass the rows that the model was trained with, or new ones.")
    readable, odd = loaded.without_unreadable(selected)
    counts = OddCellCounts()
    counts.add(odd, 0)
    for sentence in counts.sentences():
        note(sentence)
    return readable if hasattr(loaded.model, "feature_names_in_") else readable.to_numpy()
