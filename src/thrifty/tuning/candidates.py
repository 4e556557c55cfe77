"""What a search is asked to try: names of methods, estimators, or estimators with grids, all turned into sweeps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.utils.multiclass import type_of_target

from thrifty.models.base import BudgetedEstimator
from thrifty.tuning.methods import METHODS, Rows, Setting, Task, serving
from thrifty.tuning.sweep import Sweep

MOST_CLASSES = 20  # whole numbers of more values are amounts
TASKS = ("classification", "regression", "ranking")


def task_of(wanted: str | None, given: Any, y: np.ndarray, qid: np.ndarray | None) -> Task:
    """Return the task that was asked for, or that the estimators given are for, or that the targets look like."""
    kind = wanted or _task_of_estimators(given) or _task_of_targets(y, qid)
    if kind == "classification":
        return "binary" if len(np.unique(y)) <= 2 else "multiclass"
    return kind  # type: ignore[return-value]


def _task_of_estimators(given: Any) -> str | None:
    estimators = [each for _, each, _ in _entries(given) if not isinstance(each, str)]
    if estimators and all(map(is_classifier, estimators)):
        return "classification"
    return "regression" if estimators and all(map(is_regressor, estimators)) else None


def _task_of_targets(y: np.ndarray, qid: np.ndarray | None) -> str:
    if qid is not None:
        return "ranking"
    if y.dtype.kind in "OUSb":
        return "classification"
    many_values = y.dtype.kind in "iuf" and len(np.unique(y)) > MOST_CLASSES
    return "regression" if many_values or type_of_target(y).startswith("continuous") else "classification"


def sweeps(given: Any, rows: Rows, random_state: Any) -> list[Sweep]:
    """Return the sweeps to be made of what was given, scaled to the rows; of every method that serves if None."""
    if given is None:
        return [_method_sweep(name, name, rows, random_state) for name in serving(rows.task)]
    return [
        _method_sweep(label, each, rows, random_state) if isinstance(each, str) else _grid_sweep(label, each, grid)
        for label, each, grid in _entries(given)
    ]


def given_costs(given: Any) -> Any:
    """Return the costs that the estimators given have in common, None if they have none."""
    found = [each.costs for _, each, _ in _entries(given) if getattr(each, "costs", None) is not None]
    if any(each is not found[0] and not np.array_equal(each, found[0]) for each in found):
        raise ValueError("BudgetSearchCV: the estimators have different costs. Pass costs= to the search.")
    return found[0] if found else None


def _entries(given: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield a name, an estimator or the name of a method, and a grid."""
    if given is None:
        return
    if isinstance(given, str | BudgetedEstimator):
        given = [given]
    for label, each in given.items() if isinstance(given, Mapping) else ((None, each) for each in given):
        pair = isinstance(each, tuple | list) and len(each) == 2
        estimator, grid = each if pair else (each, {})
        _refuse_strange(estimator)
        yield label or (estimator if isinstance(estimator, str) else type(estimator).__name__), estimator, grid


def _refuse_strange(estimator: Any) -> None:
    if isinstance(estimator, str) and estimator not in METHODS:
        raise ValueError(f"BudgetSearchCV: there is no method {estimator!r}. There are {', '.join(METHODS)}.")
    if not isinstance(estimator, str | BudgetedEstimator):
        raise ValueError(
            f"BudgetSearchCV: estimators has {estimator!r}; expected names of methods, estimators of thrifty, or pairs "
            "of an estimator and a grid."
        )


def _method_sweep(label: str, name: str, rows: Rows, random_state: Any) -> Sweep:
    method = METHODS[name]
    estimator = method.estimator(rows.task)
    if estimator is None:
        others = ", ".join(serving(rows.task))
        raise ValueError(f"BudgetSearchCV: method {name!r} does not serve {rows.task}. These do: {others}.")
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=random_state)
    return Sweep(label, estimator, tuple(method.sweep(estimator, rows)))


def _grid_sweep(label: str, estimator: BudgetedEstimator, grid: Any) -> Sweep:
    settings: Sequence[Setting] = list(ParameterGrid(grid))
    unknown = {name for setting in settings for name in setting} - {"cap", *estimator.get_params()}
    if unknown:
        raise ValueError(f"BudgetSearchCV: {type(estimator).__name__} has no parameter {sorted(unknown)[0]!r}.")
    return Sweep(label, estimator, tuple(settings))
