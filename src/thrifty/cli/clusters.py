"""Where a folder of Parquet files is worked on: in this process, or on the workers of a Dask cluster."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.exceptions import MissingExtraError

LOCAL, NONE = "local", "none"
LARGE_SHARE = 0.25  # of the memory: tables that take more of it, at 8 bytes per value, go to a cluster
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")

Scheduler = Annotated[
    str | None,
    typer.Option(
        help="For a folder of Parquet files: the address of a Dask scheduler; local: a process per core; none: this "
        "process alone. By default local if the table would take more than a quarter of the memory, otherwise none."
    ),
]


def scheduler_for(scheduler: str | None, n_rows: int, n_columns: int) -> str:
    """Return the scheduler that was asked for; by default "local" for tables that are large for the memory."""
    if scheduler is not None:
        return scheduler
    return LOCAL if 8 * n_rows * n_columns > LARGE_SHARE * memory() else NONE


def memory() -> float:
    """Return the bytes of memory that this process may use."""
    installed = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    try:
        return min(installed, float(CGROUP_LIMIT.read_text()))
    except (OSError, ValueError):  # there is no limit
        return installed


@contextmanager
def cluster(scheduler: str) -> Iterator[Any]:
    """Yield a client of a scheduler, or of one that is started here and ends with the block."""
    try:
        from thrifty.distributed import clusters
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"a Dask cluster needs {error.name}. Run: pip install 'thrifty[dask]', or pass --scheduler {NONE}."
        ) from error
    with clusters.cluster(scheduler) as client:
        yield client


@contextmanager
def each_result(
    scheduler: str, work: Callable[..., Any], shared: Any, items: Sequence[Any], name: Callable[[Any], str]
) -> Iterator[Iterator[Any]]:
    """Yield an iterator over ``work(shared, item)`` of each item, in any order, from where the scheduler runs it.

    Errors call an item by what `name` returns for it.
    """
    if scheduler == NONE or not items:
        yield (work(shared, item) for item in items)
        return
    with cluster(scheduler) as client:
        from thrifty.distributed import clusters

        yield clusters.each_result(client, work, shared, items, name)
