"""A progress bar for long fits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


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
