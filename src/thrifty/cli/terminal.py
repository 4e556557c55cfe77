"""What commands print: tables and text on standard output, progress and notes on standard error, JSON for scripts."""

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from thrifty.cli.words import one_line, printable

MAX_WIDTH = 92
ANY_WIDTH = 100_000
ACTED_ON_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # JSON escapes the others


class PlainConsole(Console):
    """A console that prints text as it is: no markup, no emoji, and no control characters from names or values."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts, each as one line, and tables."""
        super().print(*(printable(each) if isinstance(each, str) else each for each in objects), **options)


class PlainTable(Table):
    """A table whose cells have no control characters."""

    def add_column(self, header: Any = "", *more: Any, **options: Any) -> None:
        """Add a column; its header may have several lines."""
        super().add_column("\n".join(map(printable, header.split("\n"))), *more, **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row of texts."""
        super().add_row(*map(_plain_cell, cells), **options)


def _plain_cell(cell: Any) -> Any:
    if not isinstance(cell, Text):
        return printable(cell)
    cell.plain = printable(cell.plain)
    return cell


def console(*, stderr: bool = False) -> Console:
    """Return a console with lines of limited width."""
    out = PlainConsole(highlight=False, markup=False, emoji=False, stderr=stderr)
    out.width = min(out.width, MAX_WIDTH)
    return out


def plain_table(**columns: str) -> Table:
    """Return a table with a line under its header; pass the names of the columns and how each is justified."""
    table = PlainTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="")
    for name, justify in columns.items():
        table.add_column(name.replace("_", " ").strip(), justify=justify)
    return table


def print_uncut(table: Table) -> None:
    """Print a table; in a pipe or a file it may be wider than a terminal."""
    out = console()
    if not out.is_terminal:
        out.width = ANY_WIDTH
    out.print(table)


def note(message: str) -> None:
    """Print a message on standard error, in one line."""
    print("thrifty:", one_line(message), file=sys.stderr)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print each distinct warning once, as a note."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := str(message)) not in printed:
            printed.add(text)
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def progress(description: str, total: float | None, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Show a progress bar if standard error is a terminal; yield a function that advances it."""
    err = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    hidden = quiet or not err.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=err, transient=True, disable=hidden) as bar:
        task = bar.add_task(description, total=total)
        yield lambda by=1.0: bar.advance(task, by)


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that are not finite become null."""
    from thrifty.persistence.manifest import plain

    text = json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    print(ACTED_ON_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
