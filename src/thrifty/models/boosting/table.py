"""Rows to learn from, and all that belongs to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Table(NamedTuple):
    """``n`` rows."""

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,) as they were given
    targets: np.ndarray  # (n, n_targets) as numbers
    weight: np.ndarray  # (n,)
    qid: np.ndarray | None  # (n,)

    def take(self, rows: np.ndarray) -> Table:
        """Return some of the rows."""
        return Table(*(None if column is None else column[rows] for column in self))  # type: ignore[arg-type]

    def followed_by(self, other: Table) -> Table:
        """Return the rows of both; a query of the other is never one of ours, even if it is called the same."""
        X, y, targets, weight = (np.concatenate(pair) for pair in zip(self[:4], other[:4], strict=True))
        if self.qid is None or other.qid is None:
            return Table(X, y, targets, weight, None)
        ours, theirs = (np.unique(qid, return_inverse=True)[1] for qid in (self.qid, other.qid))
        return Table(X, y, targets, weight, np.concatenate([ours, theirs + len(ours)]))
