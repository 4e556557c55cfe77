"""Rows of a search that are on the workers of a Dask cluster: a sample is searched here, and all are fitted there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from thrifty.models.homes import collections
from thrifty.models.rows import Rows
from thrifty.tuning.candidates import Candidate
from thrifty.tuning.methods import METHODS, usual
from thrifty.tuning.problem import Problem

HERE = "Pass X and y as arrays or frames (X.compute(), y.compute()), or a sample of them"


@dataclass(frozen=True, eq=False)
class FarRows:
    """All rows of a search, as Dask collections.

    Attributes
    ----------
    X, y, weight : Dask DataFrame, Series or Array
        The raw rows; `weight` may be None.
    n_rows : int
    """

    X: Any
    y: Any
    weight: Any
    n_rows: int

    def problem(self, drawn: Problem) -> Problem:
        """Return the problem of all rows, with the encoder of the rows that were drawn."""
        return replace(drawn, rows=Rows(collections().encoded(self.X, drawn.encoder), self.y, self.weight))


def drawn(search: Any, X: Any, y: Any, sample_weight: Any, qid: Any, groups: Any) -> tuple[FarRows, Any]:
    """Return all rows, and those that the search is made on: the table, the targets, and the weights."""
    owner = type(search).__name__
    given = {"qid": qid, "groups": groups, "class_weight": search.class_weight, "mix": search.mix or None}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{owner}: X is a Dask collection, and {name} is not supported there. {HERE}.")
    found = collections().sampled(X, y, sample_weight, search.max_rows, search.random_state, owner)
    return FarRows(X, y, sample_weight, found.n_rows), found[:3]


def fitted_there(candidates: Sequence[Candidate] | None, problem: Problem) -> list[Candidate]:
    """Return the candidates; None means the usual methods that can be fitted on Dask collections.

    Raises ValueError if a candidate cannot be fitted there.
    """
    can = collections().FITTED
    names = [name for name, each in METHODS.items() if each.classes.get(problem.task) in can]
    if candidates is None:
        return [Candidate(name, name, {}) for name in usual(problem) if name in names]
    for each in candidates:
        named = isinstance(each.estimator, str)
        if not (each.estimator in names if named else type(each.estimator).__name__ in can):
            what = f"method {each.estimator!r}" if named else type(each.estimator).__name__
            raise ValueError(
                f"BudgetSearchCV: X is a Dask collection, and {what} cannot be fitted on all rows there. These methods "
                f"can: {', '.join(names)}. Pass them, or pass X and y as arrays or frames: X.compute(), y.compute()."
            )
    return list(candidates)
