"""Clusters for commands: one that runs already, or processes of this machine. Results of tasks come one by one."""

import logging
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

import dask.dataframe as dd

from distributed import Client, KilledWorker, LocalCluster, as_completed
from thrifty.kernels.threads import n_threads, on_one_thread

LOCAL = "local"
TIMEOUT = 10  # seconds to wait for a scheduler, and for its first worker


@contextmanager
def cluster(scheduler: str = LOCAL) -> Iterator[Client]:
    """Connect to a scheduler; "local" starts one worker process per core of this machine, and ends them.

    Parameters
    ----------
    scheduler : str, default="local"
        Its address, such as "tcp://10.0.0.1:8786".

    Yields
    ------
    distributed.Client
    """
    if scheduler != LOCAL:
        with _connected(scheduler) as client:
            yield client
        return
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with _no_interruption(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Creating scratch directories")  # what Dask says if the machine is busy
        local = LocalCluster(n_workers=n_threads(), silence_logs=logging.CRITICAL, **options)
    with local, Client(local) as client:
        yield client


@contextmanager
def _no_interruption() -> Iterator[None]:
    """Let Ctrl-C wait. Processes that start here never get it: it ends this process, which ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # multiprocessing would start it later, and then no longer block the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _connected(scheduler: str) -> Client:
    """Return a client of a scheduler that has workers, or raise ConnectionError."""
    try:
        client = Client(scheduler, timeout=TIMEOUT)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"the scheduler {scheduler!r} cannot be reached within {TIMEOUT} seconds. Pass the address that "
            f"`dask scheduler` prints, such as tcp://10.0.0.1:8786, or {LOCAL!r} for the cores of this machine."
        ) from error
    try:
        client.wait_for_workers(1, timeout=TIMEOUT)
    except TimeoutError as error:
        client.close()
        raise ConnectionError(
            f"the scheduler {scheduler!r} has no workers. Start some with `dask worker {scheduler}`."
        ) from error
    return client


def each_result(
    client: Client, work: Callable[..., Any], shared: Any, items: Sequence[Any], name: Callable[[Any], str] = str
) -> Iterator[Any]:
    """Yield ``work(shared, item)`` for each item as soon as it is known, in any order.

    A task may run more than once, if its worker is lost. The first error ends all tasks that have not begun.

    Parameters
    ----------
    client : distributed.Client
    work : callable
    shared : object
        It travels to each worker once.
    items : sequence
    name : callable, default=str
        The name of an item in errors.
    """
    everywhere = client.submit(_itself, shared, pure=False)  # the scheduler can send it again if a worker is lost
    futures = client.map(_attempted, items, work=work, shared=everywhere, pure=False)
    item_of = {future.key: item for future, item in zip(futures, items, strict=True)}
    try:
        for future in as_completed(futures):
            try:
                result, error = future.result()
            except KilledWorker:
                raise ValueError(
                    f"{name(item_of[future.key])}: every worker that began this task was lost; perhaps it needs more "
                    "memory than a worker has. Pass smaller files, or start workers with more memory."
                ) from None
            if error is not None:
                raise error
            yield result
            future.release()
    finally:
        client.cancel(futures)


def frame(read: Callable[[Any], Any], items: Sequence[Any], meta: Any) -> Any:
    """Return ``read(item)`` of each item as the partitions of a Dask DataFrame; `meta` has no rows, and the columns."""
    return dd.from_map(read, items, meta=meta, enforce_metadata=False)


def _itself(value: Any) -> Any:
    return value


def _attempted(item: Any, work: Callable[..., Any], shared: Any) -> tuple[Any, Exception | None]:
    """Return a result, or the error that input has caused, which Dask would also print on the worker."""
    try:
        with on_one_thread():
            return work(shared, item), None
    except (ValueError, TypeError, OSError) as error:
        return None, error
