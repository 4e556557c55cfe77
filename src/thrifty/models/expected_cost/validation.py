"""Rows that are held out to choose a structure and to stop early by, and the score that is taken of them."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.metrics import get_scorer

from thrifty.models.validation import BY_QUERY, given_rows, hold_out, query_metric


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
        if given is not None:
            return replace(rows, validation=Validation(*given_rows(estimator, given), estimator.scoring))
        kept, held = hold_out(estimator, rows.X, rows.y, qid)
        out = Validation(rows.X[held], rows.y[held], None if qid is None else qid[held], estimator.scoring)
        return cls(rows.X[kept], rows.y[kept], rows.targets[kept], rows.count[kept], out)
