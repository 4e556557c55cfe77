"""The columns of a table, in any library, and the kind of their values.

A column is an array here: of numbers, of booleans, of dates, or of objects, which are text and everything else.
"""

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from thrifty.models.session import Feature
from thrifty.models.tables.fields import BOOLEAN, CATEGORY, DATE, NUMBER, is_iso_date, text_of

BOOLEAN_TYPES = (bool, np.bool_)
NUMBER_TYPES = (Real, Decimal, *BOOLEAN_TYPES)
DATE_TYPES = (date, np.datetime64)
KIND_OF_DTYPE = {"f": NUMBER, "i": NUMBER, "u": NUMBER, "b": BOOLEAN, "M": DATE}


def is_frame(table: Any) -> bool:
    """Tell whether a table is a frame of pandas, polars or another library that narwhals reads."""
    return nw.dependencies.is_into_dataframe(table)


def column_names(table: Any) -> list[Feature]:
    """Return the names of the columns of a frame, or the positions of the columns of an array."""
    if not is_frame(table):
        return list(range(table.shape[1]))
    return list(table.column_names if nw.dependencies.is_pyarrow_table(table) else table.columns)


def columns_of(table: Any) -> Iterator[np.ndarray]:
    """Yield the columns of a frame or of a two-dimensional array in order; text comes as objects."""
    if is_frame(table):
        columns = map(_series_values, nw.from_native(table, eager_only=True).iter_columns())
    else:
        columns = iter(table.T)
    for column in columns:
        yield column.astype(str).astype(object) if column.dtype.kind in "US" else column


def declared_categories(table: Any) -> list[bool]:
    """Return for each column whether it has a type of its own for categories."""
    if not is_frame(table):
        return [False] * table.shape[1]
    return [
        series.dtype in (nw.Categorical, nw.Enum) for series in nw.from_native(table, eager_only=True).iter_columns()
    ]


def _series_values(series: nw.Series) -> np.ndarray:
    if series.dtype == nw.Categorical and series.implementation.is_pandas_like():
        coded = series.to_native().cat  # categories that are numbers would become a column of numbers
        texts = [*map(text_of, coded.categories.tolist()), None]
        return np.array(texts, dtype=object)[coded.codes.to_numpy()]
    if series.dtype.is_nested():
        return np.fromiter(series.to_list(), dtype=object, count=len(series))
    return series.to_numpy()


def kind_of(column: np.ndarray, name: Feature) -> str:
    """Return the kind of a column; raise ValueError if its values are of a type that cannot be encoded."""
    if column.dtype.kind in KIND_OF_DTYPE:
        return KIND_OF_DTYPE[column.dtype.kind]
    if column.dtype != object:
        raise _unsupported(name, column.dtype)
    present = column[~pd.isna(column)]
    if _is_text(present):
        return DATE if all(map(is_iso_date, pd.unique(present))) else CATEGORY
    types = set(map(type, present.tolist()))
    for unsupported in (each for each in types if each.__hash__ is None or issubclass(each, complex)):
        raise _unsupported(name, unsupported.__name__)
    if not types:
        return NUMBER
    for kind, expected in ((BOOLEAN, BOOLEAN_TYPES), (NUMBER, NUMBER_TYPES), (DATE, DATE_TYPES)):
        if all(issubclass(each, expected) for each in types):
            return kind
    return CATEGORY


def map_distinct(column: np.ndarray, convert: Callable[[Any], Any]) -> np.ndarray:
    """Apply a function to each value of a column, once per distinct value; missing values are passed as None."""
    try:
        codes, distinct = pd.factorize(column)
    except TypeError:  # lists and other values that cannot be hashed are all treated as distinct
        codes, distinct = np.arange(len(column)), column
    return np.array([*map(convert, distinct), convert(None)])[codes]  # a missing value has code -1


def count_levels(column: np.ndarray, weight: np.ndarray) -> tuple[dict[str, float], float]:
    """Return the total weight of each level of a category, and the total weight of its missing values."""
    codes, levels = pd.factorize(as_texts(column))
    missing, *totals = np.bincount(codes + 1, weight, len(levels) + 1).tolist()
    return dict(zip(levels.tolist(), totals, strict=True)), missing


def as_texts(column: np.ndarray) -> np.ndarray:
    """Return the values of a category as text, so that True and 1, which are equal, become distinct levels."""
    if column.dtype != object:
        codes, distinct = pd.factorize(column)
        return np.array([*map(text_of, distinct), None], dtype=object)[codes]  # a missing value has code -1
    if _is_text(column):
        return column
    missing = pd.isna(column)
    return np.array([None if gone else text_of(each) for each, gone in zip(column, missing, strict=True)], dtype=object)


def _is_text(column: np.ndarray) -> bool:
    return pd.api.types.infer_dtype(column, skipna=True) == "string"


def _unsupported(name: Feature, found: Any) -> ValueError:
    return ValueError(
        f"TableModel: column {name!r} holds values of type {found}; expected numbers, booleans, dates, text or "
        "categories. Convert the column, or drop it."
    )
