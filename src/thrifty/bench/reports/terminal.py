"""What is printed after a run: tables of the race, mean ranks and verdicts."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from thrifty.bench.flagship_verdict import all_standings, ranking_of
from thrifty.bench.reports.race_tables import rank_rows
from thrifty.bench.reports.verdicts import print_verdicts
from thrifty.bench.results import Results
from thrifty.bench.suite import Part


def print_report(parts: Sequence[Part], results: Results, console: Console) -> None:
    """Print all results of some parts."""
    for part in parts:
        for shown in part.tables(results):
            _print(f"{part.title}. {shown.caption}", shown.header, shown.rows, console)
    ranking = ranking_of(all_standings(results))
    if ranking is not None and any(part.is_problem for part in parts):
        _print("Mean ranks", ("contender", "mean", *ranking.problems), rank_rows(ranking), console)
    print_verdicts(parts, results, console)
    for why, keys in results.reasons().items():
        names = ", ".join(sorted({f"{key.name} {key.setting}" for key in keys}))
        console.print(f"{why} ({len(keys)} runs: {names})", markup=False, highlight=False, soft_wrap=True)
    versions = sorted({each.versions["thrifty"] for each in results if "thrifty" in each.versions})
    if len(versions) > 1:
        console.print(
            f"The results are of {len(versions)} versions of the package: {', '.join(versions)}. "
            "With --again all of them are computed by this one.",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip


def _print(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    table = Table(*header, title=title, title_justify="left")
    table.columns[0].no_wrap = True  # names stay whole on narrow terminals
    for row in rows:
        table.add_row(*row)
    console.print(table)
