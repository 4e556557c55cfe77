"""The problem that a search solves: its task, numeric training rows, the costs of the columns, and the cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target

from thrifty.costs import CostModel
from thrifty.costs.error_costs import ErrorCosts
from thrifty.models.homes import collections, is_collection
from thrifty.models.rows import Rows, class_weighted
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.preparation import prepared

MAX_CLASSES = 20  # whole numbers with more distinct values are amounts, not classes
TASKS = ("classification", "regression", "ranking")  # as users name them


class Task(StrEnum):
    """What is to be predicted. It decides which methods serve, how rows are split, and the default scoring.

    Examples
    --------
    >>> import numpy as np
    >>> task = Task.of(np.array(["ill", "well", "ill"]))
    >>> str(task), task.has_classes, task.default_scoring
    ('binary', True, 'accuracy')
    """

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"
    RANKING = "ranking"

    @classmethod
    def of(cls, y: np.ndarray, qid: Any = None, wanted: str | None = None, estimators: Sequence[Any] = ()) -> Task:
        """Return the task that the user wants; if it is None, the task of the estimators, else of the targets."""
        kind = wanted or _kind_of_estimators(estimators) or _kind_of_targets(y, qid)
        if kind == "classification":
            return cls.BINARY if len(np.unique(y)) <= 2 else cls.MULTICLASS
        return cls(kind)

    @property
    def has_classes(self) -> bool:
        """Whether the targets are classes."""
        return self in (Task.BINARY, Task.MULTICLASS)

    @property
    def default_scoring(self) -> str:
        """The scoring that is used if the user does not pass one."""
        if self.has_classes:
            return "accuracy"
        return "r2" if self is Task.REGRESSION else "ndcg@5"


def _kind_of_estimators(estimators: Sequence[Any]) -> str | None:
    if estimators and all(map(is_classifier, estimators)):
        return "classification"
    return "regression" if estimators and all(map(is_regressor, estimators)) else None


def _kind_of_targets(y: np.ndarray, qid: Any) -> str:
    if qid is not None:
        return "ranking"
    if y.dtype.kind in "OUSb":
        return "classification"
    many_values = y.dtype.kind in "iuf" and len(np.unique(y)) > MAX_CLASSES
    return "regression" if many_values or type_of_target(y).startswith("continuous") else "classification"


def refuse_one_class(y: np.ndarray) -> None:
    """Raise ValueError if all targets are of one class."""
    classes = np.unique(y).tolist()
    if len(classes) < 2:
        raise ValueError(f"BudgetSearchCV: all rows are of class {classes[0]!r}; expected at least 2 classes.")


@dataclass(frozen=True, eq=False)
class Problem:
    """Numeric rows to fit, with what is known about them.

    Attributes
    ----------
    rows : Rows
        Training rows. Their columns are numbers.
    encoder : TableEncoder
        Makes these columns from raw columns.
    costs : CostModel
        The costs of the raw columns.
    task : Task
    cap : float or None
        Hard limit on each row's spend.
    budget : float or None
        Bound on the mean spend.
    error_costs : ErrorCosts or None
        What mistakes cost.
    class_weight : dict, "balanced" or None
        Weights of the classes in fits. For rows on workers it is a dict of all classes.
    """

    rows: Rows
    encoder: TableEncoder
    costs: CostModel
    task: Task
    cap: float | None = None
    budget: float | None = None
    error_costs: ErrorCosts | None = None
    class_weight: Any = None

    @classmethod
    def of(cls, raw: Rows, encoder: TableEncoder, costs: CostModel, task: Task, **terms: Any) -> Problem:
        """Encode raw rows; `terms` are the other fields."""
        return cls(encoded(raw, encoder), encoder, costs, task, **terms)

    def of_rows(self, raw: Rows) -> Problem:
        """Return the same problem with other raw rows; levels of categories are learned from these rows only."""
        encoder = relearned_encoder(self.encoder, raw)
        return replace(self, rows=encoded(raw, encoder), encoder=encoder)

    @property
    def fit_weight(self) -> Any:
        """The weights of the rows in fits, those of their classes included; None if all are 1."""
        if is_collection(self.rows.X) and self.class_weight is not None:
            return collections().class_weighted(self.rows, self.class_weight)
        return class_weighted(self.rows, self.class_weight).weight

    @cached_property
    def derived_costs(self) -> CostModel:
        """The costs of the columns of `rows`."""
        return self.encoder.derived_costs(self.costs)

    @property
    def max_spend(self) -> float:
        """The most that a row can spend on columns."""
        total = self.derived_costs.total
        return total if self.cap is None else min(total, self.cap)

    @property
    def target_variance(self) -> float:
        """The variance of the targets; 1 if they are classes, or all equal."""
        return 1.0 if self.task.has_classes else float(np.var(self.rows.y)) or 1.0

    def prepared(self, estimator: Any) -> Any:
        """Return a clone of an estimator, with the costs of the columns of `rows`."""
        return prepared(estimator, self.encoder, self.costs)


def relearned_encoder(encoder: TableEncoder, raw: Rows) -> TableEncoder:
    """Return an encoder that has learned the levels of some raw rows; the kinds of their columns are known."""
    kinds = {field.name: field.kind for field in encoder.fields_}
    return TableEncoder(encoder.max_levels, kinds).fit(raw.X, raw.weight, list(kinds))


def encoded(raw: Rows, encoder: TableEncoder) -> Rows:
    """Return raw rows as numbers."""
    return replace(raw, X=encoder.transform(raw.X))
