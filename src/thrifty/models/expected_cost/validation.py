"""Rows that are held out to choose a structure and to stop early by, and the score that is taken of them."""

import re
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.validation import validate_data

from thrifty.metrics import ndcg_at_k, precision_at_k

BY_QUERY = {"ndcg": ndcg_at_k, "precision": precision_at_k}


@dataclass(frozen=True, eq=False)
class Validation:
    """Held-out rows and how models are scored on them; larger is better."""

    X: Any
    y: Any
    qid: Any
    scoring: Any

    def score(self, estimator: Any) -> float:
        """Return the score of a fitted estimator."""
        if by_query := query_metric(self.scoring):
            name, k = by_query
            ranked_by = getattr(estimator, "decision_function", estimator.predict)(self.X)
            return float(BY_QUERY[name](self.y, ranked_by, qid=self.qid, k=k))
        if self.scoring is None:
            return float(estimator.score(self.X, self.y))
        return float(get_scorer(self.scoring)(estimator, self.X, self.y))


def query_metric(scoring: Any) -> tuple[str, int] | None:
    """Read a metric by query, such as ``"ndcg@5"``."""
    found = re.fullmatch(r"(ndcg|precision)@([1-9]\d*)", scoring) if isinstance(scoring, str) else None
    return (found[1], int(found[2])) if found else None


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit, and rows held out."""

    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray
    count: np.ndarray
    validation: Validation | None

    @classmethod
    def of(cls, estimator: Any, rows: Self, qid: np.ndarray | None, given: Any) -> Self:
        """Hold out what the estimator needs to validate on: rows given for it, or a share of the rows."""
        owner, scoring = type(estimator).__name__, estimator.scoring
        if query_metric(scoring) and given is None and qid is None:
            raise ValueError(f"{owner}: scoring={scoring!r} is taken by query. Pass qid= to fit, one query per row.")
        if given is not None:
            if not isinstance(given, tuple | list) or len(given) not in (2, 3):
                raise ValueError(f"{owner}: validation is {given!r}; expected a tuple (X, y) or (X, y, qid).")
            X, y, queries = (*given, None)[:3]
            if query_metric(scoring) and queries is None:
                raise ValueError(f"{owner}: scoring={scoring!r} is taken by query. Pass validation=(X, y, qid).")
            X = validate_data(estimator, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
            y = np.asarray(y)
            if is_classifier(estimator) and (strange := np.setdiff1d(y, estimator.classes_)).size:
                raise ValueError(f"{owner}: validation has class {strange.tolist()[0]!r}, which is not in y of fit.")
            return replace(rows, validation=Validation(X, y, queries, scoring))
        kept, held = _split(estimator, rows, qid)
        out = Validation(rows.X[held], rows.y[held], None if qid is None else qid[held], scoring)
        return cls(rows.X[kept], rows.y[kept], rows.targets[kept], rows.count[kept], out)


def _split(estimator: Any, rows: Split, qid: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to fit and to hold out: whole queries, or a share of every class."""
    options = {"n_splits": 1, "test_size": estimator.validation_fraction, "random_state": estimator.random_state}
    if qid is not None:
        return next(GroupShuffleSplit(**options).split(rows.X, rows.y, qid))
    splitter = StratifiedShuffleSplit if is_classifier(estimator) else ShuffleSplit
    return next(splitter(**options).split(rows.X, rows.y))
