"""``thrifty bench``: race the methods of this package and of others, and reproduce figures of papers."""

import os
from math import inf
from pathlib import Path
from typing import Annotated

import typer

ONLY_HELP = "A name of --list, 'race', 'reproductions' or 'scaling'; repeat it, or separate names by commas."


def bench(
    full: Annotated[bool, typer.Option("--full", help="All sizes, trials and seeds: hours.")] = False,
    only: Annotated[list[str] | None, typer.Option(help=ONLY_HELP)] = None,
    results: Annotated[
        Path, typer.Option(help="The file of results, JSON lines. A later call computes only what is missing.")
    ] = Path("thrifty-bench.jsonl"),
    html: Annotated[Path | None, typer.Option(help="Write a report: one HTML file.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Write the figures that are committed: JSON.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time; by default one per core.")] = None,
    limit: Annotated[float, typer.Option(help="CPU seconds of one run.")] = 300.0,
    again: Annotated[bool, typer.Option("--again", help="Also compute runs that are in the file.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Compute nothing; report the results of the file.")] = False,
    seconds: Annotated[
        float, typer.Option(help="When to start no more runs; a later call computes the rest.", show_default="never")
    ] = inf,
    list_parts: Annotated[bool, typer.Option("--list", help="List names and numbers of runs.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare a small subset with the committed summary.")] = False,
) -> None:
    """Race the methods of this package and of others on equal terms, and reproduce figures of papers."""
    os.environ["MPLBACKEND"] = "agg"  # draw without a window system
    from thrifty.bench import command, machine, suite

    if list_parts:
        command.print_list(suite.parts(only or []), full)
    elif check:
        raise typer.Exit(command.print_check(jobs, limit))
    else:
        many = jobs or machine.n_cores()
        options = command.Options(full, only or [], results, html, summary, many, limit, again, report, seconds)
        command.bench(options)
