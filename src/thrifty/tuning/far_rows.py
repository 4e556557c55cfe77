"""Rows of a search that are on the workers of a Dask cluster: a sample is searched here, and all are fitted there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from thrifty.models.homes import collections
from thrifty.models.rows import Rows, weights_of_classes
from thrifty.tuning.candidates import Candidate
from thrifty.tuning.methods import METHODS, usual
from thrifty.tuning.problem import Problem, Task

HERE = "or pass X and y as arrays or frames: X.compute(), y.compute()"
WHOLE_QUERIES = "greedy-miser"  # it needs each query in one partition, and a loss that does not compare documents
POINTWISE = {"loss": "squared_error"}


@dataclass(frozen=True, eq=False)
class FarRows:
    """All rows of a search, as Dask collections.

    Attributes
    ----------
    X, y, weight, qid : Dask DataFrame, Series or Array
        The raw rows; `weight` and `qid` may be None.
    n_rows : int
    class_counts : dict or None
        The number of rows of each class; None if there are too many different targets.
    """

    X: Any
    y: Any
    weight: Any
    qid: Any
    n_rows: int
    class_counts: Mapping[Any, int] | None

    def refuse_lost_classes(self, drawn: np.ndarray) -> None:
        """Raise ValueError if a class has rows, and none of those that were drawn."""
        known = set(np.unique(drawn).tolist())
        for label, count in (self.class_counts or {}).items():
            if label not in known:
                raise ValueError(
                    f"BudgetSearchCV: {count} of {self.n_rows} rows are of class {label!r}, and none of the "
                    f"{len(drawn)} rows that were drawn is. Pass a larger max_rows, or leave these rows out."
                )

    def problem(self, drawn: Problem) -> Problem:
        """Return the problem of all rows, with the encoder of the rows that were drawn."""
        rows = Rows(collections().encoded(self.X, drawn.encoder), self.y, self.weight, self.qid)
        class_weight = drawn.class_weight
        if class_weight is not None:
            if self.class_counts is None:
                raise ValueError(f"BudgetSearchCV: y has too many classes for class_weight on Dask; {HERE}.")
            class_weight = weights_of_classes(self.class_counts, class_weight)
        return replace(drawn, rows=rows, class_weight=class_weight)


def drawn(search: Any, X: Any, y: Any, sample_weight: Any, qid: Any, groups: Any) -> tuple[FarRows, Any]:
    """Return all rows, and those that the search is made on: the table, targets, weights, queries and groups."""
    if search.mix:
        raise ValueError(
            f"BudgetSearchCV: X is a Dask collection, and mix is not supported there. Leave it out, {HERE}."
        )
    if search.max_rows is not None and not hasattr(search.cv, "split") and isinstance(search.cv, Iterable):
        raise ValueError(
            "BudgetSearchCV: cv is a list of positions of rows, but X is a Dask collection and the search draws rows "
            "of it. Pass a number of folds, a splitter, groups=, or max_rows=None to read all rows."
        )
    terms = search.max_rows, search.random_state, type(search).__name__
    found = collections().sampled(X, y, sample_weight, *terms, qid=qid, groups=groups)
    far = FarRows(X, y, sample_weight, qid, found.n_rows, found.class_counts)
    return far, (found.X, found.y, found.sample_weight, found.qid, found.groups)


def fitted_there(candidates: Sequence[Candidate] | None, problem: Problem, far: FarRows) -> list[Candidate]:
    """Return the candidates; None means the usual methods that can be fitted on Dask collections.

    Raises ValueError if a candidate cannot be fitted there.
    """
    can = collections().FITTED
    names = [name for name, each in METHODS.items() if each.classes.get(problem.task) in can]
    divided = None if far.qid is None else collections().queries_are_divided(far.qid, far.X, "BudgetSearchCV")
    if candidates is None:
        left_out = WHOLE_QUERIES if divided else None
        candidates = [Candidate(name, name, {}) for name in usual(problem) if name in names and name != left_out]
    for each in candidates:
        _refuse_near(each, names, can)
        if divided and _needs_whole_queries(each):
            raise ValueError(f"{divided} Or leave out {each.label}.")
    return [_pointwise(each) if problem.task is Task.RANKING else each for each in candidates]


def _refuse_near(candidate: Candidate, names: Sequence[str], classes: Sequence[str]) -> None:
    """Raise ValueError if a candidate cannot be fitted on Dask collections."""
    estimator = candidate.estimator
    named = isinstance(estimator, str)
    if not (estimator in names if named else type(estimator).__name__ in classes):
        what = f"method {estimator!r}" if named else type(estimator).__name__
        raise ValueError(
            f"BudgetSearchCV: X is a Dask collection, and {what} cannot be fitted on all rows there. These methods "
            f"can: {', '.join(names)}. Pass them, {HERE}."
        )
    losses = {each.get("loss", getattr(estimator, "loss", None)) for each in ParameterGrid(candidate.grid)}
    if "lambdarank" in losses:
        raise ValueError(
            f"BudgetSearchCV: X is a Dask collection, and {candidate.label} has loss='lambdarank', which needs all "
            f"rows in one process. Pass loss='squared_error', {HERE}."
        )


def _needs_whole_queries(candidate: Candidate) -> bool:
    estimator = candidate.estimator
    name = estimator if isinstance(estimator, str) else type(estimator).__name__
    return name in (WHOLE_QUERIES, *METHODS[WHOLE_QUERIES].classes.values())


def _pointwise(candidate: Candidate) -> Candidate:
    """Return a candidate whose loss can be summed over rows in several places."""
    return candidate._replace(fixed=POINTWISE) if candidate.estimator == WHOLE_QUERIES else candidate
