"""Predictions of a table, chunk by chunk, as a table: prediction, probability, spend, and the columns bought."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from thrifty.cli.column_notes import OddCellCounts
from thrifty.cli.loaded_model import LoadedModel
from thrifty.cli.tables.table_file import refuse_missing_queries
from thrifty.cli.words import plural, rows_counted_by
from thrifty.models.acquisition import Acquisition

BETWEEN_NAMES = ";"
RANKING = ("query", "rank")  # columns that are written if there are queries


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
    keep : sequence of str
        Columns of the table that are written too.
    all_classes : bool, default=False
        Whether to add a column with the probability of each class.
    allow_missing : bool, default=False
        Whether columns that are not in the table are treated as unavailable.
    strict : bool, default=False
        Whether to refuse cells that cannot be read, and levels that are new to the model.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        place: str,
        *,
        cap: float | None = None,
        qid: str | None = None,
        keep: Sequence[str] = (),
        all_classes: bool = False,
        allow_missing: bool = False,
        strict: bool = False,
    ):
        self.loaded, self.place, self.cap, self.qid, self.keep = loaded, place, cap, qid, list(dict.fromkeys(keep))
        self.all_classes, self.allow_missing, self.strict = all_classes, allow_missing, strict
        self.odd = OddCellCounts()
        self.n_rows, self.total_spend, self.largest_spend = 0, 0.0, 0.0
        loaded.model.session(cap)  # raises ValueError if the cap is not valid, before any output is opened
        self._refuse_taken_names()

    @property
    def only_kept(self) -> list[str]:
        """The columns that are kept, and that neither the model nor the ranking reads."""
        return [name for name in self.keep if name not in self.loaded.fields and name != self.qid]

    def _refuse_taken_names(self) -> None:
        written = self._tabulate(self._no_rows(), None, nested=False).columns
        for name in self.keep:
            if name in written or (self.qid and name in RANKING):
                raise ValueError(f"--keep is {name!r}, which is the name of a column of the output. Rename the column.")

    def predict(self, chunk: Any, *, nested: bool = False) -> pd.DataFrame:
        """Return the predictions of a chunk; the columns bought are a list of names if `nested`, else text."""
        rows = self.loaded.select_columns(chunk, self.place, allow_missing=self.allow_missing)
        rows, odd = self.loaded.without_unreadable(rows)
        self.odd.add(odd, self.n_rows)
        if self.strict:
            self.odd.refuse(self.place)
        qid = chunk[self.qid].to_numpy() if self.qid else None
        acquisition = self._acquire(rows, qid) if len(rows) else self._no_rows()
        self.n_rows += len(rows)
        self.total_spend += float(acquisition.spend.sum())
        self.largest_spend = max(self.largest_spend, float(acquisition.spend.max(initial=0.0)))
        kept = chunk[self.keep].reset_index(drop=True)
        return pd.concat([kept, self._tabulate(acquisition, qid, nested)], axis=1)

    def summary(self) -> str:
        """Return the number of rows and their spend, as a sentence."""
        return spend_summary(self.loaded, self.n_rows, self.total_spend, self.largest_spend)

    def _acquire(self, rows: Any, qid: Any) -> Acquisition:
        with rows_counted_by(lambda row: self.n_rows + row + 1, self.place):
            return self.loaded.acquire(rows, self.cap, qid, first=self.n_rows)

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
            columns |= dict(zip(RANKING, (qid, order.astype(int).to_numpy()), strict=True))
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


def spend_summary(loaded: LoadedModel, n_rows: int, total: float, largest: float) -> str:
    """Return the number of rows and their spend, as a sentence."""
    if not n_rows:
        return "There were no rows."
    return f"{plural(n_rows, 'row')}: {loaded.amount(total / n_rows)} on average, {loaded.amount(largest)} at most."


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
