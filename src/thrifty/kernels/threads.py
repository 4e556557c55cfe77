"""Row blocks on threads.

The kernels are serial and release the GIL; plain Python threads run them side by side. Unlike Numba's own
``prange`` this may be entered from any number of threads at once (a server, a joblib or Dask worker), and it
compiles in a fraction of the time.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

SMALLEST_BLOCK = 4096  # rows; below this a thread costs more than it saves


def n_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def row_blocks(n_rows: int) -> list[tuple[int, int]]:
    """Cut the rows into one block per core, none of them tiny."""
    n_blocks = max(1, min(n_threads(), n_rows // SMALLEST_BLOCK))
    edges = [n_rows * b // n_blocks for b in range(n_blocks + 1)]
    return list(pairwise(edges))


def over_rows(work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
    """Call ``work(first, last)`` for every row block, the first of them on this thread; results in block order."""
    mine, *others = row_blocks(n_rows)
    if not others:
        return [work(*mine)]
    with ThreadPoolExecutor(len(others)) as pool:
        running = [pool.submit(work, *block) for block in others]
        return [work(*mine), *(each.result() for each in running)]
