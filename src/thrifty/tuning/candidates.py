"""The candidates of a search: names of methods, estimators, or estimators with grids, all turned into sweeps."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from thrifty.costs import ErrorCosts
from thrifty.models.base import BudgetedEstimator
from thrifty.tuning.knobs import Setting
from thrifty.tuning.methods import METHODS, serving, usual
from thrifty.tuning.problem import Problem
from thrifty.tuning.sweep import Sweep


class Candidate(NamedTuple):
    """What the user wants to try.

    Attributes
    ----------
    label : str
        How the frontier calls it.
    estimator : BudgetedEstimator or str
        An estimator, or the name of a method.
    grid : dict or list of dict
        Parameters to try, as for scikit-learn's ``ParameterGrid``. A method without a grid brings its own.
    fixed : dict
        Parameters that all settings of a method get.
    """

    label: str
    estimator: Any
    grid: Any
    fixed: Mapping[str, Any] = MappingProxyType({})


def candidates_of(given: Any) -> list[Candidate] | None:
    """Return the candidates that the parameter `estimators` of a search lists; None if it is None."""
    if given is None:
        return None
    if isinstance(given, str | BudgetedEstimator):
        given = [given]
    labelled = given.items() if isinstance(given, Mapping) else ((None, each) for each in given)
    found = [_candidate(label, each) for label, each in labelled]
    if not found:
        raise ValueError("BudgetSearchCV: estimators is empty. Pass at least one, or None for all methods.")
    return found


def _candidate(label: str | None, given: Any) -> Candidate:
    is_pair = isinstance(given, tuple | list) and len(given) == 2
    estimator, grid = given if is_pair else (given, {})
    if isinstance(estimator, str) and estimator not in METHODS:
        raise ValueError(f"BudgetSearchCV: there is no method {estimator!r}. There are {', '.join(METHODS)}.")
    if not isinstance(estimator, str | BudgetedEstimator):
        raise ValueError(
            f"BudgetSearchCV: estimators has {estimator!r}; expected names of methods, estimators of thrifty, or pairs "
            "of one of these and a grid."
        )
    label = label or (estimator if isinstance(estimator, str) else type(estimator).__name__)
    try:
        ParameterGrid(grid)
    except (TypeError, ValueError):
        raise ValueError(
            f"BudgetSearchCV: the grid of {label!r} is {grid!r}; expected a dict of parameters and the values to try, "
            "or a list of such dicts."
        ) from None
    return Candidate(label, estimator, grid)


def given_estimators(candidates: Sequence[Candidate] | None) -> list[Any]:
    """Return the candidates that are estimators, not names of methods."""
    return [each.estimator for each in candidates or () if not isinstance(each.estimator, str)]


def common_costs(candidates: Sequence[Candidate] | None) -> Any:
    """Return the costs that all estimators with costs share; None if no estimator has costs."""
    found = [each.costs for each in given_estimators(candidates) if getattr(each, "costs", None) is not None]
    if any(each is not found[0] and not np.array_equal(each, found[0]) for each in found):
        raise ValueError("BudgetSearchCV: the estimators have different costs. Pass costs= to the search.")
    return found[0] if found else None


def sweeps(
    candidates: Sequence[Candidate] | None, problem: Problem, random_state: Any
) -> tuple[list[Sweep], list[Sweep]]:
    """Return the sweeps that the user listed, and the first settings of methods with a name, scaled to the problem.

    None means every method that serves the task and whose fits end soon with so many columns.
    """
    if candidates is None:
        candidates = [Candidate(name, name, {}) for name in usual(problem)]
    listed, named = [], []
    for each in candidates:
        if not isinstance(each.estimator, str):
            listed.append(_grid_sweep(each.label, each.estimator, each.grid))
            continue
        estimator = _estimator_of_method(each.estimator, problem, random_state)
        if each.grid:
            estimator.set_params(**each.fixed)
            listed.append(_grid_sweep(each.label, estimator, each.grid))
        else:
            named.append(_method_sweep(each, estimator, problem))
    return listed, named


def _estimator_of_method(name: str, problem: Problem, random_state: Any) -> Any:
    estimator = METHODS[name].estimator(problem.task)
    if estimator is None:
        others = ", ".join(serving(problem.task))
        raise ValueError(f"BudgetSearchCV: method {name!r} does not serve {problem.task}. These do: {others}.")
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=random_state)
    if problem.error_costs is not None and _takes(estimator, problem.error_costs):
        estimator.set_params(error_costs=problem.error_costs)
    return estimator


def _method_sweep(candidate: Candidate, estimator: Any, problem: Problem) -> Sweep:
    method = METHODS[candidate.estimator]
    return Sweep(
        candidate.label,
        estimator,
        tuple({**candidate.fixed, **setting} for setting in method.sweep(estimator, problem)),
        method.max_rows(problem),
        method.is_slow,
        method.scout_seconds(problem),
    )


def _takes(estimator: Any, error_costs: ErrorCosts) -> bool:
    """Tell whether a method knows these error costs: squared ones if numbers are predicted."""
    return "error_costs" in estimator.get_params() and getattr(error_costs, "power", 2) == 2


def _grid_sweep(label: str, estimator: BudgetedEstimator, grid: Any) -> Sweep:
    settings: Sequence[Setting] = list(ParameterGrid(grid))
    unknown = {name for setting in settings for name in setting} - {"cap", *estimator.get_params()}
    if unknown:
        raise ValueError(f"BudgetSearchCV: {type(estimator).__name__} has no parameter {sorted(unknown)[0]!r}.")
    return Sweep(label, estimator, tuple(settings))
