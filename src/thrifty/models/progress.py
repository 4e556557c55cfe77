"""A progress bar for long fits; where standard error is no terminal, a line every few seconds."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

    On a terminal it is a bar. Elsewhere it is a line every few seconds, and none if the work ends before.

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
        yield _Lines(title, every)


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


class _Lines:
    """Prints a line if the last one was printed long ago; the first after two intervals."""

    def __init__(self, title: str, every: float):
        self.title, self.every, self.due = title, every, monotonic() + 2 * every

    def __call__(self, state: str, seconds_left: float) -> None:
        if monotonic() >= self.due:
            self.due = monotonic() + self.every
            print(f"{self.title}: {_state(state, seconds_left)}", file=sys.stderr, flush=True)


def _state(state: str, seconds_left: float) -> str:
    return f"{state}; about {seconds_left:.0f} s left" if seconds_left >= 1 else state
