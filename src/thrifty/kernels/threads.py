"""Run kernels on blocks of rows in Python threads.

The kernels are serial and release the GIL, so that Python threads run them in parallel. Unlike ``prange`` of Numba,
this is safe to call from several threads at once (a server, a joblib or Dask worker), and it compiles much faster.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

SMALLEST_BLOCK = 4096  # rows; for smaller blocks a thread costs more time than it saves


_thread = threading.local()


def n_threads() -> int:
    """Return the number of cores that this process may use; 1 inside `on_one_thread`."""
    if getattr(_thread, "is_alone", False):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def row_blocks(n_rows: int, smallest: int = SMALLEST_BLOCK) -> list[tuple[int, int]]:
    """Divide the rows into at most one block per core, of at least `smallest` rows each; return (first, last) pairs."""
    n_blocks = 1 if n_rows < 2 * smallest else min(n_threads(), n_rows // smallest)
    edges = [n_rows * b // n_blocks for b in range(n_blocks + 1)]
    return list(pairwise(edges))


def over_rows(work: Callable[[int, int], Any], n_rows: int, smallest: int = SMALLEST_BLOCK) -> list[Any]:
    """Call ``work(first, last)`` for every block of rows and return the results in block order.

    The first block runs in the calling thread. `work` must not call this function, because threads of the pool would
    wait for each other.
    """
    if n_rows < 2 * smallest:
        return [work(0, n_rows)]
    first_block, *other_blocks = row_blocks(n_rows, smallest)
    if not other_blocks:
        return [work(*first_block)]
    try:
        futures = [_pool().submit(work, *block) for block in other_blocks]
    except RuntimeError:  # the main thread has ended, so that Python starts no more tasks
        return [work(*block) for block in (first_block, *other_blocks)]
    return [work(*first_block), *(future.result() for future in futures)]


def in_threads(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Call tasks that are independent of each other, each in one thread, and return their results in order.

    As many tasks as there are cores run at once. Within a task, `over_rows` works in the thread of the task.
    """
    n_at_once = min(n_threads(), len(tasks))
    if n_at_once <= 1:
        return [task() for task in tasks]
    pool = ThreadPoolExecutor(n_at_once, thread_name_prefix="thrifty-task")
    try:
        futures = [pool.submit(_alone, task) for task in tasks]
    except RuntimeError:  # the main thread has ended, so that Python starts no more tasks
        return [task() for task in tasks]
    try:
        return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alone(task: Callable[[], Result]) -> Result:
    with on_one_thread():
        return task()


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the pool, which is kept because starting threads takes longer than many of the tasks."""
    return ThreadPoolExecutor(max(1, n_threads() - 1), thread_name_prefix="thrifty")


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Run kernels that this thread calls in this thread only, because others, such as Dask tasks, use the other cores.

    Examples
    --------
    >>> from thrifty.kernels.threads import n_threads, on_one_thread
    >>> with on_one_thread():
    ...     n_threads()
    1
    """
    before, _thread.is_alone = getattr(_thread, "is_alone", False), True
    try:
        yield
    finally:
        _thread.is_alone = before


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


@contextmanager
def scipy_on_one_thread() -> Iterator[None]:
    """Limit the BLAS of SciPy to one thread; the BLAS of NumPy still uses all threads.

    The wheels of SciPy contain their own BLAS. Its threads stay busy for a while after each small product, which slows
    down large products of NumPy. If NumPy and SciPy share one BLAS, nothing changes.
    """
    pools = [(library, library.num_threads) for library in _scipy_libraries()]
    for library, _ in pools:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, n_threads_before in pools:
            library.set_num_threads(n_threads_before)


@cache
def _scipy_libraries() -> list[Any]:
    import scipy.optimize  # noqa: F401  loads the library

    libraries = ThreadpoolController().lib_controllers
    return [library for library in libraries if "scipy" in "/".join(Path(library.filepath).parts[-3:-1])]
