"""``thrifty bench``: race the methods of this package and of others, and reproduce figures of papers."""

import os
from pathlib import Path
from typing import Annotated

import typer


def bench(
    full: Annotated[bool, typer.Option("--full", help="All sizes, trials and seeds: hours.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="A problem or reproduction; repeat it for several.")] = None,
    results: Annotated[
        Path, typer.Option(help="The file of results, JSON lines. A later call computes only what is missing.")
    ] = Path("thrifty-bench.jsonl"),
    html: Annotated[Path | None, typer.Option(help="Write a report: one HTML file.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 1,
    limit: Annotated[float, typer.Option(help="CPU seconds of one run.")] = 300.0,
    again: Annotated[bool, typer.Option("--again", help="Also compute runs that are in the file.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Compute nothing; report the results of the file.")] = False,
    list_parts: Annotated[bool, typer.Option("--list", help="List names and numbers of runs.")] = False,
) -> None:
    """Race the methods of this package and of others on equal terms, and reproduce figures of papers."""
    os.environ["MPLBACKEND"] = "agg"  # draw without a window system
    from thrifty.bench import command, suite

    if list_parts:
        command.print_list(suite.parts(only or []), full)
        return
    command.bench(command.Options(full, only or [], results, html, jobs, limit, again, report))
