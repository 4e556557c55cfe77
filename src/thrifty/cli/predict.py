"""``thrifty predict``: predict a table of any length, chunk by chunk, with the spend of each row.

Memory does not grow with the table: a chunk is read, predicted and written before the next one. The output file gets
its name when it is complete, so that after an error or Ctrl-C the old file is unchanged.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from thrifty.cli.keys import KeyFile, read_key

ROWS_HELP = "Rows to predict: .csv, .tsv, either also .gz, .parquet, or - for CSV on standard input."


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    rows: Annotated[Path, typer.Argument(help=ROWS_HELP)],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write: .csv, .tsv, .parquet, .jsonl, or - for standard output."),
    ] = Path("-"),
    cap: Annotated[float | None, typer.Option(help="Hard limit on each row's spend.")] = None,
    qid: Annotated[
        str | None, typer.Option(help="The column with the query of each row; adds the rank of each row.")
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of every class.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column of the table to write too, such as an identifier.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse cells that cannot be read, and levels that are new to the model.")
    ] = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Treat columns that are not in the table as unavailable.")
    ] = False,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines.")] = False,
) -> None:
    """Predict rows: prediction, probability, spend and columns bought, for files of any size."""
    from thrifty.cli.chunk_predictor import ChunkPredictor, whole_queries
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.tables.outputs import open_output
    from thrifty.cli.tables.table_file import open_table
    from thrifty.cli.terminal import note, progress

    if str(output) != "-":
        refuse_output("--output", output, inputs=(rows, model))
    loaded = LoadedModel.open(model, read_key(key_file))
    with open_table(rows) as table:
        table.refuse_unknown(qid=qid, keep=keep)
        predictor = ChunkPredictor(
            loaded,
            table.place,
            cap=cap,
            qid=qid,
            keep=keep or (),
            all_classes=probabilities,
            allow_missing=allow_missing,
            strict=strict,
        )
        chunks = table.chunks(loaded.text_columns, verbatim=predictor.only_kept)
        quiet = str(output) == "-" and sys.stdout.isatty()  # a progress bar would be mixed with the predictions
        with open_output(output, json_lines=json) as out, progress("predicting", table.size, quiet=quiet) as advance:
            before = 0.0
            for chunk in whole_queries(chunks, qid, table.place) if qid else chunks:
                out.write(predictor.predict(chunk, nested=out.nested))
                advance(table.position() - before)
                before = table.position()
    for sentence in predictor.odd.sentences():
        note(sentence)
    if str(output) != "-":
        note(f"{predictor.summary()} Written to {output}.")
