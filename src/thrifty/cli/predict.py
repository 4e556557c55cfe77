"""``thrifty predict``: predict a table of any length, chunk by chunk, with the spend of each row.

Memory does not grow with the table: a chunk is read, predicted and written before the next one. The output file gets
its name when it is complete, so that after an error or Ctrl-C the old file is unchanged. A folder of Parquet files is
predicted file by file, on a Dask cluster if there is one; see `thrifty.cli.predicted_parts`.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli.clusters import Scheduler
from thrifty.cli.keys import KeyFile, read_key

ROWS_HELP = (
    "Rows to predict: .csv, .tsv, either also .gz, .parquet, a folder of Parquet files, or - for CSV on standard input."
)
OUTPUT_HELP = (
    "File to write: .csv, .tsv, .parquet, .jsonl, or - for standard output. If the rows are a folder, also a folder."
)


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    rows: Annotated[Path, typer.Argument(help=ROWS_HELP)],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help=OUTPUT_HELP),
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
    scheduler: Scheduler = None,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines.")] = False,
) -> None:
    """Predict rows: prediction, probability, spend and columns bought, for files of any size."""
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.tables.table_file import open_table

    as_parts = rows.is_dir() and is_folder(output)
    if scheduler is not None and not as_parts:
        raise ValueError(f"--scheduler is {scheduler!r}, which needs folders: of Parquet files, and as --output.")
    if str(output) != "-" and not as_parts:
        refuse_output("--output", output, inputs=(rows, model))
    loaded = LoadedModel.open(model, read_key(key_file))
    options = {
        "cap": cap,
        "qid": qid,
        "keep": keep or [],
        "all_classes": probabilities,
        "allow_missing": allow_missing,
        "strict": strict,
    }
    with open_table(rows) as table:
        table.refuse_unknown(qid=qid, keep=keep)
        if as_parts:
            if json:
                raise ValueError("--json is for files, but --output is a folder of Parquet. Leave out --json.")
            predict_parts(loaded, table, output, options, scheduler)
        else:
            predict_chunks(loaded, table, output, options, json_lines=json)


def is_folder(output: Path) -> bool:
    """Tell whether an output is a folder: one that exists, or a name without a known suffix."""
    from thrifty.cli.tables.outputs import SUFFIXES
    from thrifty.cli.tables.table_file import suffix_of

    return str(output) != "-" and (output.is_dir() or suffix_of(output) not in SUFFIXES)


def predict_chunks(loaded: Any, table: Any, output: Path, options: dict[str, Any], *, json_lines: bool) -> None:
    """Predict a table chunk by chunk, and write one file."""
    from thrifty.cli.chunk_predictor import ChunkPredictor, whole_queries
    from thrifty.cli.tables.outputs import open_output
    from thrifty.cli.terminal import note, progress

    predictor, qid = ChunkPredictor(loaded, table.place, **options), options["qid"]
    chunks = table.chunks(loaded.text_columns, verbatim=predictor.only_kept)
    quiet = str(output) == "-" and sys.stdout.isatty()  # a progress bar would be mixed with the predictions
    with open_output(output, json_lines=json_lines) as out, progress("predicting", table.size, quiet=quiet) as advance:
        before = 0.0
        for chunk in whole_queries(chunks, qid, table.place) if qid else chunks:
            out.write(predictor.predict(chunk, nested=out.nested))
            advance(table.position() - before)
            before = table.position()
    for sentence in predictor.odd.sentences():
        note(sentence)
    if str(output) != "-":
        note(f"{predictor.summary()} Written to {output}.")


def predict_parts(loaded: Any, rows: Any, output: Path, options: dict[str, Any], scheduler: str | None) -> None:
    """Predict a folder of Parquet files, and write a folder with a part for each of them."""
    from thrifty.cli import predicted_parts as parts
    from thrifty.cli.chunk_predictor import spend_summary
    from thrifty.cli.clusters import each_result, scheduler_for
    from thrifty.cli.column_notes import OddCellCounts
    from thrifty.cli.output_files import refuse_unwritable_folder
    from thrifty.cli.terminal import note, progress
    from thrifty.cli.words import plural

    if output.exists() and output.samefile(rows.place):
        raise ValueError(f"--output is '{output}', which the command reads. Pass another folder.")
    refuse_unwritable_folder(output)
    writer = parts.part_writer(loaded, rows, output, options)
    if options["qid"] is not None:
        parts.refuse_divided_queries(rows, options["qid"])
    sources = [parts.Source.of(path.absolute()) for path in rows.files]
    where, odd = scheduler_for(scheduler, int(rows.size), len(rows.names)), OddCellCounts()
    with parts.parts_folder(output), progress("predicting", rows.size) as advance:
        done, n_outdated = parts.parts_on_disk(writer, output, sources)
        if done or n_outdated:
            kept = f"{len(done):,} of {plural(len(sources), 'part')} are in {output} already"
            note(f"{kept}; {n_outdated:,} are of files that have changed, and are replaced.")
        advance(sum(each.n_rows for each in done.values()))
        left = [source for source in sources if source not in done]
        found = list(done.values())
        with each_result(where, writer, loaded, left, lambda source: str(source.path)) as results:
            for part in results:
                found.append(part)
                odd.add_file(part.odd, part.file)
                advance(part.n_rows)
    for sentence in odd.sentences():
        note(sentence)
    n_rows, spend = sum(each.n_rows for each in found), sum(each.total_spend for each in found)
    largest = max(each.largest_spend for each in found)
    summary = spend_summary(loaded, n_rows, spend, largest)
    note(f"{summary} Written to {output}, {plural(len(found), 'part')}.")
