"""What a model predicted and spent for rows whose targets are known, collected chunk by chunk."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import UndefinedMetricWarning

from thrifty.costs.error_costs import ErrorCosts
from thrifty.metrics.scoring import TOTAL_COST, query_metric, scorer_of, scoring_for
from thrifty.models.acquisition import Acquisition
from thrifty.tuning.recorded_predictions import RecordedPredictions


@dataclass(frozen=True, eq=False)
class RecordedRows:
    """Predictions of some rows, beside their targets. The values of columns are not kept.

    Attributes
    ----------
    y : ndarray of shape (n,)
        The targets.
    prediction : ndarray of shape (n,)
    score : ndarray of shape (n,) or (n, n_classes)
    spend : ndarray of shape (n,)
    exit : ndarray of int, shape (n,)
    stopped : ndarray of bool, shape (n,)
        Whether the row would spend more without its cap.
    qid : ndarray of shape (n,) or None
        The query of each row.
    """

    y: np.ndarray
    prediction: np.ndarray
    score: np.ndarray
    spend: np.ndarray
    exit: np.ndarray
    stopped: np.ndarray
    qid: np.ndarray | None = None

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, cap: float | None = None, qid: Any = None) -> RecordedRows:
        """Predict rows with a fitted model, with its cap and without."""
        rows = cls.made(model, model.acquire(X, cap, qid=qid), y, qid)
        if limit_of(model, cap) is None:
            return rows
        return replace(rows, stopped=without_cap(model).spend(X, qid=qid) > rows.spend)

    @classmethod
    def made(cls, model: Any, made: Acquisition, y: Any, qid: Any = None) -> RecordedRows:
        """Record what rows acquired; whether their cap stopped them is not known."""
        y, qid = checked_targets(model, y), None if qid is None else np.asarray(qid)
        if len(y) != len(made):
            raise ValueError(f"y has {len(y)} entries for {len(made)} rows. Pass one target per row.")
        return cls(y, made.prediction, made.score, made.spend, made.exit, np.zeros(len(made), dtype=bool), qid)

    @classmethod
    def joined(cls, parts: Sequence[RecordedRows]) -> RecordedRows:
        """Return the rows of several chunks."""
        columns: Any = zip(*(vars(part).values() for part in parts), strict=True)
        joined: Any = (None if column[0] is None else np.concatenate(column) for column in columns)
        return cls(*joined)

    def take(self, index: np.ndarray) -> RecordedRows:
        """Return the rows at some positions."""
        taken: Any = (None if each is None else each[index] for each in vars(self).values())
        return RecordedRows(*taken)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def units(self) -> np.ndarray:
        """The number of the unit of each row: of the row itself, or of its query."""
        return np.arange(len(self)) if self.qid is None else np.unique(self.qid, return_inverse=True)[1]

    def scored(self, model: Any, scoring: Any) -> float:
        """Return the score of the predictions; NaN if it is not defined for so few rows or classes."""
        made = Acquisition(self.prediction, self.score, _not_kept, self.spend, self.exit, model.cost_model_)
        by_query = query_metric(scoring) is not None
        y = (self.y == model.classes_[1]).astype(int) if by_query and is_classifier(model) else self.y
        scorer = scorer_of(scoring, error_costs_of(model))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return scorer(RecordedPredictions(model, made), self.spend[:, None], y, self.qid)


def checked_targets(model: Any, y: Any) -> np.ndarray:
    """Return targets as an array; raise ValueError if one is missing, or is a class that the model does not have."""
    targets = np.asarray(y)
    if targets.ndim != 1 or not len(targets):
        raise ValueError(f"y has shape {targets.shape}; expected one target for each of at least one row.")
    if is_classifier(model):
        for unknown in targets[~np.isin(targets, model.classes_)][:1].tolist():
            raise ValueError(f"y has {unknown!r}, which is not a class of the model: {model.classes_.tolist()}.")
    elif not np.isfinite(targets.astype(float)).all():
        raise ValueError("y has a value that is not a finite number. Drop rows without a target.")
    return targets


def scoring_of(model: Any, given: Any, qid: Any = None) -> Any:
    """Return the scoring that the user gave, or else that of a search; None if the chosen model cannot be scored so.

    Raises
    ------
    ValueError
        If the scoring that the user gave cannot score what the model predicts.
    """
    chosen = getattr(model, "best_estimator_", model)
    if given is not None:
        return _checked_scoring(chosen, given, qid)
    own = getattr(model, "scoring_", None)
    return own if callable(own) or (own is not None and _is_known(own, error_costs_of(chosen))) else None


def _checked_scoring(model: Any, scoring: Any, qid: Any) -> Any:
    error_costs, has_classes = error_costs_of(model), is_classifier(model)
    if error_costs is None and isinstance(scoring, str) and scoring == TOTAL_COST:
        raise ValueError(
            f"scoring is {TOTAL_COST!r}, but the model was fitted without error costs. Pass another score."
        )
    targets = model.classes_ if has_classes else np.array([0.0, 1.0])
    return scoring_for(scoring, targets, qid, has_classes=has_classes, error_costs=error_costs)


def default_scoring(model: Any, qid: Any) -> str:
    """Return the scoring of the search that a model comes from, if it has a name, or else the usual one of its task."""
    promised = getattr(getattr(model, "promise_", None), "scoring", None)
    if promised is not None and _is_known(promised, error_costs_of(model)):
        return promised
    if qid is not None or not (is_classifier(model) or is_regressor(model)):
        return "ndcg@5"
    return "accuracy" if is_classifier(model) else "r2"


def error_costs_of(model: Any) -> ErrorCosts | None:
    """Return what mistakes cost, if the model knows."""
    found = getattr(model, "error_costs_", None)
    return found if isinstance(found, ErrorCosts) else None


def _is_known(scoring: str, error_costs: ErrorCosts | None) -> bool:
    try:
        scorer_of(scoring, error_costs)
    except ValueError:
        return False
    return True


def limit_of(model: Any, cap: float | None) -> float | None:
    """Return the smaller of a cap and the model's own cap; None if there is neither."""
    own = getattr(model, "cap", None)
    return min((each for each in (cap, own) if each is not None), default=None)


def without_cap(model: Any) -> Any:
    """Return a model without its own cap; it shares its fitted parts."""
    if getattr(model, "cap", None) is None:
        return model
    free = copy(model)
    free.cap = None
    return free


def _not_kept() -> np.ndarray:
    raise AttributeError("the columns that rows bought were not kept")
