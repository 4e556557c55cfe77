"""Timing and the tables the benchmarks print: what was measured beside the bar it is held to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

from rich.console import Console
from rich.table import Table

PAUSE = 0.5  # seconds; the threads of a BLAS go on spinning for a while after their work is done


@dataclass(frozen=True)
class Line:
    """One measured figure and its bar; `at_least` tells on which side of the bar it has to be."""

    what: str
    figure: float
    bar: float
    at_least: bool
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.figure >= self.bar if self.at_least else self.figure <= self.bar


def at_least(what: str, figure: float, bar: float, unit: str = "x") -> Line:
    """Return a line whose figure has to reach the bar."""
    return Line(what, figure, bar, True, unit)


def at_most(what: str, figure: float, bar: float, unit: str = "x") -> Line:
    """Return a line whose figure has to stay below the bar."""
    return Line(what, figure, bar, False, unit)


def report(title: str, lines: list[Line]) -> None:
    """Print the table of what was measured and the bars."""
    table = Table("", "measured", "bar", "", title=title, title_justify="left")
    for line in lines:
        sign = ">=" if line.at_least else "<="
        table.add_row(
            line.what,
            f"{_shown(line.figure)} {line.unit}",
            f"{sign} {line.bar:g} {line.unit}",
            "met" if line.met else "MISSED",
        )
    Console(width=120).print(table)


def _shown(figure: float) -> str:
    return f"{figure:.2f}" if abs(figure) >= 1 else f"{figure:.3g}"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print figures that are looked at side by side rather than held to a bar."""
    shown = Table(*header, title=title, title_justify="left")
    for row in rows:
        shown.add_row(*row)
    Console(width=120).print(shown)


def ratio(work: Callable[[], Any], yardstick: Callable[[], Any], repeats: int = 3) -> float:
    """Best time of one over best time of the other, measured side by side."""
    theirs = seconds(yardstick, repeats)
    sleep(PAUSE)
    return seconds(work, repeats) / theirs


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Best time of several runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)
