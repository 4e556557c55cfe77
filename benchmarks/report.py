"""Timing of functions, and tables of measured figures and their limits."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from time import perf_counter, sleep
from typing import Any

from rich.console import Console
from rich.table import Table

PAUSE = 0.5  # seconds; BLAS threads stay busy for a while after their work is done


@dataclass(frozen=True)
class Line:
    """One measured figure and its limit: a lower limit if `at_least` is True, else an upper limit."""

    what: str
    figure: float
    limit: float
    at_least: bool
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit


def at_least(what: str, figure: float, limit: float, unit: str = "x") -> Line:
    """Return a line whose figure must be at least the limit."""
    return Line(what, figure, limit, True, unit)


def at_most(what: str, figure: float, limit: float, unit: str = "x") -> Line:
    """Return a line whose figure must be at most the limit."""
    return Line(what, figure, limit, False, unit)


def report(title: str, lines: list[Line]) -> None:
    """Print a table of the measured figures and their limits."""
    table = Table("", "measured", "limit", "", title=title, title_justify="left")
    for line in lines:
        sign = ">=" if line.at_least else "<="
        table.add_row(
            line.what,
            f"{_format(line.figure)} {line.unit}",
            f"{sign} {line.limit:g} {line.unit}",
            "met" if line.met else "MISSED",
        )
    Console(width=120).print(table)


def print_line(line: Line) -> None:
    """Print one figure at once, and its limit unless that is NaN."""
    sign = ">=" if line.at_least else "<="
    limit = "" if isnan(line.limit) else f"  {sign} {line.limit:g} {line.unit}: {'met' if line.met else 'MISSED'}"
    print(f"{line.what}: {_format(line.figure)} {line.unit}{limit}", flush=True)


def _format(figure: float) -> str:
    return f"{figure:.2f}" if abs(figure) >= 1 else f"{figure:.3g}"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of figures that have no limits."""
    shown = Table(*header, title=title, title_justify="left")
    for row in rows:
        shown.add_row(*row)
    Console(width=120).print(shown)


def ratio(work: Callable[[], Any], reference: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest time of `work` divided by the shortest time of `reference`."""
    of_reference = seconds(reference, repeats)
    sleep(PAUSE)
    return seconds(work, repeats) / of_reference


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest time of several runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)
