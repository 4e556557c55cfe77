"""Problems of the reproductions: rows to train on, rows to choose settings on, and test rows that are used once.

Tables come from `thrifty.datasets`. A problem of classification draws its three parts by the seed. A problem of ranking
keeps the documents of a query together, in the official parts where there are such.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Bunch

HELD_SHARE = 0.25  # rows or queries held out of the training part, to choose settings on


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a problem, with the query of each row if they are documents."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """The parts of a problem, the prices of its features, how answers are scored, and whether it has full size."""

    train: Part
    held: Part
    test: Part
    costs: Any
    scoring: str
    full: bool = False

    @property
    def total(self) -> float:
        """Return the price of all features together."""
        return float(self.costs.total)


def tabular(data: Bunch, seed: int, n_train: int, n_test: int, full: bool = False) -> Problem:
    """Return a problem of classification with standardised columns.

    Test rows are drawn from the official test rows if there are such. The training part, of which `HELD_SHARE` is held
    out, has `n_train` rows. Means and standard deviations are those of its rows.
    """
    random = np.random.default_rng(seed)
    official = data.get("test")
    if official is None:
        order = random.permutation(len(data.y))
        train, test = order[:n_train], order[n_train : n_train + n_test]
    else:
        train, test = (random.permutation(np.flatnonzero(rows)) for rows in (~official, official))
        train, test = train[:n_train], test[:n_test]
    X = np.nan_to_num(data.X[np.concatenate([train, test])].astype(float))
    mean, scale = X[: len(train)].mean(axis=0), X[: len(train)].std(axis=0)
    X = (X - mean) / np.where(scale > 0, scale, 1.0)
    n_held = int(HELD_SHARE * len(train))
    held, train_rows, test_rows = np.split(np.arange(len(X)), [n_held, len(train)])
    y = data.y[np.concatenate([train, test])]
    fitted, chosen, final = (Part(X[rows], y[rows]) for rows in (train_rows, held, test_rows))
    return Problem(fitted, chosen, final, data.costs, "accuracy", full)


def ranking(data: Bunch, seed: int, scoring: str, max_queries: int | None = None, full: bool = False) -> Problem:
    """Return a problem of ranking, with parts of whole queries.

    If there are official test and validation rows, the parts are these; the seed then only draws `max_queries` of the
    queries. Otherwise the seed draws a third of the queries for the test and `HELD_SHARE` of the others to choose on.
    """
    random = np.random.default_rng(seed)
    queries = random.permutation(np.unique(data.qid))[:max_queries]
    if data.get("test") is None:
        test, rest = np.split(queries, [len(queries) // 3])
        held = rest[: int(HELD_SHARE * len(rest))]
        part = np.where(np.isin(data.qid, test), 2, np.isin(data.qid, held).astype(int))
    else:
        part = np.where(data.test, 2, data.validation.astype(int))
    parts = [np.flatnonzero((part == k) & np.isin(data.qid, queries)) for k in range(3)]
    fitted, chosen, final = (Part(data.X[each].astype(float), data.y[each], data.qid[each]) for each in parts)
    return Problem(fitted, chosen, final, data.costs, scoring, full)
