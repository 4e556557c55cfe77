"""Checks of what a call returned: one record per key, and values of the declared types."""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from thrifty.costs.errors import format_value
from thrifty.exceptions import SourceError
from thrifty.runtime.sources.base import Record, Source

_PANDAS_MISSING = ("NAType", "NaTType")  # compared by name, because importing pandas is slow


def checked_records(source: Source, keys: Sequence[Any], returned: Any) -> list[Record | None]:
    """Return what a call returned as a list; raise SourceError unless it has one entry per key.

    Parameters
    ----------
    source : Source
        The source that was called.
    keys : sequence
        The keys that it was called with.
    returned : object
        What it returned.

    Returns
    -------
    list of dict or None

    Examples
    --------
    >>> from thrifty import source
    >>> @source(provides=["tsh"])
    ... def labs(key): ...
    >>> checked_records(labs, ["a17", "b3"], [{"tsh": 1.5}])
    Traceback (most recent call last):
    thrifty.exceptions.SourceError: source 'labs' returned 1 record; expected a list with one record for each of 2 keys.
    """
    expected = f"expected a list with one record for each of {_counted(len(keys), 'key')}"
    if not isinstance(returned, Sequence | np.ndarray) or isinstance(returned, str | bytes | bytearray):
        raise SourceError(f"source {source.name!r} returned {format_value(returned)}; {expected}.")
    if len(returned) != len(keys):
        raise SourceError(f"source {source.name!r} returned {_counted(len(returned), 'record')}; {expected}.")
    return list(returned)


def record_values(source: Source, record: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of all features of a source, and what is wrong with those that are not valid.

    Parameters
    ----------
    source : Source
        The source that returned the record.
    record : object
        The record of one key. It should be a mapping; further names in it are ignored.

    Returns
    -------
    values : dict
        The valid values by feature; None if a value is unavailable.
    problems : dict
        A short sentence for each other feature.

    Examples
    --------
    >>> from thrifty import source
    >>> @source(provides={"age": int, "town": str})
    ... def person(key): ...
    >>> record_values(person, {"age": "young", "town": "Bern"})
    ({'town': 'Bern'}, {'age': "'young' is not a whole number"})
    """
    values: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for feature, kind in source.types.items():
        try:
            values[feature] = checked_value(_looked_up(record, feature), kind)
        except Exception as error:  # a record may be an object of any class, whose methods may raise anything
            problems[feature] = str(error) or type(error).__name__
    return values, problems


def checked_value(value: Any, kind: type | None) -> Any:
    """Return a value in its declared type, as a plain Python object; raise ValueError if it has another type.

    Parameters
    ----------
    value : object
        A value that a source returned. None, NaN and the missing values of pandas and NumPy mean that the value is
        unavailable.
    kind : {float, int, bool, str} or None
        The declared type. A float may be any finite number, also of NumPy, or a Decimal; an int has to be whole; a
        bool may be 0 or 1. None allows numbers, text, booleans and dates.

    Returns
    -------
    float, int, bool, str, datetime.date or None
        None if the value is unavailable.

    Examples
    --------
    >>> import numpy as np
    >>> checked_value(np.int64(3), float), checked_value(4.0, int), checked_value(float("nan"), float)
    (3.0, 4, None)
    >>> checked_value(True, float)
    Traceback (most recent call last):
    ValueError: True is not a number
    """
    plain = _plain(value)
    if plain is None:
        return None
    if kind is float:
        return _number(plain)
    if kind is int:
        return _whole(plain)
    if kind is bool:
        return _truth(plain)
    if kind is str:
        return _text(plain)
    return _any(plain)


def _looked_up(record: Any, feature: str) -> Any:
    if not isinstance(record, Mapping):
        raise ValueError(f"the record is {format_value(record)}; expected a dictionary of features and values")
    try:
        return record[feature]
    except KeyError:
        raise ValueError("the record does not have it") from None


def _plain(value: Any) -> Any:
    """Return a value without the types of NumPy and decimal; None if it is unavailable."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]")  # Python has no type for nanoseconds
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or type(value).__name__ in _PANDAS_MISSING:
        return None
    if isinstance(value, Decimal):
        value = math.nan if value.is_nan() else _whole_or_float(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _whole_or_float(value: Decimal) -> float | int:
    number = float(value)
    return int(value) if math.isfinite(number) and value == value.to_integral_value() else number


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _number(value: Any) -> float:
    if not _is_number(value):
        raise ValueError(f"{format_value(value)} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise ValueError(f"{format_value(value)} is not a finite number")
    return number


def _whole(value: Any) -> int:
    if not _is_number(value):
        raise ValueError(f"{format_value(value)} is not a whole number")
    _number(value)  # refuses infinity, which has no floor
    if value != math.floor(value):
        raise ValueError(f"{format_value(value)} is not a whole number")
    return int(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, Real) or value not in (0, 1):
        raise ValueError(f"{format_value(value)} is not True or False")
    return bool(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{format_value(value)} is not a text")
    return value


def _any(value: Any) -> Any:
    if isinstance(value, str | bool | date):
        return value
    if not _is_number(value):
        raise ValueError(f"{format_value(value)} is not a number, a text, a boolean or a date")
    number = _number(value)
    return value if isinstance(value, int) else number


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
