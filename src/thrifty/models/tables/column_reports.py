"""What each raw column is taken for, and which of its cells are odd.

The type of a column decides its kind. A column of objects is a boolean, a number or a date if all its values are. Text
is a date if all values are dates. Anything else is a category, with one exception: if at least 95% of the values are
numbers (or dates), but not all, then the column is taken as numbers (or dates), and the other values as missing. Text
that is all numbers stays a category, because someone chose to write postal codes, for example, as text.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from thrifty.costs.errors import format_value
from thrifty.models.session import Feature
from thrifty.models.tables.columns import BOOLEAN_TYPES, DATE_TYPES, NUMBER_TYPES, kind_of, map_distinct
from thrifty.models.tables.fields import CATEGORY, DATE, EXPECTED, NUMBER, NUMBER_TEXT, Field, is_iso_date
from thrifty.models.tables.odd_cells import OddCells, odd_cells

MIN_SHARE_TAKEN = 0.95  # of values that are numbers, from which on a column is taken as numbers
MIN_SHARE_REPORTED = 0.5  # of values that are numbers, from which on the others are reported
LEADING_ZERO = re.compile(r"[-+]?0\d")  # as in codes, not in numbers
MAX_WARNED = 10  # columns
PLURALS = {NUMBER: "numbers", DATE: "dates"}


@dataclass(frozen=True)
class ColumnReport:
    """What a raw column is taken for.

    Attributes
    ----------
    column : str or int
        Name of the column, or its position if it has no name.
    kind : {"number", "boolean", "date", "category"}
        What it is taken for.
    told : bool
        Whether the user said so.
    n_values, n_missing : int
        The number of cells with a value, and without one.
    n_levels : int
        The number of levels of a category, 0 for other kinds.
    odd : OddCells or None
        The cells that are unlike the others. If `kind` is not "category", they are treated as missing.
    """

    column: Feature
    kind: str
    told: bool
    n_values: int
    n_missing: int
    n_levels: int = 0
    odd: OddCells | None = None


def report_column(name: Feature, position: int, column: np.ndarray, told: str | None, declared: bool) -> ColumnReport:
    """Decide what a column is taken for.

    Parameters
    ----------
    name : str or int
    position : int
    column : ndarray of shape (n,)
    told : str or None
        The kind that the user gave.
    declared : bool
        Whether the column has a type of its own for categories.

    Returns
    -------
    ColumnReport
    """
    found = kind_of(column, name)
    _refuse_infinities(name, column)
    if told == CATEGORY and found == DATE and column.dtype.kind == "M":
        raise ValueError(f"TableModel: kinds says that {name!r} is a category, but it holds dates. Convert it to text.")
    n_missing = int(pd.isna(column).sum())
    n_values, kind, odd = len(column) - n_missing, told or found, None
    if told not in (None, CATEGORY):
        odd = odd_cells(Field(name, kind), position, column)
    elif kind == CATEGORY and told is None and not declared:
        odd = _unlike_most(name, position, column, n_values)
        if odd and len(odd.rows) <= (1 - MIN_SHARE_TAKEN) * n_values:
            kind = odd.expected
    return ColumnReport(name, kind, told is not None, n_values, n_missing, odd=odd)


def _refuse_infinities(name: Feature, column: np.ndarray) -> None:
    rows = np.flatnonzero(np.isinf(column)) if column.dtype.kind == "f" else np.arange(0)
    for row in rows[:1]:
        raise ValueError(
            f"TableModel: row {row} holds {name!r}, which is {column[row]}; expected a finite number, or NaN if it is "
            "unavailable."
        )


def _unlike_most(name: Feature, position: int, column: np.ndarray, n_values: int) -> OddCells | None:
    """Return the values that are not numbers (or dates), if most are and some are not."""
    for kind, looks in ((NUMBER, _looks_like_number), (DATE, _looks_like_date)):
        rows = np.flatnonzero(~map_distinct(column, looks))
        if 0 < rows.size <= (1 - MIN_SHARE_REPORTED) * n_values:
            return OddCells(position, name, kind, rows, column[rows])
    return None


def _looks_like_number(value: Any) -> bool:
    if isinstance(value, str):
        return bool(NUMBER_TEXT.fullmatch(value.strip())) and not LEADING_ZERO.match(value.strip())
    return value is None or (isinstance(value, NUMBER_TYPES) and not isinstance(value, BOOLEAN_TYPES))


def _looks_like_date(value: Any) -> bool:
    return is_iso_date(value) if isinstance(value, str) else value is None or isinstance(value, DATE_TYPES)


# What users are told


def refuse_unusable(owner: str, reports: Sequence[ColumnReport]) -> None:
    """Raise ValueError if no value of a column is of the kind that the user gave."""
    for each in reports:
        if each.told and each.odd and len(each.odd.rows) == each.n_values:
            raise ValueError(
                f"{owner}: kinds says that {each.column!r} is a {each.kind}, but none of its values is "
                f"{EXPECTED[each.kind]}; row {each.odd.rows[0]} holds {each.odd.first!r}. Give another kind."
            )


def warn_of_mixed(owner: str, reports: Sequence[ColumnReport], *, stacklevel: int) -> None:
    """Warn of columns in which most values are numbers (or dates) and some are not, if the user did not give a kind."""
    mixed = [each for each in reports if each.odd and not each.told]
    messages = [describe_mixed(each) for each in mixed[:MAX_WARNED]]
    if len(mixed) > MAX_WARNED:
        messages.append(f"{len(mixed) - MAX_WARNED} more columns have values of several kinds. Pass their kinds.")
    for message in messages:
        warnings.warn(f"{owner}: {message}", UserWarning, stacklevel=stacklevel + 1)


def describe_mixed(report: ColumnReport) -> str:
    """Return what a column with odd cells is taken for, and how to give it another kind."""
    odd, name = report.odd, format_value(report.column)
    assert odd is not None
    like = f"{report.n_values - len(odd.rows)} of {report.n_values} values of {name} are {PLURALS[odd.expected]}"
    unlike = f"not {format_value(odd.first)} in row {odd.rows[0]}"
    taken = "a category" if report.kind == CATEGORY else f"a {report.kind}, with the other values as missing"
    confirm, other = report.kind, odd.expected if report.kind == CATEGORY else CATEGORY
    return (
        f"{like}, but {unlike}. The column is taken as {taken}. Pass kinds={{{name}: {confirm!r}}} to confirm "
        f"this, or kinds={{{name}: {other!r}}}."
    )
