"""What commands print with: tables and prose on stdout, progress and notes on stderr, JSON for scripts."""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

WIDEST = 92


def console(*, stderr: bool = False) -> Console:
    """Standard output, no wider than prose reads well; text is printed as it is, whatever it holds."""
    out = Console(highlight=False, markup=False, emoji=False, stderr=stderr)
    out.width = min(out.width, WIDEST)
    return out


def plain_table(**columns: str) -> Table:
    """Return a table with a rule under its head, from names of columns and how each is justified."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="")
    for name, justify in columns.items():
        table.add_column(name.replace("_", " ").strip(), justify=justify)  # type: ignore[arg-type]
    return table


def note(message: str) -> None:
    """Say on stderr, in one line, what a user should know but need not act on."""
    print("thrifty:", " ".join(message.split()), file=sys.stderr)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes, each once."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := str(message)) not in said:
            said.add(text)
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def progress(description: str, total: float | None, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Show a bar with the time left, on a terminal; yield what moves it on, by one or by what it is told."""
    err = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    hidden = quiet or not err.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=err, transient=True, disable=hidden) as bar:
        task = bar.add_task(description, total=total)
        yield lambda by=1.0: bar.advance(task, by)


def print_json(value: Any) -> None:
    """Print a value as JSON: what is no finite number as null."""
    from thrifty.persistence.manifest import plain

    print(json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False))
