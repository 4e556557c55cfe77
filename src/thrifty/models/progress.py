"""A progress bar for long fits, shown to those who ask for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress(title: str | None, total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that moves the bar on by one and says where things stand; without a title nothing is shown.

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
