"""``thrifty predict``: answers for a table of any length, a chunk at a time, with what each row paid for what.

Memory does not grow with the table: a chunk is read, answered and written before the next. The output takes its name
only when it is complete, so that an error or an interrupt leaves what was there before.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

ROWS_HELP = "Rows to predict: .csv, .tsv, either also .gz, .parquet, or - for CSV on standard input."


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    rows: Annotated[Path, typer.Argument(help=ROWS_HELP)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to: .csv, .tsv, .parquet, .jsonl, or - for standard output.")
    ] = Path("-"),
    cap: Annotated[float | None, typer.Option(help="Hard limit on each row's spend, below the model's own.")] = None,
    qid: Annotated[str | None, typer.Option(help="Column that tells queries apart; adds each row's rank.")] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of every class.")] = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Treat columns that are not there as unavailable.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines.")] = False,
) -> None:
    """Predict rows: answer, probability, spend and what was bought, streamed at constant memory."""
    from thrifty.cli.predictions import Predictions
    from thrifty.cli.served import Served
    from thrifty.cli.tables.opening import open_table
    from thrifty.cli.tables.outputs import open_output
    from thrifty.cli.tables.training import refuse_unknown
    from thrifty.cli.terminal import note, progress

    served = Served.open(model)
    refuse_own_input(output, rows)
    with open_table(rows) as table:
        refuse_unknown([qid] if qid else [], table.names, "--qid", table.place)
        answers = Predictions(served, table.place, cap, qid, probabilities, allow_missing)
        quiet = str(output) == "-" and sys.stdout.isatty()  # the answers are shown themselves
        with open_output(output, json_lines=json) as out, progress("predicting", table.size, quiet=quiet) as advance:
            before = 0.0
            for chunk in whole_queries(table.chunks(served.text_columns), qid, table.place):
                out.write(answers.of(chunk, nested=out.nested))
                advance(table.position() - before)
                before = table.position()
    if str(output) != "-":
        note(f"{answers.summary()} Written to {output}.")


def refuse_own_input(output: Path, rows: Path) -> None:
    """Refuse to write where the rows are read from."""
    if output.exists() and rows.exists() and output.samefile(rows):
        raise ValueError(f"--output is '{output}', where the rows are. Pass another name.")


def whole_queries(chunks: Iterable[Any], qid: str | None, place: str) -> Iterator[Any]:
    """Yield chunks that end where a query ends; the rows of a query stand together."""
    if qid is None:
        yield from chunks
        return
    import pandas

    held: Any = None
    seen: set[Any] = set()
    for chunk in chunks:
        rows = chunk if held is None else pandas.concat([held, chunk])
        others = rows[qid].ne(rows[qid].iloc[-1] if len(rows) else None).to_numpy()
        end = len(rows) - int(others[::-1].argmax()) if others.any() else 0  # of the last query that is complete
        held, complete = rows.iloc[end:], rows.iloc[:end]
        if end:
            refuse_scattered(complete[qid], seen, place)
            yield complete
    if held is not None:
        refuse_scattered(held[qid], seen, place)
        yield held


def refuse_scattered(queries: Any, seen: set[Any], place: str) -> None:
    """Refuse queries whose rows do not stand together, and keep in mind which have been seen."""
    from thrifty.cli.tables.training import refuse_gaps

    refuse_gaps(queries, "--qid", place)
    found = set(queries)
    for again in found & seen:
        raise ValueError(f"{place}: query {again!r} comes again after others. Sort the rows by {queries.name!r}.")
    seen |= found
