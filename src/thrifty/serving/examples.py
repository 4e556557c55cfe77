"""Complete rows from a table: cases for the page, and the ranges of numbers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thrifty.models.tables.fields import BOOLEAN, CATEGORY, DATE, NUMBER, Field, is_missing
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
            reason = one_line(error)
            raise ValueError(f"--examples {path}: the table cannot be read ({reason}). Pass a CSV file.") from error
        if missing := [name for name in fields if name not in table]:
            raise ValueError(f"--examples {path}: the table has no column {missing[0]!r}. Add the model's columns.")
        return cls(fields, table[list(fields)])

    def cases(self) -> list[dict[str, Any]]:
        """Return the first rows, with names."""
        rows = self._table.head(MAX_CASES).to_dict("records")
        cases = [{name: self._shown(name, value) for name, value in row.items()} for row in rows]
        return [{"name": f"case {number}", "values": values} for number, values in enumerate(cases, start=1)]

    def _shown(self, name: str, value: Any) -> Any:
        """Return a value in the types of JSON; None if it is missing or cannot be read."""
        field = self._fields[name]
        if is_missing(value) or (field.kind != CATEGORY and field.is_odd(value)):
            return None
        return bool(field.read(value)) if field.kind == BOOLEAN else plain(value)

    def range_of(self, name: str) -> list[float] | None:
        """Return the smallest and the largest value of a number; None if there are none."""
        if self._fields[name].kind != NUMBER:
            return None
        values = pd.to_numeric(self._table[name], errors="coerce").to_numpy(float)
        known = values[np.isfinite(values)]
        return [float(known.min()), float(known.max())] if known.size else None

    def example_of(self, name: str) -> Any:
        """Return a value of a column from the table; None if there is none."""
        return next((value for each in self._table[name] if (value := self._shown(name, each)) is not None), None)

    def valid_value(self, name: str) -> Any:
        """Return a value that the model accepts, from the table or invented."""
        known, field = self.example_of(name), self._fields[name]
        if known is not None:
            return known
        return (field.levels or ("other",))[0] if field.kind == CATEGORY else INVENTED[field.kind]

    def valid_row(self) -> dict[str, Any]:
        """Return a row that the model accepts."""
        return {name: self.valid_value(name) for name in self._fields}
