"""How each method of the package and each contender of other packages is fitted at a size.

A method has the parameters with which a search begins, and one seed. Its depth is that of its trees, or its number of
stages. A contender is fitted with the setting in the middle.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from thrifty.bench.contenders import CONTENDERS
from thrifty.bench.contenders.contender import Training
from thrifty.bench.problems.problem import Table
from thrifty.bench.scaling.sizes import Size, costs
from thrifty.tuning.methods import METHODS
from thrifty.tuning.problem import Task

WITH_UNITS = ("rows", "columns", "units")
N_TRIALS = 8


def _levels(depth: int) -> dict[str, Any]:
    return {"max_depth": depth}


def _leaves(depth: int) -> dict[str, Any]:
    return {"max_leaf_nodes": 2**depth}


def _stages(depth: int) -> dict[str, Any]:
    return {"n_stages": depth}


DEPTHS: dict[str, Callable[[int], dict[str, Any]]] = {
    "thrifty": _leaves,
    "astc": _levels,
    "cstc": _levels,
    "cscc": _stages,
    "cronus": _stages,
    "and-or": _stages,
    "greedy-miser": _levels,
    "adaboost-rs": _levels,
}


@dataclass(frozen=True)
class Scaled:
    """A method or contender whose growth is measured.

    Attributes
    ----------
    name : str
    task : Task
        Two classes; ranking for what serves nothing else.
    axes : tuple of str
    fit : callable
        ``fit(rows, size, seed)`` returns a fitted model: an estimator, or the model of a contender.
    """

    name: str
    task: Task
    axes: tuple[str, ...]
    fit: Callable[[Table, Size, int], Any]

    @property
    def is_own(self) -> bool:
        """Whether it is an estimator of this package."""
        return self.name in METHODS


def _own(name: str) -> Scaled:
    task = Task.BINARY if Task.BINARY in METHODS[name].classes else Task.RANKING
    axes = (*WITH_UNITS[:2], "depth", "units") if name in DEPTHS else WITH_UNITS
    return Scaled(name, task, axes, partial(_fit_own, name=name, task=task))


def _fit_own(rows: Table, size: Size, seed: int, *, name: str, task: Task) -> Any:
    depth = DEPTHS[name](size.depth) if name in DEPTHS else {}
    estimator = METHODS[name].estimator(task).set_params(costs=costs(size), **depth)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    return estimator.fit(rows.X, rows.y, **({} if rows.qid is None else {"qid": rows.qid}))


def _peer(name: str) -> Scaled:
    return Scaled(name, Task.BINARY, WITH_UNITS[:2], partial(_fit_peer, name=name))


def _fit_peer(rows: Table, size: Size, seed: int, *, name: str) -> Any:
    contender = CONTENDERS[name]
    training = Training(rows, costs(size), Task.BINARY, seed, 2)
    trials = contender.trials(N_TRIALS)
    *_, model = contender.fit(training, trials[len(trials) // 2])
    return model


SCALED: dict[str, Scaled] = {
    **{name: _own(name) for name in METHODS},
    **{name: _peer(name) for name in CONTENDERS if name not in METHODS},
}
