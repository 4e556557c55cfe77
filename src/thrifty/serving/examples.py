"""Complete rows from a table: cases for the page, and the ranges of numbers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thrifty.models.tables.fields import BOOLEAN, CATEGORY, DATE, NUMBER, Field
from thrifty.persistence.errors import one_line
from thrifty.runtime.trace import plain

MAX_CASES, MAX_ROWS = 8, 10_000
INVENTED = {NUMBER: 1.0, BOOLEAN: True, DATE: "2024-01-31"}


class Examples:
    """Rows that show what values look like.

    Parameters
    ----------
    fields : dict
        The columns of the model.
    table : DataFrame, optional
        Some rows; without it there are no cases and no ranges.
    """

    def __init__(self, fields: Mapping[str, Field], table: pd.DataFrame | None = None):
        self._fields = fields
        self._table = pd.DataFrame(columns=list(fields)) if table is None else table

    @classmethod
    def read(cls, fields: Mapping[str, Field], path: str) -> "Examples":
        """Read rows from a CSV file, which must have the columns of the model."""
        texts = {name: str for name, field in fields.items() if field.kind != NUMBER}
        try:
            table = pd.read_csv(Path(path), dtype=texts, nrows=MAX_ROWS)
        except (OSError, ValueError) as error:
            raise ValueError(f"--examples {path}: the table cannot be read ({one_line(error)}).") from error
        if missing := [name for name in fields if name not in table]:
            raise ValueError(f"--examples {path}: the table has no column {missing[0]!r}. Add the model's columns.")
        return cls(fields, table[list(fields)])

    def cases(self) -> list[dict[str, Any]]:
        """Return the first rows, with names."""
        rows = self._table.head(MAX_CASES).to_dict("records")
        return [{"name": f"case {number}", "values": plain(row)} for number, row in enumerate(rows, start=1)]

    def range_of(self, name: str) -> list[float] | None:
        """Return the smallest and the largest value of a number; None if there are none."""
        if self._fields[name].kind != NUMBER:
            return None
        values = pd.to_numeric(self._table[name], errors="coerce").to_numpy(float)
        known = values[np.isfinite(values)]
        return [float(known.min()), float(known.max())] if known.size else None

    def example_of(self, name: str) -> Any:
        """Return a value of a column from the table; None if there is none."""
        known = self._table[name].dropna()
        return plain(known.iloc[:1].tolist())[0] if len(known) else None

    def valid_value(self, name: str) -> Any:
        """Return a value that the model accepts, from the table or invented."""
        known, field = self.example_of(name), self._fields[name]
        if known is not None:
            return known
        return (field.levels or ("other",))[0] if field.kind == CATEGORY else INVENTED[field.kind]

    def valid_row(self) -> dict[str, Any]:
        """Return a row that the model accepts."""
        return {name: self.valid_value(name) for name in self._fields}
