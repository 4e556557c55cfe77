"""A model file as the commands use it: its columns with names and kinds, its prices, and its predictions."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from thrifty.cli.tables.table_file import quoted
from thrifty.costs.amounts import amount
from thrifty.models.acquisition import Acquisition
from thrifty.models.base import BudgetedEstimator
from thrifty.models.row_positions import drawn_position
from thrifty.models.session import Feature
from thrifty.models.tables.columns import columns_of
from thrifty.models.tables.fields import CATEGORY, NUMBER, Field
from thrifty.models.tables.odd_cells import OddCells, odd_cells
from thrifty.models.tables.raw_columns import fields_of
from thrifty.persistence import Manifest, load_with_manifest

BITS_PER_WORD = 64


@dataclass(frozen=True)
class LoadedModel:
    """A fitted model, and the manifest of its file if it comes from one."""

    model: BudgetedEstimator
    manifest: Manifest | None = None

    @classmethod
    def open(cls, path: Path, key: bytes | None = None) -> "LoadedModel":
        """Load a model file; with a key, it must be signed with this key."""
        return cls(*load_with_manifest(path, key=key))

    def for_row(self, position: int | None = None) -> "LoadedModel":
        """Return the model for a single row, such as that of a table at a position; by default one at random."""
        return replace(self, model=self.model.for_positions([drawn_position() if position is None else position]))

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The raw columns by name. Columns of a model that was fitted without names are called x0, x1, ..."""
        return fields_of(self.model)

    @cached_property
    def names(self) -> list[str]:
        """The names of the raw columns."""
        return list(self.fields)

    @cached_property
    def positions(self) -> dict[Feature, int]:
        """The position of each raw column, by what sessions call it."""
        return {feature: j for j, feature in enumerate(self.model._feature_ids())}

    @cached_property
    def classes(self) -> list[Any] | None:
        """The classes of a classifier; None for other models."""
        return self.model.classes_.tolist() if is_classifier(self.model) else None

    @property
    def text_columns(self) -> list[str]:
        """The columns that must be read as text."""
        return [name for name, field in self.fields.items() if field.kind != NUMBER]

    def amount(self, value: float) -> str:
        """Write an amount in the unit of the costs."""
        return amount(value, self.model.cost_model_.unit)

    # Rows

    def select_columns(self, frame: Any, place: str, *, allow_missing: bool | None = None) -> Any:
        """Return the columns of the model from a table, in its order.

        With `allow_missing` some may be absent. It is None if the command has no such option.
        """
        missing = [name for name in self.names if name not in frame.columns]
        if len(missing) == len(self.names):
            raise ValueError(
                f"{place}: the table has none of the model's columns; it has {quoted(list(frame.columns))}. The "
                "first line must name the columns, separated by comma, semicolon, tab or bar."
            )
        if missing and not allow_missing:
            otherwise = "" if allow_missing is None else ", or pass --allow-missing to treat them as unavailable"
            raise ValueError(
                f"{place}: the table lacks {quoted(missing)}, which the model may ask for. Add the missing columns"
                f"{otherwise}."
            )
        return frame.assign(**{name: pd.Series(None, frame.index, dtype=object) for name in missing})[self.names]

    def without_unreadable(self, rows: Any) -> tuple[Any, list[OddCells]]:
        """Return rows from `select_columns` with cells that cannot be read as missing, and all odd cells."""
        columns = zip(self.fields.items(), columns_of(rows), strict=True)
        found = [(name, odd_cells(field, j, column)) for j, ((name, field), column) in enumerate(columns)]
        odd = [each._replace(column=name) for name, each in found if each is not None]
        for each in odd:
            if each.expected != CATEGORY:
                unreadable = np.isin(np.arange(len(rows)), each.rows)
                rows = rows.assign(**{str(each.column): rows.iloc[:, each.field].mask(unreadable)})
        return rows, odd

    def acquire(self, rows: Any, cap: float | None = None, qid: Any = None, *, first: int | None = None) -> Acquisition:
        """Acquire what rows from `select_columns` need, and predict them; `first` is the position of the first one."""
        model = self.model if first is None else self.model.for_positions(first + np.arange(len(rows)))
        return model.acquire(self.as_given(rows), cap, qid=qid)

    def as_given(self, rows: Any) -> Any:
        """Return rows from `select_columns` as the model was fitted: with names or without."""
        return rows if hasattr(self.model, "feature_names_in_") else rows.to_numpy()

    def probabilities(self, score: Any) -> np.ndarray:
        """Return the class probabilities (n, n_classes) for the scores of a classifier."""
        return self.model._probabilities(np.asarray(score))

    def sets_bought(self, acquired: np.ndarray) -> tuple[np.ndarray, list[list[str]]]:
        """Return for each row the index of the set of columns that it bought, and the sets by name."""
        codes = number_distinct_rows(acquired)
        first_rows = np.unique(codes, return_index=True)[1]
        return codes, [[self.names[j] for j in np.flatnonzero(acquired[row])] for row in first_rows]


def number_distinct_rows(marks: np.ndarray) -> np.ndarray:
    """Number the distinct rows of a boolean matrix, in the order of their first occurrence.

    >>> number_distinct_rows(np.array([[True, False], [False, False], [True, False]]))
    array([0, 1, 0])
    >>> number_distinct_rows(np.asfortranarray([[True, False], [False, True]]))
    array([0, 1])
    """
    padded = np.pad(np.ascontiguousarray(marks), ((0, 0), (0, -marks.shape[1] % BITS_PER_WORD)))
    words = np.packbits(padded, axis=1).view(np.uint64)
    codes = np.zeros(len(marks), dtype=np.int64)
    for word in words.T:
        word_codes = pd.factorize(word)[0]
        codes = pd.factorize(codes * (word_codes.max(initial=0) + 1) + word_codes)[0]
    return codes
