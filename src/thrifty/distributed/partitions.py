"""Blocks of rows on the workers of a Dask cluster.

Each block is the result of a task. What is kept beside it is the result of a task too, or follows from a plan (`plans`)
that can become one. The scheduler remembers how each result was computed. If a worker is lost, Dask computes its blocks
again on other workers, from the source of the data, so the source must be there as long as the fit runs. Tasks change
nothing that exists, so they can run more than once.

What functions of blocks return comes straight from the workers that hold the blocks (`holders`), or from tasks if that
fails. Either way, sums are added in groups of `FAN_IN` blocks, and groups of groups. So the order of additions is the
same in every run.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, count, groupby
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import dask
import numpy as np
from dask.utils import funcname

from distributed import Client, Future, wait
from thrifty.distributed.holders import Call, Holders, called_on_one_thread
from thrifty.distributed.plans import Part, missing, origin_of, plan_of, task_of
from thrifty.models.homes import Block, Home, Work, added, argument_of

FAN_IN = 8  # results that are added together
FEW = 2  # results of tasks that the client adds, because one more task would take longer
MOST = 64  # results of a sum that the client receives; tasks add larger numbers of them on the workers
LONGEST_PAUSE = 30  # seconds for which larger blocks wait for workers that are paused
_numbers = count()  # of plans


class Partitions(Home[Block]):
    """Blocks on workers.

    Parameters
    ----------
    holders : Holders
        The workers that hold the blocks. Work on a block goes there, so that nothing large travels; if a worker is
        lost, it goes to others.
    *parts : list of Future or Planned
        The blocks, or, for things that lie side by side, the blocks of each of them.
    """

    def __init__(self, holders: Holders, *parts: Sequence[Part]):
        self._holders, self._client, self._parts = holders, holders.client, parts
        self._known: dict[Work, list[Any]] = {}

    @classmethod
    def of(cls, client: Client, futures: list[Future]) -> "Partitions[Any]":
        """Return the home of the results of tasks that have ended."""
        return cls(Holders.of(client, futures), futures)

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
        groups = _in_groups(list(range(self.n_blocks)))
        asked = [[group] if self._holders.holder(*group) else [[k] for k in group] for group in groups]
        results = self._ask(work, list(chain.from_iterable(asked)), arguments) if sum(map(len, asked)) <= MOST else None
        if results is None:
            return self._sum_of_tasks(work, arguments)
        found = iter(results)
        return _total([_total([next(found) for _ in each]) for each in asked])

    def collect(self, work: Work, *arguments: Any) -> list[Any]:
        """Return ``work(block, *arguments)`` of each block."""
        if not arguments and work in self._known:
            return self._known[work]
        results = self._ask(work, [[k] for k in range(self.n_blocks)], arguments)
        return self._gathered(self._start(work, arguments)) if results is None else results

    def remember(self, work: Work, results: list[Any]) -> None:
        """Let `collect` return these results of a function, because reading all blocks again would take long."""
        self._known[work] = results

    def map(self, work: Work, *arguments: Any) -> "Partitions[Any]":
        """Return the home of ``work(block, *arguments)``."""
        return Partitions(self._holders, self._start(work, arguments))

    def map_small(self, work: Work, *arguments: Any) -> "Partitions[Any]":
        """Return the home of ``work(block, *arguments)``, which the next sum computes that needs it."""
        number = next(_numbers)
        return Partitions(
            self._holders,
            [self._holders.planned(number, work, parts, those) for parts, those in self._calls(arguments)],
        )

    def replaced_by(self, work: Work, *arguments: Any) -> "Partitions[Any]":
        """Return the home of ``work(block, *arguments)``, and forget these blocks: this home is not used again."""
        home, self._parts = self.map(work, *arguments), ()
        return home

    def beside(self, other: Home[Any]) -> "Partitions[Any]":
        """Return the home of both blocks."""
        assert isinstance(other, Partitions)
        return Partitions(self._holders, *self._parts, *other._parts)

    def in_larger_blocks(self, join: Work, sizes: Sequence[int]) -> "Partitions[Block]":
        """Return as many blocks as the workers have threads, or fewer, of about the same number of rows each."""
        (parts,) = self._parts
        slots = [worker for worker, n in sorted(self._client.nthreads().items()) for _ in range(n)]
        if len(slots) >= self.n_blocks:
            return self
        self._tasks_of_plans([plan_of(part) for part in parts])
        tasks = [task_of(part) for part in parts]
        wait(tasks)
        self._wait_for_paused_workers()
        middles = np.cumsum(sizes) - np.asarray(sizes) / 2
        group_of = np.minimum(middles * len(slots) // max(sum(sizes), 1), len(slots) - 1)
        futures: list[Future] = []
        places: list[tuple[str, ...]] = []
        for group in np.unique(group_of):
            members = np.flatnonzero(group_of == group).tolist()
            held = Counter(worker for k in members for worker in self._holders.places[k])
            worker = max(slots, key=lambda each: held[each])
            slots.remove(worker)
            blocks = [tasks[k] for k in members]
            futures.append(self._client.submit(join, *blocks, workers=[worker], allow_other_workers=True, pure=False))
            places.append((worker,))
        return Partitions(Holders(self._client, places), futures)

    def _wait_for_paused_workers(self) -> None:
        """Wait until no worker is paused for its use of memory, because their blocks would all go to the others."""
        deadline = monotonic() + LONGEST_PAUSE
        while monotonic() < deadline:
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
            if not any(each["status"] == "paused" for each in workers):
                return
            sleep(0.1)

    def _ask(self, work: Work, groups: list[list[int]], arguments: tuple[Any, ...]) -> list[Any] | None:
        """Return the sum over each group of blocks, without tasks, or None."""
        return self._holders.sums(work, groups, self._calls(arguments))

    def _sum_of_tasks(self, work: Work, arguments: tuple[Any, ...]) -> Any:
        """Return the sum over blocks, added on the workers as far as possible."""
        futures = self._start(work, arguments)
        while len(futures) > FEW:
            futures = [self._client.submit(added, group, pure=False) for group in _in_groups(futures)]
        return _total(self._gathered(futures))

    def _gathered(self, futures: list[Future]) -> list[Any]:
        """Return the results of tasks; the blocks may be on other workers than before."""
        results = self._client.gather(futures)
        self._holders.find(self._origins)
        return results

    @property
    def _origins(self) -> list[Future]:
        """The blocks that everything here lies beside."""
        return [origin_of(part) for part in self._parts[0]]

    def _start(self, work: Work, arguments: tuple[Any, ...]) -> list[Future]:
        """Start a task on every block, and return the futures of the results."""
        keys = [f"{funcname(work)}-{uuid4()}" for _ in range(self.n_blocks)]
        calls = self._calls(arguments)
        self._tasks_of_plans([plan_of(part) for parts, _ in calls for part in parts])
        return self._tasks(
            work, keys, self._origins, [([task_of(part) for part in parts], those) for parts, those in calls]
        )

    def _tasks_of_plans(self, wanted: list[Any]) -> None:
        """Start a task for each of these plans, and for each plan that they need, unless it has one already."""
        for _, group in groupby(missing(wanted, lambda plan: plan.task is not None), key=lambda plan: plan.number):
            plans = list(group)
            calls = [([task_of(each) for each in plan.inputs], plan.arguments) for plan in plans]
            keys, origins = [plan.key for plan in plans], [plan.origin for plan in plans]
            for plan, task in zip(plans, self._tasks(plans[0].work, keys, origins, calls), strict=True):
                self._holders.give_to(plan, task)

    def _tasks(
        self, work: Work, keys: list[str], origins: list[Future], calls: Sequence[tuple[list[Future], Sequence[Any]]]
    ) -> list[Future]:
        """Start tasks with one message to the scheduler, on the workers that hold the blocks they lie beside.

        If something lies beside other blocks than these, the scheduler chooses its worker.
        """
        holder_of = {block.key: self._holders.holder(k) for k, block in enumerate(self._origins)}
        holders = [holder_of.get(origin.key) for origin in origins]
        workers = {key: [holder] if holder else [] for key, holder in zip(keys, holders, strict=True)}
        lists = zip(*[[work, *inputs, *those] for inputs, those in calls], strict=True)
        with dask.annotate(workers=workers.__getitem__, allow_other_workers=True):
            return self._client.map(called_on_one_thread, *lists, key=keys, pure=False)

    def _calls(self, arguments: tuple[Any, ...]) -> list[Call]:
        """Return what a function takes for each block."""
        blocks = enumerate(zip(*self._parts, strict=True))
        return [(those, [argument_of(each, k) for each in arguments]) for k, those in blocks]


def _in_groups(items: list[Any]) -> list[list[Any]]:
    return [items[k : k + FAN_IN] for k in range(0, len(items), FAN_IN)]


def _total(results: list[Any]) -> Any:
    """Return the sum of results, added in groups, and groups of groups."""
    while len(results) > 1:
        results = [added(group) for group in _in_groups(results)]
    return results[0]
