"""Odd cells: values that a field cannot read, and levels that were not in the training rows."""

from typing import Any, NamedTuple

import numpy as np

from thrifty.models.session import Feature
from thrifty.models.tables.columns import as_texts, map_distinct
from thrifty.models.tables.fields import BOOLEAN, CATEGORY, DATE, NUMBER, Field

READ_AS_THEY_ARE = {NUMBER: "fiub", BOOLEAN: "b", DATE: "M"}  # kinds of dtype whose values need not be read one by one


class OddCells(NamedTuple):
    """The odd cells of a column.

    Attributes
    ----------
    field : int
        Position of the column.
    column : str or int
        Name of the column, or its position if it has no name.
    expected : {"number", "boolean", "date", "category"}
        What the cells are not: a number, a boolean or a date; or, for "category", a level of the training rows.
    rows : ndarray of int
        The rows with such cells, counted from 0.
    values : ndarray
        What is in these cells.
    """

    field: int
    column: Feature
    expected: str
    rows: np.ndarray
    values: np.ndarray

    @property
    def first(self) -> Any:
        """The value in the first of these rows."""
        value = self.values[0]
        return value.item() if isinstance(value, np.generic) else value


def odd_cells(field: Field, position: int, column: np.ndarray) -> OddCells | None:
    """Return the odd cells of a column; None if there are none.

    Parameters
    ----------
    field : Field
        How the column is read.
    position : int
        The position of the column.
    column : ndarray of shape (n,)

    Returns
    -------
    OddCells or None
    """
    if column.dtype.kind in READ_AS_THEY_ARE.get(field.kind, ""):
        odd = np.isinf(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)
    else:
        odd = map_distinct(as_texts(column) if field.kind == CATEGORY else column, field.is_odd)
    rows = np.flatnonzero(odd)
    return OddCells(position, field.name, field.kind, rows, column[rows]) if rows.size else None
