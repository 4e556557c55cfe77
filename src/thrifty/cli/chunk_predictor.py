"""Predictions of a table, chunk by chunk, as a table: prediction, probability, spend, and the columns bought."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from thrifty.cli.loaded_model import LoadedModel
from thrifty.cli.tables.table_file import refuse_missing_queries
from thrifty.models.acquisition import Acquisition

BETWEEN_NAMES = ";"


class ChunkPredictor:
    """Predicts a table chunk by chunk, and counts rows and spend.

    Parameters
    ----------
    loaded : LoadedModel
        The model.
    place : str
        The name of the table in messages.
    cap : float, optional
        Hard limit on each row's spend.
    qid : str, optional
        The column with the query of each row.
    all_classes : bool, default=False
        Whether to add a column with the probability of each class.
    allow_missing : bool, default=False
        Whether columns that are not in the table are treated as unavailable.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        place: str,
        *,
        cap: float | None = None,
        qid: str | None = None,
        all_classes: bool = False,
        allow_missing: bool = False,
    ):
        self.loaded, self.place, self.cap, self.qid = loaded, place, cap, qid
        self.all_classes, self.allow_missing = all_classes, allow_missing
        self.n_rows, self.total_spend, self.largest_spend = 0, 0.0, 0.0
        loaded.model.session(cap)  # raises ValueError if the cap is not valid, before any output is opened

    def predict(self, chunk: Any, *, nested: bool = False) -> pd.DataFrame:
        """Return the predictions of a chunk; the columns bought are a list of names if `nested`, else text."""
        rows = self.loaded.select_columns(chunk, self.place, allow_missing=self.allow_missing)
        qid = chunk[self.qid].to_numpy() if self.qid else None
        acquisition = self._acquire(rows, qid) if len(rows) else self._no_rows()
        self.n_rows += len(rows)
        self.total_spend += float(acquisition.spend.sum())
        self.largest_spend = max(self.largest_spend, float(acquisition.spend.max(initial=0.0)))
        return self._tabulate(acquisition, qid, nested)

    def summary(self) -> str:
        """Return the number of rows and their spend, as a sentence."""
        if not self.n_rows:
            return "There were no rows."
        mean, largest = map(self.loaded.amount, (self.total_spend / self.n_rows, self.largest_spend))
        return f"{self.n_rows:,} row{'s' * (self.n_rows > 1)}: {mean} on average, {largest} at most."

    def _acquire(self, rows: Any, qid: Any) -> Acquisition:
        try:
            return self.loaded.acquire(rows, self.cap, qid)
        except ValueError as error:  # the model counts rows from 0 in each chunk; people count from 1 in the table
            counted = re.sub(r"\brow (\d+)\b", lambda row: f"row {self.n_rows + int(row[1]) + 1}", str(error), count=1)
            raise ValueError(f"{self.place}: {counted}") from None

    def _tabulate(self, acquisition: Acquisition, qid: Any, nested: bool) -> pd.DataFrame:
        columns: dict[str, Any] = {"prediction": acquisition.prediction}
        if self.loaded.classes is not None:
            probabilities = self.loaded.probabilities(acquisition.score)
            columns["probability"] = probabilities.max(axis=1)
            if self.all_classes:
                named = zip(self.loaded.classes, probabilities.T, strict=True)
                columns |= {f"probability of {label}": column for label, column in named}
        if qid is not None:
            order = pd.Series(acquisition.score).groupby(qid).rank(method="first", ascending=False)
            columns |= {"query": qid, "rank": order.astype(int).to_numpy()}
        codes, sets = self.loaded.sets_bought(acquisition.acquired)
        bought = pd.Series(sets if nested else map(BETWEEN_NAMES.join, sets), dtype=object).to_numpy()
        return pd.DataFrame({**columns, "spend": acquisition.spend, "bought": bought[codes]})

    def _no_rows(self) -> Acquisition:
        """Return the acquisition of zero rows, which models refuse to predict."""
        classes = self.loaded.classes or [0.0]
        score = np.zeros((0, len(classes)) if len(classes) > 2 else 0)
        acquired = np.zeros((0, len(self.loaded.names)), dtype=bool)
        costs = self.loaded.model.cost_model_
        return Acquisition(np.array(classes)[:0], score, lambda: acquired, np.zeros(0), np.zeros(0, dtype=int), costs)


def whole_queries(chunks: Iterable[Any], qid: str, place: str) -> Iterator[Any]:
    """Yield the rows of chunks again, in chunks that end where a query ends."""
    held: Any = None
    seen: set[Any] = set()
    for chunk in chunks:
        rows = chunk if held is None else pd.concat([held, chunk])
        others = rows[qid].ne(rows[qid].iloc[-1] if len(rows) else None).to_numpy()
        end = len(rows) - int(others[::-1].argmax()) if others.any() else 0  # where the last complete query ends
        held, complete = rows.iloc[end:], rows.iloc[:end]
        if end:
            _refuse_scattered(complete[qid], seen, place)
            yield complete
    if held is not None:
        _refuse_scattered(held[qid], seen, place)
        yield held


def _refuse_scattered(queries: Any, seen: set[Any], place: str) -> None:
    """Raise ValueError if a query occurs again after other queries; add the queries to those seen."""
    refuse_missing_queries(queries, place)
    found = set(queries)
    for repeated in found & seen:
        raise ValueError(f"{place}: query {repeated!r} comes again after others. Sort the rows by {queries.name!r}.")
    seen |= found
