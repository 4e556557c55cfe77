"""What a contender is: a name, settings to try, and a fit that yields models with what they acquire and predict."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.bench.problems.problem import Answers, Problem, Table
from thrifty.costs import CostModel
from thrifty.exceptions import MissingExtraError
from thrifty.tuning.problem import Task

Setting = dict[str, Any]
ALL_TASKS = (Task.BINARY, Task.MULTICLASS, Task.RANKING)
CLASSES = (Task.BINARY, Task.MULTICLASS)


@dataclass(frozen=True, eq=False)
class Training:
    """The rows that a contender learns from. It never sees test rows.

    Attributes
    ----------
    rows : Table
    costs : CostModel
    task : Task
    seed : int
    n_classes : int
        Of the whole problem: classes are 0, ..., n_classes - 1. It is 0 in ranking.
    """

    rows: Table
    costs: CostModel
    task: Task
    seed: int
    n_classes: int

    @classmethod
    def of(cls, problem: Problem, rows: Table) -> "Training":
        """Return some rows of a problem to learn from."""
        n_classes = 0 if problem.task is Task.RANKING else int(max(problem.train.y.max(), problem.test.y.max())) + 1
        return cls(rows, problem.costs, problem.task, problem.seed, n_classes)


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted operating point.

    Attributes
    ----------
    name : str
        What names it among the models of the same setting. Fits on other rows give models of the same names.
    answer : callable
        ``answer(rows)`` returns what rows acquire and what is predicted. It must not read targets.
    """

    name: str
    answer: Callable[[Table], Answers]


@dataclass(frozen=True, eq=False)
class Contender:
    """A method that takes part in the race.

    Attributes
    ----------
    name, title : str
    trials : callable
        ``trials(n)`` returns at most `n` settings, from the whole range of what the method can spend.
    fit : callable
        ``fit(training, setting)`` fits once and yields one or more models.
    tasks : tuple of Task
        The tasks that it serves.
    """

    name: str
    title: str
    trials: Callable[[int], list[Setting]]
    fit: Callable[[Training, Setting], Iterator[Model]]
    tasks: tuple[Task, ...] = ALL_TASKS


def everywhere(columns: np.ndarray, n_rows: int) -> np.ndarray:
    """Return what rows acquire if all of them acquire the same columns (d,), given as a mask."""
    return np.broadcast_to(columns, (n_rows, len(columns)))


def missing_package(contender: str, package: str, error: ImportError, extra: str = "bench") -> MissingExtraError:
    """Return the error that tells how to install what a contender needs."""
    return MissingExtraError(f"{contender} needs {package} ({error}). Run: pip install 'thrifty[{extra}]'")


def column_prices(costs: CostModel) -> np.ndarray:
    """Return the price of each column bought alone, in shares of the cost of all columns.

    This is for contenders that know no bundles.
    """
    return costs.marginal(np.zeros(costs.n_features, dtype=bool)) / (costs.total or 1.0)
