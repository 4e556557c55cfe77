"""Answers to rows as a table: prediction, probability, spend, and what was bought."""

import re
from typing import Any

import numpy as np
import pandas as pd

from thrifty.cli.served import Served
from thrifty.models.acquisition import Acquisition

BETWEEN_NAMES = ";"


class Predictions:
    """Answers chunk after chunk of a table, and keeps count.

    Parameters
    ----------
    served : Served
    place : str
        What messages call the table.
    cap : float, optional
        Hard limit on each row's spend.
    qid : str, optional
        Column that tells queries apart.
    all_classes : bool
        Whether every class gets a column with its probability.
    allow_missing : bool
        Whether columns that are not there count as unavailable.
    """

    def __init__(
        self,
        served: Served,
        place: str,
        cap: float | None = None,
        qid: str | None = None,
        all_classes: bool = False,
        allow_missing: bool = False,
    ):
        self.served, self.place, self.cap, self.qid = served, place, cap, qid
        self.all_classes, self.allow_missing = all_classes, allow_missing
        self.n_rows, self.total, self.largest = 0, 0.0, 0.0
        served.model.session(cap)  # refuses what is no cap

    def of(self, chunk: Any, *, nested: bool = False) -> pd.DataFrame:
        """Answer some rows; what was bought as a list of names if `nested`, else as text."""
        rows = self.served.columns_of(chunk, self.place, allow_missing=self.allow_missing)
        if not len(rows):
            return self._none(nested)
        qid = chunk[self.qid].to_numpy() if self.qid else None
        acquisition = self._acquire(rows, qid)
        self.n_rows += len(rows)
        self.total += float(acquisition.spend.sum())
        self.largest = max(self.largest, float(acquisition.spend.max()))
        return self._tabulated(acquisition, qid, nested)

    def summary(self) -> str:
        """Say how many rows there were and what they spent."""
        if not self.n_rows:
            return "There were no rows."
        mean, largest = self.served.amount(self.total / self.n_rows), self.served.amount(self.largest)
        return f"{self.n_rows:,} row{'s' * (self.n_rows > 1)}: {mean} on average, {largest} at most."

    def _acquire(self, rows: Any, qid: Any) -> Acquisition:
        try:
            return self.served.acquire(rows, self.cap, qid)
        except ValueError as error:
            counted = re.sub(r"\brow (\d+)\b", lambda row: f"row {self.n_rows + int(row[1]) + 1}", str(error), count=1)
            raise ValueError(f"{self.place}: {counted}") from None

    def _tabulated(self, acquisition: Acquisition, qid: Any, nested: bool) -> pd.DataFrame:
        table: dict[str, Any] = {"prediction": acquisition.prediction}
        if self.served.classes is not None:
            shares = self.served.probabilities(acquisition.score)
            table["probability"] = shares.max(axis=1)
            if self.all_classes:
                named = zip(self.served.classes, shares.T, strict=True)
                table |= {f"probability of {label}": share for label, share in named}
        if qid is not None:
            order = pd.Series(acquisition.score).groupby(qid).rank(method="first", ascending=False)
            table |= {"query": qid, "rank": order.astype(int).to_numpy()}
        codes, sets = self.served.sets_bought(acquisition.acquired)
        bought = pd.Series(sets if nested else map(BETWEEN_NAMES.join, sets), dtype=object).to_numpy()
        return pd.DataFrame({**table, "spend": acquisition.spend, "bought": bought[codes]})

    def _none(self, nested: bool) -> pd.DataFrame:
        """Return the columns of a table without rows."""
        labels = self.served.classes or [0.0]
        score = np.zeros((0, len(labels)) if len(labels) > 2 else 0)
        acquired = np.zeros((0, len(self.served.names)), dtype=bool)
        nothing = Acquisition(np.array(labels)[:0], score, lambda: acquired, np.zeros(0), np.zeros(0, dtype=int))
        return self._tabulated(nothing, np.zeros(0) if self.qid else None, nested)
