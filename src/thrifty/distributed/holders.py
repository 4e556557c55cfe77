"""Which worker holds each block, and requests that go straight to these workers.

A task takes about 15 ms from the client to the scheduler, to a worker and back, mostly because messages wait to be sent
together. Work whose result is small needs no task: the client sends it to the workers that hold the blocks, one message
per worker, and the threads that run tasks run it, as soon as the blocks are there. The message also says how to compute
what lies beside the blocks and is not there yet (`plans`).

Nothing depends on these requests. If a block is somewhere else, a worker is lost, or the client cannot reach it, there
is no answer, and the caller uses tasks. The scheduler knows how to compute again what was lost.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import chain
from time import monotonic
from typing import Any

from dask.sizeof import sizeof
from distributed.core import Status, send_recv
from distributed.protocol.pickle import dumps

from distributed import Client, Future, Worker
from thrifty.distributed.plans import Part, Plan, Planned, Request, Step, missing, origin_of, plan_of
from thrifty.kernels.threads import on_one_thread
from thrifty.models.homes import Work, added

CONNECT = 5  # seconds to wait for a connection to a worker
PATIENCE = 2  # seconds to wait for a block that a worker has not heard of, because its task may be on the way
PAUSE = 0.001  # seconds between two looks at whether a block is there
ON_THE_WAY = {"waiting", "ready", "constrained", "executing", "long-running", "fetch", "flight"}

Call = tuple[Sequence[Part], Sequence[Any]]  # a block and what lies beside it, and the other arguments


class Holders:
    """The workers that hold the blocks of some rows, and all that lies beside them.

    Parameters
    ----------
    client : Client
        Connection to the cluster.
    places : list of tuple of str
        The workers that have each block. New work on a block goes to the first one.
    """

    def __init__(self, client: Client, places: list[tuple[str, ...]]):
        self.client, self.places = client, places
        self._unreachable: set[str] = set()
        self._new: list[Plan] = []  # that no worker has carried out yet
        self._dropped: list[Plan] = []  # whose results workers keep although nobody wants them any more

    @classmethod
    def of(cls, client: Client, blocks: list[Future]) -> "Holders":
        """Return the holders of the results of tasks that have ended."""
        holders = cls(client, [])
        holders.find(blocks)
        return holders

    def find(self, blocks: list[Future]) -> None:
        """Ask the scheduler where the blocks are now."""
        where = self.client.who_has(blocks)
        self.places = [tuple(where.get(block.key, ())) for block in blocks]

    def holder(self, *blocks: int) -> str | None:
        """Return the worker that has all of some blocks, or None."""
        holders = {self.places[k][:1] for k in blocks}
        return next(iter(holders.pop()), None) if len(holders) == 1 else None

    def planned(self, number: int, work: Work, parts: Sequence[Part], arguments: Sequence[Any]) -> Planned:
        """Return what a function will return for a block, or for what lies beside it."""
        plan = Plan(number, work, [plan_of(part) for part in parts], arguments)
        self._new.append(plan)
        return Planned(plan, self._drop)

    def give_to(self, plan: Plan, task: Future) -> None:
        """Let a task give the result of a plan."""
        self._forget(plan)
        plan.becomes(task)

    def _drop(self, plan: Plan) -> None:
        plan.is_wanted = False
        self._forget(plan)

    def _forget(self, plan: Plan) -> None:
        if plan.worker is not None:
            self._dropped.append(plan)

    def sums(self, work: Work, groups: Sequence[Sequence[int]], calls: list[Call]) -> list[Any] | None:
        """Return the sum over each group of blocks of what `work` returns, or None if a worker does not answer.

        Parameters
        ----------
        work : callable
        groups : sequence of sequence of int
            Blocks. One worker holds all blocks of a group.
        calls : list of Call
            What `work` takes for each block.
        """
        self._new = [plan for plan in self._new if plan.worker is None and plan.task is None and plan.is_wanted]
        asked: dict[str, list[int]] = {}
        for g, blocks in enumerate(groups):
            holder = self.holder(*blocks)
            if holder is None or holder in self._unreachable:
                return None
            asked.setdefault(holder, []).append(g)
        plans = {holder: _Plans(holder, self._new, self._dropped) for holder in asked}
        messages = [
            dumps((work, [[plans[holder].request(*calls[k]) for k in groups[g]] for g in those]))
            for holder, those in asked.items()
        ]
        self._dropped = [plan for plan in self._dropped if plan.worker is not None]
        answers = self.client.sync(self._ask_all, list(asked), messages)
        for each in plans.values():
            each.are_carried_out()
        if any(answer is None for answer in answers):
            return None
        pairs = (zip(those, answer, strict=True) for those, answer in zip(asked.values(), answers, strict=True))
        found = dict(chain.from_iterable(pairs))
        return [found[g] for g in range(len(groups))]

    async def _ask_all(self, holders: list[str], messages: list[bytes]) -> list[list[Any] | None]:
        return await asyncio.gather(*map(self._ask, holders, messages))

    async def _ask(self, holder: str, message: bytes) -> list[Any] | None:
        """Return the answer of a worker; None if there is none, and then this worker is not asked again."""
        connections = self.client.rpc
        try:
            connection = await connections.connect(holder, timeout=CONNECT)
            try:
                answer = await send_recv(connection, op="run", function=dumps(_answer), args=message)
            finally:
                connections.reuse(holder, connection)
        except Exception:  # the worker is lost, cannot be reached, or refuses functions
            self._unreachable.add(holder)
            return None
        return answer.get("result")


class _Plans:
    """What one worker does for a sum: it carries out all new plans, and forgets what nobody wants any more."""

    def __init__(self, worker: str, new: list[Plan], dropped: list[Plan]):
        self._worker, self._new, self._carried_out = worker, new, list[Plan]()
        self._dropped = [plan for plan in dropped if plan.worker == worker]

    def request(self, parts: Sequence[Part], arguments: Sequence[Any]) -> Request:
        """Return the request for one block."""
        wanted, block = [plan_of(part) for part in parts], origin_of(parts[0])
        new = [plan for plan in self._new if plan.origin is block and plan.is_wanted]
        steps = missing(wanted + new, lambda plan: plan.is_on(self._worker))
        read = [block, *wanted, *chain.from_iterable(plan.inputs for plan in steps)]
        tasks = [str(each.key) for each in read if not isinstance(each, Plan) or each.task is not None]
        dropped = [plan for plan in self._dropped if plan.origin is block]
        for plan in dropped:
            plan.worker = None
        self._carried_out += steps
        return Request(
            list(dict.fromkeys(tasks)),
            [Step.of(plan) for plan in steps],
            [each.key for each in wanted],
            arguments,
            [plan.key for plan in dropped],
        )

    def are_carried_out(self) -> None:
        """Remember what the worker keeps now; if it did not answer, it may keep some of it.

        If a result is missing later, tasks compute it.
        """
        for plan in self._carried_out:
            plan.worker = self._worker if plan.is_wanted else None


# On a worker


async def _answer(work: Work, groups: list[list[Request]], dask_worker: Worker) -> list[Any] | None:
    """Return the sum over each group of blocks, or None if that is not possible here.

    If a block is on disk, the worker has more blocks than memory. Then tasks read them in an order that the worker
    chooses.
    """
    requests, on_disk = list(chain.from_iterable(groups)), getattr(dask_worker.data, "slow", ())
    if any(key in on_disk for request in requests for key in request.from_tasks):
        _drop_all(dask_worker, requests)
        return None
    free_threads = asyncio.Semaphore(dask_worker.state.nthreads)
    calls = [_called(dask_worker, free_threads, work, request) for request in requests]
    try:
        results = iter(await asyncio.gather(*calls))
    except Exception:  # a task will fail in the same way, and the client gets its error
        _drop_all(dask_worker, requests)
        return None
    of_groups = [[next(results) for _ in group] for group in groups]
    sums = [each[0] if len(each) == 1 else added(each) for each in of_groups]
    dask_worker.transfer_outgoing_bytes_total += sizeof(sums)
    return sums


def _drop_all(worker: Worker, requests: list[Request]) -> None:
    """Forget the results that are not wanted any more; those beside blocks that are on disk are gone already."""
    on_disk = getattr(worker.data, "slow", ())
    for request in requests:
        block = request.from_tasks[0]
        if block in worker.data and block not in on_disk:
            request.drop(worker.data[block])


async def _called(worker: Worker, free_threads: asyncio.Semaphore, work: Work, request: Request) -> Any:
    """Return what a function returns for a block, in a thread of the worker.

    Blocks are read when a thread is free, because by then some may be on disk.
    """
    async with free_threads:
        for key in request.from_tasks:
            await _arrival(worker, key)
        if worker.status == Status.paused:
            raise MemoryError("the memory of this worker is nearly full; tasks wait, or go to other workers")
        blocks = [worker.data[key] for key in request.from_tasks]
        call = partial(called_on_one_thread, request.answer, work, blocks)
        del blocks
        return await asyncio.get_running_loop().run_in_executor(worker.executors["default"], call)


async def _arrival(worker: Worker, key: str) -> None:
    """Wait until a worker has the result of a task, or raise KeyError if it does not expect one."""
    last_sign = monotonic()
    while key not in worker.data:
        task = worker.state.tasks.get(key)
        if task is not None and task.state in ON_THE_WAY:
            last_sign = monotonic()
        elif monotonic() > last_sign + PATIENCE or (task is not None and task.state == "error"):
            raise KeyError(key)
        await asyncio.sleep(PAUSE)


def called_on_one_thread(work: Work, *arguments: Any) -> Any:
    """Call a function on one thread, because each thread of a worker runs work of its own."""
    with on_one_thread():
        return work(*arguments)
