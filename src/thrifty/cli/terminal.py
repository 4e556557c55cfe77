"""What commands print: tables and text on standard output, progress and notes on standard error, JSON for scripts."""

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

MAX_WIDTH = 92


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text unchanged (no markup, no emoji), in lines of limited width."""
    out = Console(highlight=False, markup=False, emoji=False, stderr=stderr)
    out.width = min(out.width, MAX_WIDTH)
    return out


def plain_table(**columns: str) -> Table:
    """Return a table with a line under its header; pass the names of the columns and how each is justified."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="")
    for name, justify in columns.items():
        table.add_column(name.replace("_", " ").strip(), justify=justify)  # type: ignore[arg-type]
    return table


def note(message: str) -> None:
    """Print a message on standard error, in one line."""
    print("thrifty:", " ".join(message.split()), file=sys.stderr)


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

    print(json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False))
