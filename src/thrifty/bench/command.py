"""What ``thrifty bench`` does: compute what is missing, and report all results of the file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from rich.console import Console
from rich.table import Table

from thrifty.bench import check
from thrifty.bench.flagship_verdict import all_standings
from thrifty.bench.machine import n_cores
from thrifty.bench.reports.page import write_page
from thrifty.bench.reports.terminal import print_report
from thrifty.bench.results import Results
from thrifty.bench.runner import compute
from thrifty.bench.suite import Part, parts
from thrifty.bench.summary import committed, figures, summary_of, write_summary
from thrifty.bench.time_limit import LIMIT

RESULTS = Path("thrifty-bench.jsonl")
LOSS = 1  # the exit code if the check finds a loss


@dataclass(frozen=True)
class Options:
    """The options of the command.

    Attributes
    ----------
    full : bool
        Whether to run all sizes, trials and seeds, which takes hours.
    only : sequence of str
        Names of problems and reproductions; empty means all.
    results, html, summary : Path
        The file of results; the report and the summary to write, or None.
    jobs : int
        Runs at a time; by default one per core.
    limit : float
        CPU seconds of one run.
    again : bool
        Whether to compute runs again that are in the file.
    report : bool
        Whether to compute nothing.
    seconds : float
        When to start no more runs.
    """

    full: bool = False
    only: Sequence[str] = ()
    results: Path = RESULTS
    html: Path | None = None
    summary: Path | None = None
    jobs: int = field(default_factory=n_cores)
    limit: float = LIMIT
    again: bool = False
    report: bool = False
    seconds: float = inf

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ValueError(f"--jobs is {self.jobs}; expected a number of at least 1.")
        for name, value in (("--limit", self.limit), ("--seconds", self.seconds)):
            if not value > 0:
                raise ValueError(f"{name} is {value:g}; expected a number of seconds above 0.")
        for option, path in (("--results", self.results), ("--html", self.html), ("--summary", self.summary)):
            if path is not None and not path.absolute().parent.is_dir():
                raise ValueError(f"{option} is {path}; its folder does not exist. Make it, or name another file.")
            if path is not None and path.is_dir():
                raise ValueError(f"{option} is {path}, which is a folder; expected a file. Name a file in it.")
        if self.report and not self.results.exists():
            raise ValueError(
                f"--results is {self.results}, which does not exist; --report needs a file of results. "
                "Run thrifty bench without --report first, or name another file."
            )


def bench(options: Options) -> None:
    """Compute runs, and report their results."""
    chosen = parts(options.only, full=options.full)
    results = Results(options.results)
    if not options.report:
        _writable(results)
        runs = [run for part in chosen for run in part.runs(options.full)]
        runs.sort(key=lambda run: run.key.seed)  # so that an early end leaves as many whole seeds as possible
        limits = {"limit": options.limit, "seconds": options.seconds}
        compute(runs, results, jobs=options.jobs, again=options.again, **limits)
    try:
        _report(chosen, results, options)
    except KeyError as missing:
        raise ValueError(
            f"{options.results} has results of another version of the suite: {missing} is missing. "
            "Name another file with --results, or compute them with --again."
        ) from missing


def _writable(results: Results) -> None:
    """Make the file of results before anything is computed."""
    try:
        results.open()
    except OSError as error:
        raise ValueError(f"--results is {results.path}, which cannot be written: {error.strerror}.") from error


def _report(chosen: Sequence[Part], results: Results, options: Options) -> None:
    console = Console()
    print_report(chosen, results, console)
    _say(console, f"{len(results)} results: {options.results}")
    if options.html is not None:
        write_page(options.html, chosen, results)
        _say(console, f"Report: {options.html}")
    if options.summary is not None:
        if not len(results):
            raise ValueError(f"--summary needs results, but {options.results} has none.")
        checked = check.computed(options.jobs, options.limit)
        write_summary(options.summary, summary_of(chosen, results, checked))
        _say(console, f"Summary: {options.summary}")


def print_check(jobs: int | None = None, limit: float = LIMIT) -> int:
    """Compare a small subset with the committed summary; return the exit code."""
    results = check.computed(jobs or n_cores(), limit)
    new = {problem: figures(standing) for problem, standing in all_standings(results).items()}
    lines = check.compared(committed()["check"], new)
    shown = Table("", "committed", "now", "limit", "")
    for line in lines:
        numbers = (f"{number:.3f}" for number in (line.committed, line.new, line.limit))
        shown.add_row(line.what, *numbers, "" if line.is_met else "LOSS")
    Console().print(shown)
    return 0 if all(line.is_met for line in lines) else LOSS


def print_list(chosen: Sequence[Part], full: bool) -> None:
    """Print the parts of the suite, with their numbers of runs."""
    console = Console()
    for part in chosen:
        _say(console, f"{part.name:24} {len(part.runs(full)):4} runs  {part.title}")


def _say(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)
