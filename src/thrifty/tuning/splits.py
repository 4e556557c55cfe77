"""How a search divides rows: a random sample, and the folds of the cross-validation.

Queries and groups are never divided. Classes are stratified if each has enough rows.
"""

import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from thrifty.models.held_out import shuffle_split
from thrifty.models.rows import Rows

Fold = tuple[np.ndarray, np.ndarray]  # positions of the rows to fit, and of the held-out rows
CV = "a whole number of at least 2, a splitter, or pairs of positions (rows to fit, held-out rows)"


def drawn_positions(rows: Rows, n_rows: int | None, *, stratify: bool, random_state: Any) -> np.ndarray:
    """Draw about `n_rows` rows at random; return their positions in order, or all if there are at most `n_rows`.

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
    ndarray of int
    """
    if n_rows is None or len(rows) <= n_rows:
        return np.arange(len(rows))
    stratify = stratify and _rarest(rows.y) > 1
    drawn, _ = shuffle_split(rows, stratify, train_size=n_rows / len(rows), random_state=random_state)
    return np.sort(drawn)


def sample(rows: Rows, n_rows: int | None, *, stratify: bool, random_state: Any) -> Rows:
    """Return the rows that `drawn_positions` draws."""
    drawn = drawn_positions(rows, n_rows, stratify=stratify, random_state=random_state)
    return rows if len(drawn) == len(rows) else rows.take(drawn)


def folds_of(
    rows: Rows, cv: Any, *, stratify: bool, random_state: Any, groups: Any = None, drawn: Any = None
) -> list[Fold]:
    """Divide rows into folds.

    Parameters
    ----------
    rows : Rows
    cv : int, splitter or iterable
        The number of folds; a splitter of scikit-learn, which is used as it is; or pairs of positions.
    stratify : bool
        Whether to give each fold the same share of each class.
    random_state : int or None
    groups : ndarray of shape (n,), optional
        The group of each row. Without them, queries are groups.
    drawn : ndarray of int, optional
        The positions of `rows` among the rows that pairs of positions refer to; by default these are the same rows.

    Returns
    -------
    list of (ndarray, ndarray)
        Positions of the rows to fit, and of the held-out rows.
    """
    groups = rows.qid if groups is None else groups
    if hasattr(cv, "split"):
        return _checked(cv.split(rows.y[:, None], rows.y, groups), len(rows))
    if isinstance(cv, Iterable):
        return _checked(cv if drawn is None else _among(cv, drawn), len(rows))
    return _checked(
        _splitter(rows, cv, stratify, random_state, groups).split(rows.y[:, None], rows.y, groups), len(rows)
    )


def _splitter(rows: Rows, n_folds: int, stratify: bool, random_state: Any, groups: Any) -> Any:
    options: dict[str, Any] = {"shuffle": True, "random_state": random_state}
    rarest = _rarest(rows.y) if stratify else 0
    if groups is not None:
        n_groups = len(np.unique(groups))
        if n_groups < 2:
            raise ValueError(
                "BudgetSearchCV: all rows are in one group; expected at least 2, because whole groups are held out."
            )
        return GroupKFold(min(n_folds, n_groups), **options)
    if rarest > 1:
        return StratifiedKFold(min(n_folds, rarest), **options)
    if len(rows) < n_folds:
        raise ValueError(f"BudgetSearchCV: cv is {n_folds} for {len(rows)} rows. Pass more rows, or fewer folds.")
    return KFold(n_folds, **options)


def _among(pairs: Iterable[Any], drawn: np.ndarray) -> Iterable[Fold]:
    """Translate pairs of positions to positions among the drawn rows; rows that were not drawn are left out."""
    for pair in pairs:
        kept, held = (np.asarray(each) for each in pair)
        yield tuple(np.flatnonzero(np.isin(drawn, each)) for each in (kept, held))  # type: ignore[misc]


def _checked(pairs: Iterable[Any], n_rows: int) -> list[Fold]:
    """Return pairs of positions as a list.

    Raises
    ------
    ValueError
        If there are fewer than two pairs, or a pair is empty, or has a position that is not a row or is in both parts.
    """
    folds: list[Fold] = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"BudgetSearchCV: fold {len(folds)} of cv is {_shortened(pair)}; expected {CV}.")
        kept, held = (_checked_positions(part, n_rows, len(folds)) for part in pair)
        place = f"BudgetSearchCV: fold {len(folds)} of cv"
        if not len(kept) or not len(held):
            raise ValueError(
                f"{place} has {len(kept)} rows to fit and {len(held)} held-out rows. Pass larger parts, or "
                "max_rows=None."
            )
        if np.intersect1d(kept, held).size:
            raise ValueError(f"{place} has rows that are both fitted and held out. Hold out other rows.")
        folds.append((kept, held))
    if len(folds) < 2:
        raise ValueError(f"BudgetSearchCV: cv has {len(folds)} folds; expected at least 2.")
    return folds


def _checked_positions(part: Any, n_rows: int, fold: int) -> np.ndarray:
    positions = np.asarray(part)
    expected = f"whole numbers from 0 to {n_rows - 1}, the positions of rows"
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise ValueError(f"BudgetSearchCV: fold {fold} of cv has {_shortened(part)}; expected {expected}.")
    for unknown in positions[(positions < 0) | (positions >= n_rows)][:1].tolist():
        raise ValueError(f"BudgetSearchCV: fold {fold} of cv has the position {unknown}; expected {expected}.")
    return positions


def _shortened(value: Any) -> str:
    return " ".join(reprlib.repr(value).split())


def checked_groups(groups: Any, rows: Rows) -> np.ndarray | None:
    """Return the groups of rows as an array; None if there are none.

    Raises
    ------
    ValueError
        If there is not one group per row, a group is missing, or a query is in several groups.
    """
    if groups is None:
        return None
    column = np.asarray(groups)
    if column.shape != (len(rows),):
        raise ValueError(
            f"BudgetSearchCV: groups has shape {column.shape} for {len(rows)} rows. Pass one group per row."
        )
    if (missing := np.flatnonzero(pd.isna(column))).size:
        raise ValueError(f"BudgetSearchCV: groups is missing in row {missing[0]}. Pass one group per row.")
    codes = np.unique(column, return_inverse=True)[1]
    if rows.qid is not None:
        by_query = pd.Series(codes).groupby(np.asarray(rows.qid)).nunique()
        if (by_query > 1).any():
            query = by_query.index[by_query > 1][0]
            raise ValueError(f"BudgetSearchCV: query {query} is in several groups. Pass groups of whole queries.")
    return codes


def _rarest(y: np.ndarray) -> int:
    """Return the number of rows of the rarest class."""
    return int(np.unique(y, return_counts=True)[1].min())
