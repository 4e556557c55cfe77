"""A problem: training and test rows, prices, and the meter and the score that count for every contender."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from thrifty.costs import CostModel
from thrifty.metrics import ndcg_at_k
from thrifty.tuning.problem import Task

NDCG_AT = 10


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a problem.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Numbers; NaN is a missing value.
    y : ndarray of shape (n,)
        Classes 0, 1, ..., or the relevance of documents.
    qid : ndarray of shape (n,) or None
        The query of each row, in ranking.
    prices : ndarray of shape (n, n_units) or None
        What each unit of the cost model costs this row, if that was measured by row.
    worth : ndarray of shape (n, n_classes) or None
        What it is worth to predict each class for this row; None means 1 for the class of the row and 0 for others.
    """

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None = None
    prices: np.ndarray | None = None
    worth: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, index: np.ndarray) -> Table:
        """Return the rows at some positions."""
        parts = [getattr(self, each.name) for each in fields(self)]
        return Table(*(None if part is None else part[index] for part in parts))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model acquired and predicted.

    Attributes
    ----------
    acquired : ndarray of bool, shape (n, d)
    prediction : ndarray of shape (n,)
        A class, or a number that ranks documents.
    """

    acquired: np.ndarray
    prediction: np.ndarray


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test rows of one seed, with the costs of the columns.

    Attributes
    ----------
    name : str
    seed : int
    train, test : Table
    costs : CostModel
        Models are trained on these prices.
    task : Task
    """

    name: str
    seed: int
    train: Table
    test: Table
    costs: CostModel
    task: Task

    @property
    def score_name(self) -> str:
        """What `score` returns, in words."""
        if self.task is Task.RANKING:
            return f"NDCG@{NDCG_AT}"
        return "accuracy" if self.train.worth is None else "share of instances solved"

    def spend(self, rows: Table, acquired: np.ndarray) -> float:
        """Return the mean spend of rows for what they acquired, at their own prices if they have any."""
        if rows.prices is None:
            return float(np.mean(self.costs.of(acquired)))
        paid = (acquired.astype(np.float32) @ self.costs.requirement.astype(np.float32)) > 0
        return float(np.mean((paid * rows.prices).sum(axis=1)))

    def score(self, rows: Table, prediction: np.ndarray) -> float:
        """Return the score of predictions: larger is better."""
        if rows.qid is not None:
            return float(ndcg_at_k(rows.y, prediction, qid=rows.qid, k=NDCG_AT))
        if rows.worth is not None:
            return float(np.mean(rows.worth[np.arange(len(rows)), prediction.astype(int)]))
        return float(np.mean(prediction == rows.y))

    def total(self, rows: Table) -> float:
        """Return the mean spend of rows that acquire everything."""
        return self.spend(rows, np.ones(rows.X.shape, dtype=bool))

    def floor(self, rows: Table) -> float:
        """Return the score of the best constant answer on the training rows, which costs nothing."""
        return self.score(rows, np.full(len(rows), self._best_constant()))

    def _best_constant(self) -> float:
        if self.task is Task.RANKING:
            return 0.0
        if self.train.worth is not None:
            return float(self.train.worth.mean(axis=0).argmax())
        return float(np.bincount(self.train.y.astype(int)).argmax())
