"""From raw columns of any kind to the columns of numbers that estimators read, with what those cost."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.derived import DerivedColumns
from thrifty.models.session import Feature
from thrifty.models.soundness import is_whole_numbers, require
from thrifty.models.tables.columns import (
    as_texts,
    by_distinct,
    column_names,
    columns_of,
    count_levels,
    is_frame,
    kind_of,
)
from thrifty.models.tables.fields import BOOLEAN, CATEGORY, DATE, EXPECTED, NUMBER, Field, days_since_1970

ROWS_AT_ONCE = 2**12
UNREADABLE = np.inf  # what no value is read as
PLAIN = {NUMBER: "fiub", BOOLEAN: "b", DATE: "M"}  # the arrays that are what the field expects, by kind of dtype


class Unreadable(NamedTuple):
    """The rows of a field whose values cannot be read, with those values."""

    field: int
    rows: np.ndarray
    values: np.ndarray


class ReadTable(NamedTuple):
    """The derived columns of a table, NaN where a value cannot be read, and the values that cannot."""

    derived: np.ndarray
    unreadable: list[Unreadable]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the derived columns."""
        return self.derived.shape


class Encoded(NamedTuple):
    """What stands for the values of a column: a number for each row, or the number of a line of numbers."""

    values: np.ndarray
    lines: np.ndarray | None = None

    def of(self, rows: slice) -> np.ndarray:
        """Return the derived columns of some rows."""
        return self.values[rows, None] if self.lines is None else self.lines[self.values[rows]]


