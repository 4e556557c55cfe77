"""Row blocks on threads.

The kernels are serial and release the GIL; plain Python threads run them side by side. Unlike Numba's own
``prange`` this may be entered from any number of threads at once (a server, a joblib or Dask worker), and it
compiles in a fraction of the time.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

SMALLEST_BLOCK = 4096  # rows; below this a thread costs more than it saves


def n_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def row_blocks(n_rows: int, smallest: int = SMALLEST_BLOCK) -> list[tuple[int, int]]:
    """Cut the rows into one block per core, none of them tiny."""
    n_blocks = max(1, min(n_threads(), n_rows // smallest))
    edges = [n_rows * b // n_blocks for b in range(n_blocks + 1)]
    return list(pairwise(edges))


def over_rows(work: Callable[[int, int], Any], n_rows: int, smallest: int = SMALLEST_BLOCK) -> list[Any]:
    """Call ``work(first, last)`` for every row block, the first of them on this thread; results in block order.

    The work must not call this function itself: its threads would wait for each other.
    """
    mine, *others = row_blocks(n_rows, smallest)
    if not others:
        return [work(*mine)]
    running = [_pool().submit(work, *block) for block in others]
    return [work(*mine), *(each.result() for each in running)]


@cache
def _pool() -> ThreadPoolExecutor:
    """Keep the threads: starting them takes longer than much of the work they are given."""
    return ThreadPoolExecutor(max(1, n_threads() - 1), thread_name_prefix="thrifty")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


@contextmanager
def scipy_on_one_thread() -> Iterator[None]:
    """Keep SciPy's linear algebra on one thread; NumPy's goes on using all.

    SciPy's wheels bring a BLAS of their own, whose threads spin for a while after each small product and slow down
    NumPy's large ones in between. Where both share one library, nothing is changed.
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
    import scipy.optimize  # noqa: F401  for its library to be loaded

    libraries = ThreadpoolController().lib_controllers
    return [library for library in libraries if "scipy" in "/".join(Path(library.filepath).parts[-3:-1])]
