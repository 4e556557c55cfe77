"""``thrifty replay``: what another model would have spent and predicted on recorded traffic."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli.keys import KeyFile, read_key

FORMATS = (".csv", ".tsv", ".jsonl")
ROWS_AT_A_TIME = 10_000
BETWEEN_NAMES = ";"
NOT_KNOWN = "unknown"


def replay(
    traces: Annotated[Path, typer.Argument(help="Recorded traces: the JSON lines that a TraceFile wrote.")],
    model: Annotated[Path, typer.Option(help="The model file to replay them with.")],
    cap: Annotated[float | None, typer.Option(help="Hard limit on each row's spend.")] = None,
    budget: Annotated[
        float | None, typer.Option(help="Bound on the mean spend per row, for models with several operating points.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write each replayed row: .csv, .tsv or .jsonl.")
    ] = None,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Replay recorded traces with another model: what it would have spent and predicted, as far as they tell."""
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.tables.outputs import open_output
    from thrifty.cli.terminal import print_json, progress
    from thrifty.runtime.replay import Comparison
    from thrifty.runtime.replay import replay as replay_rows

    if output is not None:
        refuse_output("--output", output, formats=FORMATS, inputs=(traces, model))
    loaded = at_budget(LoadedModel.open(model, read_key(key_file)), budget)
    loaded.model.session(cap)  # raises ValueError if the cap is not valid, before any output is opened
    comparison = Comparison(loaded.model, cap)
    results = read_results(traces)
    with (
        nullcontext() if output is None else open_output(output) as out,
        progress("replaying", count_lines(traces)) as advance,
    ):
        for rows in in_parts(replay_rows(loaded.model, results, cap)):
            for row in rows:
                comparison.add(row)
            if out is not None:
                out.write(as_table(rows, nested=out.nested))
            advance(len(rows))
        if not comparison.n_rows:
            raise ValueError(f"{traces}: the file has no traces. Pass a file that a TraceFile has written to.")
    if json:
        print_json(comparison.as_dict() | {"unit": loaded.model.cost_model_.unit})
    else:
        print_comparison(comparison.as_dict(), loaded, output)


def at_budget(loaded: Any, budget: float | None) -> Any:
    """Return a model at the operating point that keeps a budget."""
    from thrifty.cli.loaded_model import LoadedModel

    if budget is None:
        return loaded
    if not hasattr(loaded.model, "at_budget"):
        raise ValueError(
            f"--budget is {budget:g}, but the model has one operating point only. Leave out --budget, or fit with "
            "--method thrifty, which has many."
        )
    return LoadedModel(loaded.model.at_budget(budget), loaded.manifest)


def read_results(traces: Path) -> Iterator[Any]:
    """Yield the results in a file of traces."""
    from thrifty.runtime.trace import read_traces

    try:
        yield from read_traces(traces)
    except UnicodeDecodeError:
        raise ValueError(f"{traces}: the file is not UTF-8 text. Pass a file that a TraceFile has written.") from None


def count_lines(traces: Path) -> int:
    """Return the number of lines of a file."""
    with traces.open("rb") as lines:
        return sum(1 for _ in lines)


def in_parts(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield rows in lists of limited length."""
    rest = iter(rows)
    while part := list(islice(rest, ROWS_AT_A_TIME)):
        yield part


def as_table(rows: Iterable[Any], *, nested: bool) -> Any:
    """Return replayed rows as a DataFrame; lists of names are text unless `nested`."""
    import pandas as pd

    records = [row.as_dict() for row in rows]
    if not nested:
        records = [each | {name: BETWEEN_NAMES.join(each[name]) for name in ("bought", "unknown")} for each in records]
    return pd.DataFrame(records, dtype=object)


def print_comparison(found: dict[str, Any], loaded: Any, output: Path | None) -> None:
    """Print what changes, and which features are bought more or less often."""
    from thrifty.cli.terminal import console, plain_table, print_uncut

    table = plain_table(source="left", feature="left", recorded="right", replayed="right", not_known="right")
    for line in found["purchases"]:
        counts = (f"{line[name]:,}" for name in ("recorded", "replayed", "unknown"))
        table.add_row(line["source"] or NOT_KNOWN, line["feature"], *counts)
    if found["purchases"]:
        print_uncut(table)
    for sentence in sentences(found, loaded):
        console().print(sentence, soft_wrap=True)
    if output is not None:
        console().print(f"Written to {output}.", soft_wrap=True)


def sentences(found: dict[str, Any], loaded: Any) -> Iterator[str]:
    """Yield sentences about the rows, their spend and their predictions."""
    from thrifty.cli.words import plural

    known, everything, n_known = found["known"], found["all_rows"], found["known_rows"]
    yield f"{plural(found['rows'], 'row')}, of which the traces know {n_known:,} in full."
    if n_known:
        before, after = map(loaded.amount, (known["recorded_spend"], known["spend"]))
        yield f"On these rows: {before} on average as recorded, {after} as replayed."
        yield f"The prediction changes on {found['changed']:.1%} of them."
    if n_known < found["rows"]:
        before, least, most = map(loaded.amount, everything.values())
        yield f"On all rows: {before} on average as recorded, between {least} and {most} as replayed."
