"""A progress bar for long fits; where standard error is no terminal, a line every few seconds."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 8.0


@contextmanager
def progress(title: str | None, total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on stderr while the context is open.

    Parameters
    ----------
    title : str or None
        Text in front of the bar; None shows nothing.
    total : int
        The number of steps.

    Yields
    ------
    callable
        ``advance(state)`` moves the bar by one step and shows the text `state` behind it.

    Examples
    --------
    >>> with progress(None, total=2) as advance:
    ...     advance("loss 0.5")
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=Console(stderr=True), disable=title is None) as bar:
        task = bar.add_task(title or "", total=total, state="")
        yield lambda state: bar.update(task, advance=1, state=state)


@contextmanager
def measured_progress(title: str | None, *, every: float = SECONDS_BETWEEN_LINES) -> Iterator[Callable[..., None]]:
    """Show the progress of work whose remaining time is predicted by the caller.

    On a terminal it is a bar. Elsewhere it is a line every few seconds, also while `show` is not called for long. The
    first line comes after two intervals.

    Parameters
    ----------
    title : str or None
        Text in front; None shows nothing.
    every : float, default=8.0
        Seconds between lines.

    Yields
    ------
    callable
        ``show(state, seconds_left)`` shows a text and how long the work will still take.

    Examples
    --------
    >>> with measured_progress(None) as show:
    ...     show("l1", 2.5)
    """
    if title is None:
        yield lambda state, seconds_left: None
    elif sys.stderr.isatty():
        with _bar(title) as show:
            yield show
    else:
        with _lines(title, every) as show:
            yield show


@contextmanager
def _bar(title: str) -> Iterator[Callable[..., None]]:
    start = monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, state="")

        def show(state: str, seconds_left: float) -> None:
            elapsed = monotonic() - start
            bar.update(task, completed=elapsed, total=elapsed + seconds_left, state=_state(state, seconds_left))

        yield show


@contextmanager
def _lines(title: str, every: float) -> Iterator[Callable[..., None]]:
    """Print what was shown last, in a thread of its own, because one step may take long."""
    shown, over = [("", 0.0)], Event()

    def show(state: str, seconds_left: float) -> None:
        shown[0] = state, monotonic() + seconds_left

    def print_lines() -> None:
        wait = 2 * every
        while not over.wait(wait):
            wait, (state, end) = every, shown[0]
            if state:
                print(f"{title}: {_state(state, end - monotonic())}", file=sys.stderr, flush=True)

    printer = Thread(target=print_lines, name="thrifty progress", daemon=True)
    printer.start()
    try:
        yield show
    finally:
        over.set()
        printer.join()


def _state(state: str, seconds_left: float) -> str:
    return f"{state}; about {seconds_left:.0f} s left" if seconds_left >= 1 else state