class TableEncoder(DerivedColumns):
    """Reads tables of raw columns as arrays of numbers, several of them for a category.

    Numbers, booleans and dates (as days since 1970) are one derived column each; a category is one column of 0 and 1
    for each level. A missing value is NaN in all derived columns, unless it is a level of a category: that it is if
    the category had missing values when it was learned.

    Parameters
    ----------
    max_levels : int, default=20
        How many levels of a category have a column: the most frequent. Others are 0 in all of them.

    Attributes
    ----------
    fields_ : list of Field
        One for each raw column, in order.
    source_ : ndarray of int, shape (n_derived,)
        The raw column behind each derived one.

    Examples
    --------
    >>> import pandas as pd
    >>> from thrifty.models.tables.encoder import TableEncoder
    >>> table = pd.DataFrame({"age": [59, 61], "pain": ["typical", "none"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.labels
    ['age', 'pain=none', 'pain=typical']
    >>> encoder.transform(table)
    array([[59.,  0.,  1.],
           [61.,  1.,  0.]])
    """

    fields_: list[Field]
    source_: np.ndarray

    def __init__(self, max_levels: int = 20):
        self.max_levels = max_levels

    def fit(self, X: Any, sample_weight: Any = None, names: Any = None) -> Self:
        """Learn what the columns are.

        Parameters
        ----------
        X : frame, or array of shape (n, n_fields)
        sample_weight : array-like of shape (n,), optional
            How often each row counts when levels are counted.
        names : sequence, optional
            What the columns are called, in place of their names in the frame.
        """
        names = column_names(X) if names is None else list(names)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        self.fields_ = [self._learned(*each, weight) for each in zip(names, columns_of(X), strict=True)]
        self.source_ = np.repeat(np.arange(len(names)), [field.width for field in self.fields_])
        for looked_up in ("field_of", "place_of"):  # in what was learned before
            vars(self).pop(looked_up, None)
        return self

    def _learned(self, name: Feature, column: np.ndarray, weight: np.ndarray) -> Field:
        if (kind := kind_of(column, name)) != CATEGORY:
            return Field(name, kind)
        mass, missing = count_levels(column, weight)
        seen = sorted((level for level in mass if mass[level] > 0), key=lambda level: (-mass[level], level))
        return Field(name, kind, tuple(sorted(seen[: self.max_levels])), missing > 0)

    def refuse_unsound(self, names: list[Feature]) -> None:
        """Raise ValueError unless what was learned is consistent, and of columns of these names."""
        require([field.name for field in self.fields_] == names, "its encoder reads columns of other names")
        for field in self.fields_:
            require(isinstance(field, Field) and field.kind in EXPECTED, "its encoder has a field of an unknown kind")
            texts = isinstance(field.levels, tuple) and all(isinstance(level, str) for level in field.levels)
            proper = texts and list(field.levels) == sorted(field.levels) and isinstance(field.missing_level, bool)
            proper = proper and (field.kind == CATEGORY or not field.levels)
            require(proper, f"the levels of its field {field.name!r} are not sorted texts")
        source = np.repeat(np.arange(len(self.fields_)), [field.width for field in self.fields_])
        same = is_whole_numbers(self.source_, len(source)) and (self.source_ == source).all()
        require(same, "its encoder derives other columns")

    # What is derived

    @property
    def starts(self) -> np.ndarray:
        """Where the derived columns of each field begin."""
        return np.searchsorted(self.source_, np.arange(len(self.fields_)))

    @property
    def one_to_one(self) -> bool:
        """Whether every raw column is one derived column, of the same name."""
        return all(field.kind != CATEGORY for field in self.fields_)

    @property
    def labels(self) -> list[str]:
        """The names of the derived columns; they are distinct."""
        taken: dict[str, None] = {}
        for label in (label for field in self.fields_ for label in field.labels):
            while label in taken:
                label += "'"
            taken[label] = None
        return list(taken)

    @cached_property
    def field_of(self) -> dict[Feature, int]:
        """The field of each name."""
        return {field.name: j for j, field in enumerate(self.fields_)}

    @cached_property
    def place_of(self) -> dict[Feature, tuple[int, int]]:
        """The field of each derived column, and which of its columns it is, by label and by position."""
        places = [(j, k) for j, field in enumerate(self.fields_) for k in range(field.width)]
        return {**dict(zip(self.labels, places, strict=True)), **dict(enumerate(places))}

    def __getstate__(self) -> dict[str, Any]:
        learned = ("max_levels", "fields_", "source_")  # and nothing that was worked out from it
        return {name: value for name, value in vars(self).items() if name in learned}

    def derived_costs(self, raw: CostModel) -> CostModel:
        """Return what derived columns cost: all columns of a field require that field's units."""
        if self.one_to_one:
            return raw
        return raw.derive(self.source_[:, None] == np.arange(len(self.fields_)), 0.0, self.labels)

    def raw_mask(self, derived: np.ndarray) -> np.ndarray:
        """Return the raw columns (n, n_fields) behind marked derived ones (n, n_derived)."""
        return derived if self.one_to_one else np.logical_or.reduceat(derived, self.starts, axis=1)

    # Values

    def sources(self, derived: Sequence[Feature]) -> list[int]:
        """Return the fields of some derived columns, given by label or by position."""
        return list(dict.fromkeys(self.place_of[each][0] for each in derived))

    def values(self, derived: Sequence[Feature], held: dict[int, Any]) -> list[float]:
        """Return the values of some derived columns, given what `read` returned for each field."""
        return [held[field][k] for field, k in map(self.place_of.__getitem__, derived)]

    def read(self, source: int, value: Any) -> list[float]:
        """Return the derived values of one raw value; raise ValueError if it cannot be read."""
        return self.fields_[source].encode(value)

    def expected(self, source: int) -> str:
        """Return what values of a field have to be."""
        return EXPECTED[self.fields_[source].kind]

    def transform(self, X: Any) -> np.ndarray:
        """Return the derived columns of a table; a value that cannot be read is refused.

        Parameters
        ----------
        X : frame, or array of shape (n, n_fields)

        Returns
        -------
        ndarray of shape (n, n_derived)
        """
        derived, unreadable = self.read_table(X)
        for field, rows, values in unreadable:
            raise self.refusal(field, int(rows[0]), values[0], "holds")
        return derived

    def read_table(self, X: Any) -> "ReadTable":
        """Return the derived columns of a table, NaN where a value cannot be read, and where that is."""
        if self._is_plain(X):
            return ReadTable(X if X.dtype.kind == "f" and X.dtype.itemsize >= 4 else X.astype(float), [])
        encoded, unreadable = [], []
        for j, (field, column) in enumerate(zip(self.fields_, columns_of(X), strict=True)):
            if field.kind == CATEGORY:
                encoded.append(Encoded(by_distinct(as_texts(column), field.line_of), field.lines()))
                continue
            numbers, rows = _numbers(field, column)
            encoded.append(Encoded(numbers))
            if rows.size:
                unreadable.append(Unreadable(j, rows, column[rows]))
        return ReadTable(self._assembled(encoded, len(X)), unreadable)

    def _assembled(self, encoded: list[Encoded], n_rows: int) -> np.ndarray:
        """Return the columns side by side; written a few rows at a time, for whole columns would miss the cache."""
        derived = np.empty((n_rows, len(self.source_)))
        ends = [*self.starts, len(self.source_)]
        for first in range(0, n_rows, ROWS_AT_ONCE):
            rows = slice(first, first + ROWS_AT_ONCE)
            for column, start, stop in zip(encoded, ends[:-1], ends[1:], strict=True):
                derived[rows, start:stop] = column.of(rows)
        return derived

    def _is_plain(self, X: Any) -> bool:
        return not is_frame(X) and X.dtype.kind in "fiub" and all(field.kind == NUMBER for field in self.fields_)

    def refusal(self, field: int, row: int, value: Any, verb: str) -> ValueError:
        """Return the error that says which value cannot be read."""
        name, kind = self.fields_[field].name, self.fields_[field].kind
        value = value.item() if isinstance(value, np.generic) else value
        return ValueError(
            f"TableModel: row {row} {verb} {name!r}, which is {value!r}; expected {EXPECTED[kind]}, or nothing where "
            "it could not be had."
        )


def _numbers(field: Field, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that stand for the values of a column, and the rows where there are none."""
    if column.dtype.kind in PLAIN[field.kind]:
        return (days_since_1970(column) if field.kind == DATE else column), np.arange(0)

    def number_of(value: Any) -> float:
        try:
            return field.read(value)
        except ValueError:
            return UNREADABLE

    numbers = by_distinct(column, number_of)
    rows = np.flatnonzero(np.isinf(numbers))
    numbers[rows] = np.nan
    return numbers, rows
