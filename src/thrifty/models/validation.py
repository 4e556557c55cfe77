"""Rows that are held out to be judged by: those given, or a share of the rows at hand; and scores taken by query."""

import re
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.validation import validate_data

from thrifty.metrics import ndcg_at_k, precision_at_k

BY_QUERY = {"ndcg": ndcg_at_k, "precision": precision_at_k}


def query_metric(scoring: Any) -> tuple[str, int] | None:
    """Read a metric by query, such as ``"ndcg@5"``."""
    found = re.fullmatch(r"(ndcg|precision)@([1-9]\d*)", scoring) if isinstance(scoring, str) else None
    return (found[1], int(found[2])) if found else None


def given_rows(estimator: Any, given: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Check rows given for validation: a tuple (X, y) or (X, y, qid)."""
    owner, scoring = type(estimator).__name__, estimator.scoring
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise ValueError(f"{owner}: validation is {given!r}; expected a tuple (X, y) or (X, y, qid).")
    X, y, qid = (*given, None)[:3]
    if query_metric(scoring) and qid is None:
        raise ValueError(f"{owner}: scoring={scoring!r} is taken by query. Pass validation=(X, y, qid).")
    X = validate_data(estimator, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
    y = np.asarray(y)
    for name, column in (("y", y), ("qid", y if qid is None else np.asarray(qid))):
        if column.shape != (len(X),):
            raise ValueError(f"{owner}: {name} of validation has shape {column.shape} for {len(X)} rows.")
    if is_classifier(estimator) and (strange := np.setdiff1d(y, estimator.classes_)).size:
        raise ValueError(f"{owner}: validation has class {strange.tolist()[0]!r}, which is not in y of fit.")
    return X, y, None if qid is None else np.asarray(qid)


def hold_out(estimator: Any, X: np.ndarray, y: np.ndarray, qid: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to fit and to hold out: whole queries, or a share of every class."""
    if query_metric(estimator.scoring) and qid is None:
        raise ValueError(
            f"{type(estimator).__name__}: scoring={estimator.scoring!r} is taken by query. "
            "Pass qid= to fit, one query per row."
        )
    options = {"n_splits": 1, "test_size": estimator.validation_fraction, "random_state": estimator.random_state}
    if qid is not None:
        return next(GroupShuffleSplit(**options).split(X, y, qid))
    if is_classifier(estimator) and np.unique(y, return_counts=True)[1].min() * estimator.validation_fraction >= 1:
        return next(StratifiedShuffleSplit(**options).split(X, y))
    kept, held = next(ShuffleSplit(**options).split(X, y))
    if is_classifier(estimator):  # a class too small to be divided is learned from, not judged by
        lost = np.isin(y[held], np.setdiff1d(y, y[kept]))
        kept, held = np.concatenate([kept, held[lost]]), held[~lost]
    return kept, held
