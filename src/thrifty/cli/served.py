"""A fitted model as the commands see it: names and kinds of its raw columns, prices, answers as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from thrifty.cli.amounts import amount
from thrifty.cli.tables.training import listed
from thrifty.models.acquisition import Acquisition
from thrifty.models.base import BudgetedEstimator
from thrifty.models.session import Feature
from thrifty.models.tables.fields import NUMBER, Field
from thrifty.models.tables.table_model import TableModel
from thrifty.persistence import Manifest, load, read_manifest

WORD = 64  # bits


@dataclass(frozen=True)
class Served:
    """A model with the manifest of its file."""

    model: BudgetedEstimator
    manifest: Manifest

    @classmethod
    def open(cls, path: Path) -> "Served":
        """Load a model file."""
        return cls(load(path), read_manifest(path))

    @cached_property
    def method(self) -> Any:
        """The estimator that decides, without the table around it."""
        return self.model.estimator_ if isinstance(self.model, TableModel) else self.model

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The raw columns by name; those of a model that was fitted without names are called x0, x1, ..."""
        if isinstance(self.model, TableModel):
            return {str(field.name): field for field in self.model.encoder_.fields_}
        return {name: Field(name, NUMBER) for name in map(self.name_of, self.ids)}

    @property
    def names(self) -> list[str]:
        """The names of the raw columns."""
        return list(self.fields)

    @cached_property
    def ids(self) -> Sequence[Feature]:
        """What sessions call the columns."""
        return self.model._feature_ids()

    @staticmethod
    def name_of(feature: Feature) -> str:
        """Return what people call a column."""
        return f"x{feature}" if isinstance(feature, int) else feature

    @property
    def costs(self) -> Any:
        """The prices of the raw columns."""
        return self.model.cost_model_

    def amount(self, value: float) -> str:
        """Write an amount in the unit of the prices."""
        return amount(value, self.costs.unit)

    @cached_property
    def classes(self) -> list[Any] | None:
        """The classes, of a classifier."""
        return self.model.classes_.tolist() if is_classifier(self.model) else None

    @property
    def text_columns(self) -> list[str]:
        """The columns whose cells must not be taken for numbers."""
        return [name for name, field in self.fields.items() if field.kind != NUMBER]

    # Rows

    def columns_of(self, frame: Any, place: str, *, allow_missing: bool = False) -> Any:
        """Return the model's columns of a table, in its order; with `allow_missing` those not there are unavailable."""
        missing = [name for name in self.names if name not in frame.columns]
        if len(missing) == len(self.names):
            raise ValueError(
                f"{place}: none of the model's columns is there, only {listed(list(frame.columns))}. The first line "
                "must name the columns, split by comma, semicolon, tab or bar."
            )
        if missing and not allow_missing:
            raise ValueError(
                f"{place}: there is no {listed(missing)}, which the model may ask for. Add what is missing, or pass "
                "--allow-missing to have it treated as unavailable."
            )
        return frame.assign(**{name: pd.Series(None, frame.index, dtype=object) for name in missing})[self.names]

    def acquire(self, rows: Any, cap: float | None = None, qid: Any = None) -> Acquisition:
        """Answer rows that `columns_of` made."""
        X = rows if isinstance(self.model, TableModel) or hasattr(self.model, "feature_names_in_") else rows.to_numpy()
        return self.model.acquire(X, cap, qid=qid)

    # Answers

    def probabilities(self, score: Any) -> np.ndarray:
        """Return the class probabilities (n, n_classes) behind the scores of a classifier."""
        return self.method._probabilities(np.asarray(score))

    def sets_bought(self, acquired: np.ndarray) -> tuple[np.ndarray, list[list[str]]]:
        """Return for each row the position of the set it bought, and the sets by name."""
        codes = distinct_rows(acquired)
        firsts = np.unique(codes, return_index=True)[1]
        return codes, [[self.names[j] for j in np.flatnonzero(acquired[row])] for row in firsts]


def distinct_rows(marks: np.ndarray) -> np.ndarray:
    """Number the distinct rows of a boolean matrix in the order they come.

    >>> distinct_rows(np.array([[True, False], [False, False], [True, False]]))
    array([0, 1, 0])
    """
    padded = np.pad(marks, ((0, 0), (0, -marks.shape[1] % WORD)))
    words = np.packbits(padded, axis=1).view(np.uint64)
    codes = np.zeros(len(marks), dtype=np.int64)
    for word in words.T:
        also = pd.factorize(word)[0]
        codes = pd.factorize(codes * (also.max(initial=0) + 1) + also)[0]
    return codes
