"""The rows of a search as the user has them, and as the numbers that methods see."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, column_or_1d

from thrifty.costs import CostModel
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.preparation import prepared
from thrifty.models.tables.validation import validated_table


@dataclass(frozen=True)
class Numbers:
    """Numeric rows to fit to or to be measured on."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    qid: np.ndarray | None
    encoder: TableEncoder
    costs: CostModel  # of the raw columns

    def prepared(self, estimator: Any) -> Any:
        """Return a clone of an estimator that knows what the numbers cost."""
        return prepared(estimator, self.encoder, self.costs)


@dataclass(frozen=True)
class RawRows:
    """A table with one answer, perhaps one weight and one query, per row."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    qid: np.ndarray | None

    @classmethod
    def checked(cls, search: Any, X: Any, y: Any, weight: Any = None, qid: Any = None) -> "RawRows":
        """Refuse what does not fit together; the search learns the names of the columns."""
        owner, X = type(search).__name__, validated_table(search, X, reset=True)
        y, n_rows = column_or_1d(y), _num_samples(X)
        weight = None if weight is None else np.asarray(weight, dtype=float)
        qid = None if qid is None else column_or_1d(qid)
        for name, column in (("y", y), ("sample_weight", weight), ("qid", qid)):
            if column is not None and column.shape != (n_rows,):
                raise ValueError(f"{owner}: {name} has shape {column.shape} for {n_rows} rows. Pass one entry per row.")
        if gaps := int(pd.isna(y).sum()):
            raise ValueError(f"{owner}: y is missing in {gaps} of {n_rows} rows. Leave these rows out.")
        return cls(X, y, weight, qid)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray) -> "RawRows":
        """Return some of the rows."""
        weight, qid = (None if each is None else each[rows] for each in (self.weight, self.qid))
        return RawRows(_safe_indexing(self.X, rows), self.y[rows], weight, qid)

    def sample(self, n_rows: int | None, classes: bool, random_state: Any) -> "RawRows":
        """Draw about so many rows: whole queries, or a share of every class, or any."""
        if n_rows is None or len(self) <= n_rows:
            return self
        options: dict[str, Any] = {"n_splits": 1, "train_size": n_rows / len(self), "random_state": random_state}
        splitter: Any = ShuffleSplit(**options)
        if self.qid is not None:
            splitter = GroupShuffleSplit(**options)
        elif classes and np.unique(self.y, return_counts=True)[1].min() > 1:
            splitter = StratifiedShuffleSplit(**options)
        drawn, _ = next(splitter.split(self.y[:, None], self.y, self.qid))
        return self.take(np.sort(drawn))

    def encoder(self, costs: CostModel) -> TableEncoder:
        """Learn how to turn such rows, whose columns have these costs, into numbers."""
        return TableEncoder().fit(self.X, self.weight, costs.names or range(costs.n_features))

    def encoded(self, encoder: TableEncoder, costs: CostModel) -> Numbers:
        """Turn the rows into numbers."""
        return Numbers(encoder.transform(self.X), self.y, self.weight, self.qid, encoder, costs)
