"""Blocks of rows on the workers of a Dask cluster.

Each block is the result of a task, and so is everything that is kept beside it. The scheduler remembers how each of
them was computed. If a worker is lost, Dask computes its blocks again on other workers, from the source of the data, so
the source must be there as long as the fit runs. Tasks change nothing that exists, so they can run more than once.

Sums are added on the workers, `FAN_IN` at a time, in the order of the blocks. At most `FEW` results travel to the
client, which adds them. So the order of additions is the same in every run.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from distributed import Client, Future
from thrifty.kernels.threads import on_one_thread
from thrifty.models.homes import Block, Home, Work, added, argument_of

FAN_IN = 8  # results that a task adds
FEW = 2  # results that the client adds, because one more task would take longer


class Partitions(Home[Block]):
    """Blocks on workers.

    Parameters
    ----------
    client : Client
        Connection to the cluster.
    places : list of tuple of str
        The workers that had each block first. Work on a block goes there, so that nothing large travels; if these
        workers are lost, it goes to others.
    *parts : list of Future
        The blocks, or, for things that lie side by side, the blocks of each of them.
    """

    def __init__(self, client: Client, places: list[tuple[str, ...]], *parts: list[Future]):
        self._client, self._places, self._parts = client, places, parts

    @classmethod
    def of(cls, client: Client, futures: list[Future]) -> "Partitions[Any]":
        """Return the home of the results of tasks that have ended."""
        where = client.who_has(futures)
        return cls(client, [tuple(where.get(future.key, ())) for future in futures], futures)

    @property
    def n_blocks(self) -> int:
        """The number of partitions."""
        return len(self._parts[0])

    @property
    def block(self) -> Block:
        """Not available: raises ValueError, because the rows are on several workers."""
        raise ValueError(
            "This setting needs all rows in one process, but X is a Dask collection. Leave out feature_map, or pass X "
            "and y as arrays: X.compute(), y.compute()."
        )

    def sum(self, work: Work, *arguments: Any) -> Any:
        """Return the sum over blocks of ``work(block, *arguments)``."""
        futures = self._submit(work, arguments)
        while len(futures) > FEW:
            groups = [futures[k : k + FAN_IN] for k in range(0, len(futures), FAN_IN)]
            futures = [self._client.submit(added, group, pure=False) for group in groups]
        return added(self._client.gather(futures))

    def collect(self, work: Work, *arguments: Any) -> list[Any]:
        """Return ``work(block, *arguments)`` of each block."""
        return self._client.gather(self._submit(work, arguments))

    def map(self, work: Work, *arguments: Any) -> "Partitions[Any]":
        """Return the home of ``work(block, *arguments)``."""
        return Partitions(self._client, self._places, self._submit(work, arguments))

    def beside(self, other: Home[Any]) -> "Partitions[Any]":
        """Return the home of both blocks."""
        assert isinstance(other, Partitions)
        return Partitions(self._client, self._places, *self._parts, *other._parts)

    def in_larger_blocks(self, join: Work, sizes: Sequence[int]) -> "Partitions[Block]":
        """Return as many blocks as the workers have threads, or fewer, of about the same number of rows each."""
        (parts,) = self._parts
        slots = [worker for worker, n in sorted(self._client.nthreads().items()) for _ in range(n)]
        if len(slots) >= self.n_blocks:
            return self
        middles = np.cumsum(sizes) - np.asarray(sizes) / 2
        group_of = np.minimum(middles * len(slots) // max(sum(sizes), 1), len(slots) - 1)
        futures: list[Future] = []
        places: list[tuple[str, ...]] = []
        for group in np.unique(group_of):
            members = np.flatnonzero(group_of == group).tolist()
            held = Counter(worker for k in members for worker in self._places[k])
            worker = max(slots, key=lambda each: held[each])
            slots.remove(worker)
            blocks = [parts[k] for k in members]
            futures.append(self._client.submit(join, *blocks, workers=[worker], allow_other_workers=True, pure=False))
            places.append((worker,))
        return Partitions(self._client, places, futures)

    def _submit(self, work: Work, arguments: tuple[Any, ...]) -> list[Future]:
        """Start ``work`` on every block, and return the futures of its results."""
        return [
            self._client.submit(
                _on_one_thread,
                work,
                *blocks,
                *(argument_of(each, k) for each in arguments),
                workers=self._places[k] or None,
                allow_other_workers=bool(self._places[k]),
                pure=False,
            )
            for k, blocks in enumerate(zip(*self._parts, strict=True))
        ]


def _on_one_thread(work: Work, *arguments: Any) -> Any:
    """Call a function on one thread, because each thread of a worker runs tasks of its own."""
    with on_one_thread():
        return work(*arguments)
