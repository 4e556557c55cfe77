"""Results beside the blocks that are computed when they are needed, without tasks.

A plan says how a result follows from a block and from other plans. The next request computes it on the worker that
holds the block, and the worker keeps it as long as the block is in its memory and the client refers to the result. If a
request fails, plans become tasks, with all that they follow from. So nothing is lost with a worker: the scheduler knows
the sources of blocks, and the client knows the rest.
"""

import weakref
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Union, cast
from uuid import uuid4

from dask.utils import funcname

from distributed import Future
from thrifty.models.homes import Work


class Plan:
    """How a result follows from a block and from other results.

    Parameters
    ----------
    number : int
        Larger than those of the plans among the inputs. Plans of one function for all blocks have the same number.
    work : callable
    inputs : sequence of Future or Plan
        What the function takes first.
    arguments : sequence
        What it takes then.

    Attributes
    ----------
    origin : Future
        The block that the result lies beside.
    is_wanted : bool
        Whether the client may ask for the result again.
    worker : str or None
        The worker that keeps the result.
    task : Future or None
        The result, if it is that of a task.
    """

    def __init__(self, number: int, work: Work, inputs: Sequence[Union[Future, "Plan"]], arguments: Sequence[Any]):
        self.number, self.work, self.inputs, self.arguments = number, work, tuple(inputs), arguments
        self.key = f"{funcname(work)}-{uuid4()}"
        self.origin: Future = origin_of(self.inputs[0])
        self.is_wanted = True
        self.worker: str | None = None
        self.task: Future | None = None

    def is_on(self, worker: str) -> bool:
        """Tell whether a worker has the result, or a task gives it."""
        return self.task is not None or self.worker == worker

    def becomes(self, task: Future) -> None:
        """Take the result from a task, and forget what it follows from."""
        self.task, self.inputs, self.arguments = task, (), ()


class Planned:
    """A result that the client may ask for. When nothing refers to it any more, `on_drop` is called with its plan."""

    def __init__(self, plan: Plan, on_drop: Callable[[Plan], None]):
        self.plan = plan
        weakref.finalize(self, on_drop, plan).atexit = False


Part = Future | Planned  # a block, or what lies beside it


def plan_of(part: Any) -> Any:
    """Return the plan of a part; blocks are returned as they are."""
    return part.plan if isinstance(part, Planned) else part


def origin_of(part: Any) -> Future:
    """Return the block that a part, or a plan, lies beside."""
    plan = plan_of(part)
    return plan.origin if isinstance(plan, Plan) else plan


def task_of(part: Any) -> Future:
    """Return a block, or the task that gives what lies beside it."""
    plan = plan_of(part)
    return cast(Future, plan.task) if isinstance(plan, Plan) else plan


def missing(wanted: Iterable[Any], is_there: Callable[[Plan], bool]) -> list[Plan]:
    """Return the plans whose results are not there but needed for those that are wanted, inputs first."""
    found: dict[str, Plan] = {}
    waiting = list(wanted)
    while waiting:
        plan = waiting.pop()
        if isinstance(plan, Plan) and plan.key not in found and not is_there(plan):
            found[plan.key] = plan
            waiting += plan.inputs
    return sorted(found.values(), key=lambda plan: plan.number)


# On a worker


class Step(NamedTuple):
    """A plan, as a worker carries it out; `inputs` are keys, and results that are not wanted again are not kept."""

    key: str
    work: Work
    inputs: list[str]
    arguments: Sequence[Any]
    is_kept: bool

    @classmethod
    def of(cls, plan: Plan) -> "Step":
        """Return the step of a plan."""
        return cls(plan.key, plan.work, [str(each.key) for each in plan.inputs], plan.arguments, plan.is_wanted)


class Request(NamedTuple):
    """A call of a function on a block and on what lies beside it.

    Attributes
    ----------
    from_tasks : list of str
        The keys of the results of tasks that are needed; the first one is the block.
    steps : list of Step
        What is computed before.
    keys : list of str
        What the function takes first.
    arguments : sequence
        What it takes then.
    dropped : list of str
        The results that are not wanted any more.
    """

    from_tasks: list[str]
    steps: list[Step]
    keys: list[str]
    arguments: Sequence[Any]
    dropped: list[str]

    def answer(self, work: Work, blocks: Sequence[Any]) -> Any:
        """Return what a function returns, given the results of tasks."""
        kept = kept_beside(blocks[0])
        known = ChainMap({}, kept, dict(zip(self.from_tasks, blocks, strict=True)))
        for step in self.steps:
            known[step.key] = step.work(*[known[key] for key in step.inputs], *step.arguments)
            if step.is_kept:
                kept[step.key] = known[step.key]
        result = work(*[known[key] for key in self.keys], *self.arguments)
        self.drop(blocks[0])
        return result

    def drop(self, block: Any) -> None:
        """Forget the results that are not wanted any more."""
        for key in self.dropped:
            kept_beside(block).pop(key, None)


_beside: dict[int, dict[str, Any]] = {}  # results of plans, for each block in the memory of this process


def kept_beside(block: Any) -> dict[str, Any]:
    """Return the results that are kept beside a block; they go when the block goes.

    Nothing is kept beside blocks without weak references, such as tuples.
    """
    if id(block) not in _beside:
        try:
            weakref.finalize(block, _beside.pop, id(block), None).atexit = False
        except TypeError:
            return {}
    return _beside.setdefault(id(block), {})
