"""How a search divides rows: a random sample, and the folds of the cross-validation.

Queries are never divided. Classes are stratified if each has enough rows.
"""

from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from thrifty.models.held_out import shuffle_split
from thrifty.models.rows import Rows

Fold = tuple[np.ndarray, np.ndarray]  # positions of the rows to fit, and of the held-out rows


def sample(rows: Rows, n_rows: int | None, *, stratify: bool, random_state: Any) -> Rows:
    """Draw about `n_rows` rows at random and keep their order; return all rows if there are at most `n_rows`.

    Parameters
    ----------
    rows : Rows
    n_rows : int or None
        None means all rows.
    stratify : bool
        Whether to draw the same share of each class.
    random_state : int or None

    Returns
    -------
    Rows
    """
    if n_rows is None or len(rows) <= n_rows:
        return rows
    stratify = stratify and _rarest(rows.y) > 1
    drawn, _ = shuffle_split(rows, stratify, train_size=n_rows / len(rows), random_state=random_state)
    return rows.take(np.sort(drawn))


def folds_of(rows: Rows, cv: Any, *, stratify: bool, random_state: Any) -> list[Fold]:
    """Divide rows into folds.

    Parameters
    ----------
    rows : Rows
    cv : int or splitter
        The number of folds, or a splitter of scikit-learn, which is used as it is.
    stratify : bool
        Whether to give each fold the same share of each class.
    random_state : int or None

    Returns
    -------
    list of (ndarray, ndarray)
        Positions of the rows to fit, and of the held-out rows.
    """
    splitter: Any = cv
    if isinstance(cv, int):
        options: dict[str, Any] = {"shuffle": True, "random_state": random_state}
        rarest = _rarest(rows.y) if stratify else 0
        if rows.qid is not None:
            splitter = GroupKFold(min(cv, len(np.unique(rows.qid))), **options)
        elif rarest > 1:
            splitter = StratifiedKFold(min(cv, rarest), **options)
        else:
            splitter = KFold(cv, **options)
    return list(splitter.split(rows.y[:, None], rows.y, rows.qid))


def _rarest(y: np.ndarray) -> int:
    """Return the number of rows of the rarest class."""
    return int(np.unique(y, return_counts=True)[1].min())
