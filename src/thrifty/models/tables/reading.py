"""Reading a table: the derived columns of its raw columns, and the values that cannot be read."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thrifty.models.tables.columns import as_texts, map_distinct
from thrifty.models.tables.fields import CATEGORY, DATE, Field, days_since_1970
from thrifty.models.tables.odd_cells import READ_AS_THEY_ARE, OddCells

ROWS_PER_BLOCK = 2**12
UNREADABLE = np.inf  # marks values that cannot be read; no value is read as infinity


class ReadTable(NamedTuple):
    """The derived columns of a table.

    Attributes
    ----------
    derived : ndarray of shape (n, n_derived)
        NaN where a value is missing or cannot be read.
    unreadable : list of OddCells
        The values that cannot be read, by field.
    """

    derived: np.ndarray
    unreadable: list[OddCells]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the derived columns."""
        return self.derived.shape


class EncodedColumn(NamedTuple):
    """The derived values of one raw column.

    Attributes
    ----------
    values : ndarray of shape (n,)
        A number per row, or a row of `level_table` if the column is a category.
    level_table : ndarray of shape (n_levels + 2, width) or None
        The derived values of each level.
    """

    values: np.ndarray
    level_table: np.ndarray | None = None

    def of(self, rows: slice) -> np.ndarray:
        """Return the derived columns of some rows."""
        return self.values[rows, None] if self.level_table is None else self.level_table[self.values[rows]]


def read_columns(fields: Sequence[Field], columns: Iterable[np.ndarray], n_rows: int) -> ReadTable:
    """Read the raw columns of some fields; what cannot be read becomes NaN and is listed."""
    encoded, unreadable = [], []
    for j, (field, column) in enumerate(zip(fields, columns, strict=True)):
        if field.kind == CATEGORY:
            rows_of_levels = map_distinct(as_texts(column), field.level_row)
            encoded.append(EncodedColumn(rows_of_levels, field.level_table()))
            continue
        numbers, rows = _read_numbers(field, column)
        encoded.append(EncodedColumn(numbers))
        if rows.size:
            unreadable.append(OddCells(j, field.name, field.kind, rows, column[rows]))
    return ReadTable(_side_by_side(encoded, [field.width for field in fields], n_rows), unreadable)


def _side_by_side(encoded: Sequence[EncodedColumn], widths: Sequence[int], n_rows: int) -> np.ndarray:
    """Return all derived columns as one array, written in blocks of rows that stay in the processor's cache."""
    ends = np.cumsum([0, *widths]).tolist()
    derived = np.empty((n_rows, ends[-1]))
    for first in range(0, n_rows, ROWS_PER_BLOCK):
        rows = slice(first, first + ROWS_PER_BLOCK)
        for column, start, stop in zip(encoded, ends[:-1], ends[1:], strict=True):
            derived[rows, start:stop] = column.of(rows)
    return derived


def _read_numbers(field: Field, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a column as numbers, and the rows whose values cannot be read."""
    if column.dtype.kind in READ_AS_THEY_ARE[field.kind]:
        return (days_since_1970(column) if field.kind == DATE else column), np.arange(0)

    def read(value: Any) -> float:
        try:
            return field.read(value)
        except ValueError:
            return UNREADABLE

    numbers = map_distinct(column, read)
    rows = np.flatnonzero(np.isinf(numbers))
    numbers[rows] = np.nan
    return numbers, rows
