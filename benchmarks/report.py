"""Timing and the tables the benchmarks print: what was measured beside the bar it is held to."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table


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


def report(title: str, lines: list[Line]) -> bool:
    """Print the table; tell whether every bar is met."""
    table = Table("", "measured", "bar", "", title=title, title_justify="left")
    for line in lines:
        sign = ">=" if line.at_least else "<="
        table.add_row(
            line.what,
            f"{line.figure:.2f} {line.unit}",
            f"{sign} {line.bar:g} {line.unit}",
            "met" if line.met else "MISSED",
        )
    Console(width=120).print(table)
    return all(line.met for line in lines)


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Best time of several runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)
