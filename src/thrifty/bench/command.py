"""What ``thrifty bench`` does: compute what is missing, and report all results of the file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from thrifty.bench.reports.page import write_page
from thrifty.bench.reports.verdicts import print_verdicts
from thrifty.bench.results import Results
from thrifty.bench.runner import compute
from thrifty.bench.suite import Part, parts
from thrifty.bench.time_limit import LIMIT

RESULTS = Path("thrifty-bench.jsonl")


@dataclass(frozen=True)
class Options:
    """The options of the command.

    Attributes
    ----------
    full : bool
        Whether to run all sizes, trials and seeds, which takes hours.
    only : sequence of str
        Names of problems and reproductions; empty means all.
    results, html : Path
        The file of results, and the report to write; None writes no report.
    jobs : int
        Runs at a time.
    limit : float
        CPU seconds of one run.
    again : bool
        Whether to compute runs again that are in the file.
    report : bool
        Whether to compute nothing.
    """

    full: bool = False
    only: Sequence[str] = ()
    results: Path = RESULTS
    html: Path | None = None
    jobs: int = 1
    limit: float = LIMIT
    again: bool = False
    report: bool = False


def bench(options: Options) -> None:
    """Compute runs, and report their results."""
    chosen = parts(options.only)
    results = Results(options.results)
    if not options.report:
        runs = [run for part in chosen for run in part.runs(options.full)]
        compute(runs, results, limit=options.limit, jobs=options.jobs, again=options.again)
    console = Console()
    print_verdicts(chosen, results, console)
    console.print(f"{len(results)} results: {options.results}", soft_wrap=True, highlight=False)
    if options.html is not None:
        write_page(options.html, chosen, results)
        console.print(f"Report: {options.html}", soft_wrap=True, highlight=False)


def print_list(chosen: Sequence[Part], full: bool) -> None:
    """Print the parts of the suite, with their numbers of runs."""
    for part in chosen:
        Console().print(f"{part.name:24} {len(part.runs(full)):4} runs  {part.title}", highlight=False, soft_wrap=True)
