"""Fields: what a raw column is, and which numbers stand for one of its values.

A batch and a session read values through the same functions, so that they cannot disagree.
"""

import math
import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from thrifty.models.session import Feature

NUMBER, BOOLEAN, DATE, CATEGORY = "number", "boolean", "date", "category"
EXPECTED = {NUMBER: "a finite number", BOOLEAN: "true or false", DATE: "a date such as 2024-01-31", CATEGORY: "text"}
TRUTHS = {"true": 1.0, "yes": 1.0, "t": 1.0, "y": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "f": 0.0, "n": 0.0, "0": 0.0}
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
MICROSECONDS_A_DAY = 86_400_000_000


@dataclass(frozen=True)
class Field:
    """A raw column: its name, its kind, and the levels that have a column of their own if it is a category.

    A number, boolean or date is one number; a category is one 0 or 1 for each level.

    Parameters
    ----------
    name : str or int
        The column's name, or its position if it has none.
    kind : {"number", "boolean", "date", "category"}
    levels : tuple of str
        The levels of a category, in order; others are zero in all columns.
    missing_level : bool
        Whether the missing values of a category are a level too, the last. If not, they are NaN in all columns.

    Examples
    --------
    >>> from thrifty.models.tables.fields import Field
    >>> Field("pain", "category", ("atypical", "typical")).encode("typical")
    [0.0, 1.0]
    >>> Field("visit", "date").encode("1970-01-11")
    [10.0]
    """

    name: Feature
    kind: str
    levels: tuple[str, ...] = ()
    missing_level: bool = False

    @property
    def width(self) -> int:
        """How many numbers stand for a value."""
        return len(self.levels) + self.missing_level if self.kind == CATEGORY else 1

    @property
    def labels(self) -> list[str]:
        """What those numbers are called."""
        name = f"x{self.name}" if isinstance(self.name, int) else str(self.name)
        if self.kind != CATEGORY:
            return [name]
        return [f"{name}={level}" for level in self.levels] + [f"{name} missing"] * self.missing_level

    def encode(self, value: Any) -> list[float]:
        """Return the numbers that stand for a value; ValueError if it cannot be read."""
        if self.kind == CATEGORY:
            return self.lines()[self.line_of(value)].tolist()
        return [self.read(value)]

    def read(self, value: Any) -> float:
        """Return the number that stands for a value of anything but a category; ValueError if it cannot be read."""
        if is_missing(value):
            return math.nan
        number = READERS[self.kind](value)
        if math.isinf(number):
            raise ValueError(f"{value!r} is infinite")
        return number

    def line_of(self, value: Any) -> int:
        """Return the line of `lines` that stands for the value of a category."""
        n_levels = len(self.levels)
        if is_missing(value):
            return n_levels
        text = text_of(value)
        line = bisect_left(self.levels, text)
        return line if line < n_levels and self.levels[line] == text else n_levels + 1

    def lines(self) -> np.ndarray:
        """Return what stands for each level of a category, for a missing value, and for a level without a column."""
        lines = np.eye(len(self.levels) + 2, self.width)
        lines[-1] = 0.0
        if not self.missing_level:
            lines[-2] = np.nan
        return lines


def is_missing(value: Any) -> bool:
    """Tell whether a value is what frames put where there is none: None, NaN, NaT or NA."""
    if value is None or isinstance(value, str | int):
        return value is None
    return value != value if isinstance(value, float) else pd.api.types.is_scalar(value) and bool(pd.isna(value))


def text_of(value: Any) -> str:
    """Return the text of a level; 3 and 3.0 are the same, for a column of whole numbers with gaps is one of floats."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer():
        return str(int(value))  # type: ignore[call-overload]
    return str(value)


def is_iso_date(text: str) -> bool:
    """Tell whether text is a date, or a date and time, as ISO 8601 writes it."""
    if not ISO_DATE.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def days_since_1970(dates: np.ndarray) -> np.ndarray:
    """Return dates and times as days, NaN for NaT."""
    microseconds = dates.astype("datetime64[us]")
    days = microseconds.astype(np.int64) / MICROSECONDS_A_DAY
    days[np.isnat(microseconds)] = np.nan
    return days


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{value!r} is no number") from error


def _truth(value: Any) -> float:
    known = TRUTHS.get(value.strip().lower()) if isinstance(value, str) else _number(value)
    if known not in (0.0, 1.0):
        raise ValueError(f"{value!r} is neither true nor false")
    return known


def _days(value: Any) -> float:
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if not isinstance(value, date | np.datetime64):
        raise ValueError(f"{value!r} is no date")
    return float(days_since_1970(np.array([value], dtype="datetime64[us]"))[0])


READERS = {NUMBER: _number, BOOLEAN: _truth, DATE: _days}
