"""Fields: the kind of a raw column, and the numbers that stand for its values.

Batch prediction and sessions read values with the same functions, so that they always agree.
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
from thrifty.stored import FeatureId, Flag, OrNone, Text, TupleOf, stored

NUMBER, BOOLEAN, DATE, CATEGORY = "number", "boolean", "date", "category"
EXPECTED = {NUMBER: "a finite number", BOOLEAN: "true or false", DATE: "a date such as 2024-01-31", CATEGORY: "text"}
TRUE_WORDS, FALSE_WORDS = ("true", "yes", "t", "y", "1"), ("false", "no", "f", "n", "0")
BOOLEAN_WORDS = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
NUMBER_TEXT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
MICROSECONDS_PER_DAY = 86_400_000_000
MAX_LEVELS = 4096  # of a category in a model file; the table of its derived values has as many rows and columns


@stored(
    name=FeatureId(),
    kind=Text(*EXPECTED),
    levels=TupleOf(Text(), high=MAX_LEVELS),
    missing_level=Flag(),
    rare_levels=OrNone(TupleOf(Text())),
    tolerant=Flag(),
)
@dataclass(frozen=True)
class Field:
    """A raw column: its name, its kind, and its levels if it is a category.

    One number stands for a value of a number, a boolean or a date. For a value of a category there is one number per
    level, which is 0 or 1.

    Parameters
    ----------
    name : str or int
        Name of the column, or its position if it has no name.
    kind : {"number", "boolean", "date", "category"}
    levels : tuple of str, default=()
        The levels of a category that have a derived column, sorted. For any other level all derived columns are 0.
    missing_level : bool, default=False
        Whether missing values of a category have a derived column too, which is the last one. If not, all derived
        columns are NaN for a missing value.
    rare_levels : tuple of str or None, default=None
        The other levels of a category in the training rows, sorted; None if they are not known.
    tolerant : bool, default=False
        Whether a value that cannot be read as a number, a boolean or a date is treated as missing.

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
    rare_levels: tuple[str, ...] | None = None
    tolerant: bool = False

    @property
    def width(self) -> int:
        """Number of derived columns."""
        return len(self.levels) + self.missing_level if self.kind == CATEGORY else 1

    @property
    def labels(self) -> list[str]:
        """Names of the derived columns."""
        name = f"x{self.name}" if isinstance(self.name, int) else str(self.name)
        if self.kind != CATEGORY:
            return [name]
        return [f"{name}={level}" for level in self.levels] + [f"{name} missing"] * self.missing_level

    def encode(self, value: Any) -> list[float]:
        """Return the derived values of a raw value; raise ValueError if it cannot be read."""
        if self.kind == CATEGORY:
            return self.level_table()[self.level_row(value)].tolist()
        return [self.read(value)]

    def read(self, value: Any) -> float:
        """Return a number, boolean or date as a number, NaN if it is missing; raise ValueError if it cannot be read."""
        try:
            return self._read_strictly(value)
        except ValueError:
            if self.tolerant:
                return math.nan
            raise

    def _read_strictly(self, value: Any) -> float:
        if is_missing(value):
            return math.nan
        number = READERS[self.kind](value)
        if math.isinf(number):
            raise ValueError(f"{value!r} is infinite")
        return number

    def is_odd(self, value: Any) -> bool:
        """Tell whether a value cannot be read or, in a category, is a level that was not in the training rows."""
        if self.kind == CATEGORY:
            return self.rare_levels is not None and not is_missing(value) and not self._is_level(text_of(value))
        try:
            self._read_strictly(value)
        except ValueError:
            return True
        return False

    def _is_level(self, text: str) -> bool:
        return any(_position(levels, text) is not None for levels in (self.levels, self.rare_levels or ()))

    def level_table(self) -> np.ndarray:
        """Return the derived values of a category: a row per level, one for a missing value, one for other levels."""
        table = np.eye(len(self.levels) + 2, self.width)
        table[-1] = 0.0
        if not self.missing_level:
            table[-2] = np.nan
        return table

    def level_row(self, value: Any) -> int:
        """Return the row of `level_table` for a value of a category."""
        n_levels = len(self.levels)
        if is_missing(value):
            return n_levels
        row = _position(self.levels, text_of(value))
        return n_levels + 1 if row is None else row


def _position(levels: tuple[str, ...], text: str) -> int | None:
    """Return where a text is in sorted levels; None if it is not one of them."""
    position = bisect_left(levels, text)
    return position if position < len(levels) and levels[position] == text else None


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, NaT or NA, which frames use for missing values."""
    if value is None or isinstance(value, str | int):
        return value is None
    return value != value if isinstance(value, float) else pd.api.types.is_scalar(value) and bool(pd.isna(value))


def text_of(value: Any) -> str:
    """Return a level as text; 3 and 3.0 give the same text, because whole numbers with missing values become floats."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer():
        return str(int(value))  # type: ignore[call-overload]
    return str(value)


def is_iso_date(text: str) -> bool:
    """Tell whether a text is a date, or a date and time, in ISO 8601 format."""
    if not ISO_DATE.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def days_since_1970(dates: np.ndarray) -> np.ndarray:
    """Return dates and times as days since 1970, NaN for NaT."""
    microseconds = dates.astype("datetime64[us]")
    days = microseconds.astype(np.int64) / MICROSECONDS_PER_DAY
    days[np.isnat(microseconds)] = np.nan
    return days


def _read_number(value: Any) -> float:
    """Return a number; Python would also read 1_000 and digits of other scripts."""
    if isinstance(value, str) and not NUMBER_TEXT.fullmatch(value.strip()) and value.strip().lower() != "nan":
        raise ValueError(f"{value!r} is not a number")
    try:
        return float(value)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{value!r} is not a number") from error


def _read_boolean(value: Any) -> float:
    known = BOOLEAN_WORDS.get(value.strip().lower()) if isinstance(value, str) else _read_number(value)
    if known not in (0.0, 1.0):
        raise ValueError(f"{value!r} is neither true nor false")
    return known


def _read_date(value: Any) -> float:
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if not isinstance(value, date | np.datetime64):
        raise ValueError(f"{value!r} is not a date")
    return float(days_since_1970(np.array([value], dtype="datetime64[us]"))[0])


READERS = {NUMBER: _read_number, BOOLEAN: _read_boolean, DATE: _read_date}
