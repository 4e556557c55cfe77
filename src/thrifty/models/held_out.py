"""Rows held out for validation: rows that the user passes, or a share of the training rows."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.validation import validate_data

from thrifty.arrays import to_host
from thrifty.metrics.scoring import query_metric
from thrifty.models.rows import Rows

FEWEST_ROWS = 2  # R² of a single row is not defined


def given_rows(estimator: Any, given: Any) -> Rows:
    """Check and return the rows that the user passes for validation: a tuple (X, y) or (X, y, qid)."""
    owner, scoring = type(estimator).__name__, estimator.scoring
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise ValueError(f"{owner}: validation is {given!r}; expected a tuple (X, y) or (X, y, qid).")
    X, y, qid = (*given, None)[:3]
    if query_metric(scoring) and qid is None:
        raise ValueError(f"{owner}: scoring={scoring!r} is computed by query. Pass validation=(X, y, qid).")
    X = validate_data(estimator, to_host(X), reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
    y, qid = np.asarray(to_host(y)), to_host(qid)
    for name, column in (("y", y), ("qid", y if qid is None else np.asarray(qid))):
        if column.shape != (len(X),):
            raise ValueError(f"{owner}: {name} of validation has shape {column.shape} for {len(X)} rows.")
    if is_classifier(estimator) and (unknown := np.setdiff1d(y, estimator.classes_)).size:
        raise ValueError(f"{owner}: validation has class {unknown.tolist()[0]!r}, which is not in y of fit.")
    return Rows(X, y, np.ones(len(X)), None if qid is None else np.asarray(qid))


def hold_out(estimator: Any, rows: Rows) -> tuple[Rows, Rows]:
    """Return the rows to fit and the rows held out: whole queries, or a share of every class."""
    if query_metric(estimator.scoring) and rows.qid is None:
        raise ValueError(
            f"{type(estimator).__name__}: scoring={estimator.scoring!r} is computed by query. "
            "Pass qid= to fit, one query per row."
        )
    kept, held = _split(estimator, rows)
    if min(len(kept), len(held)) < FEWEST_ROWS:
        raise ValueError(
            f"{type(estimator).__name__}: n_samples={len(rows.y)} is too few to hold out rows for validation; expected "
            f"at least {FEWEST_ROWS} rows to fit and {FEWEST_ROWS} to validate. Pass validation=(X, y), or turn off "
            "what needs validation rows."
        )
    return rows.take(kept), rows.take(held)


def _split(estimator: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    fraction, y = estimator.validation_fraction, rows.y
    divisible = is_classifier(estimator) and np.unique(y, return_counts=True)[1].min() * fraction >= 1
    kept, held = shuffle_split(rows, divisible, test_size=fraction, random_state=estimator.random_state)
    if is_classifier(estimator) and not divisible and rows.qid is None:  # small classes stay with the rows to fit
        lost = np.isin(y[held], np.setdiff1d(y, y[kept]))
        kept, held = np.concatenate([kept, held[lost]]), held[~lost]
    return kept, held


def shuffle_split(rows: Rows, stratify: bool, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Divide rows at random and return the positions of both parts.

    Parameters
    ----------
    rows : Rows
        Rows of one query stay together if there are queries.
    stratify : bool
        Whether each class is divided in the same proportion; not used if there are queries.
    **options : dict
        ``train_size`` or ``test_size``, and ``random_state``, as scikit-learn's splitters take them.
    """
    splitter = StratifiedShuffleSplit if stratify else ShuffleSplit
    if rows.qid is not None:
        splitter = GroupShuffleSplit
    return next(splitter(n_splits=1, **options).split(rows.y[:, None], rows.y, rows.qid))
