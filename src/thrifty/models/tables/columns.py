"""The columns of a table, whatever it comes as, and what their values are.

A column is a plain array here: of numbers, of booleans, of dates, or of objects, which are text and everything else.
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

TRUTH_TYPES = (bool, np.bool_)
NUMBER_TYPES = (Real, Decimal, *TRUTH_TYPES)
DATE_TYPES = (date, np.datetime64)
KIND_OF_DTYPE = {"f": NUMBER, "i": NUMBER, "u": NUMBER, "b": BOOLEAN, "M": DATE}


def is_frame(table: Any) -> bool:
    """Tell whether a table is a frame of pandas, polars or another library that narwhals reads."""
    return nw.dependencies.is_into_dataframe(table)


def column_names(table: Any) -> list[Feature]:
    """Return the names of the columns, or their positions in an array."""
    if not is_frame(table):
        return list(range(table.shape[1]))
    return list(table.column_names if nw.dependencies.is_pyarrow_table(table) else table.columns)


def columns_of(table: Any) -> Iterator[np.ndarray]:
    """Yield the columns of a frame or of a two-dimensional array, one after another."""
    if is_frame(table):
        columns = map(_of_series, nw.from_native(table, eager_only=True).iter_columns())
    else:
        columns = iter(table.T)
    for column in columns:
        yield column.astype(str).astype(object) if column.dtype.kind in "US" else column


def _of_series(series: nw.Series) -> np.ndarray:
    if series.dtype == nw.Categorical and series.implementation.is_pandas_like():
        coded = series.to_native().cat  # as an array it would be of numbers if its categories are
        texts = [*map(text_of, coded.categories.tolist()), None]
        return np.array(texts, dtype=object)[coded.codes.to_numpy()]
    if series.dtype.is_nested():
        return np.fromiter(series.to_list(), dtype=object, count=len(series))
    return series.to_numpy()


def kind_of(column: np.ndarray, name: Feature) -> str:
    """Return what a column holds; ValueError if it is nothing that can be learned from."""
    if column.dtype.kind in KIND_OF_DTYPE:
        return KIND_OF_DTYPE[column.dtype.kind]
    if column.dtype != object:
        raise _unsupported(name, column.dtype)
    present = column[~pd.isna(column)]
    if _is_text(present):
        return DATE if all(map(is_iso_date, pd.unique(present))) else CATEGORY
    types = set(map(type, present.tolist()))
    for strange in (each for each in types if each.__hash__ is None or issubclass(each, complex)):
        raise _unsupported(name, strange.__name__)
    if not types:
        return NUMBER
    for kind, expected in ((BOOLEAN, TRUTH_TYPES), (NUMBER, NUMBER_TYPES), (DATE, DATE_TYPES)):
        if all(issubclass(each, expected) for each in types):
            return kind
    return CATEGORY


def by_distinct(column: np.ndarray, stand_in: Callable[[Any], Any]) -> np.ndarray:
    """Return what stands in for each value, found once for each distinct one; missing ones are None."""
    try:
        codes, distinct = pd.factorize(column)
    except TypeError:  # lists and the like cannot be told apart, so each is taken for distinct
        codes, distinct = np.arange(len(column)), column
    return np.array([*map(stand_in, distinct), stand_in(None)])[codes]  # a missing value has code -1


def count_levels(column: np.ndarray, weight: np.ndarray) -> tuple[dict[str, float], float]:
    """Return how much each level of a category weighs, and how much its missing values do."""
    codes, levels = pd.factorize(as_texts(column))
    missing, *mass = np.bincount(codes + 1, weight, len(levels) + 1).tolist()
    return dict(zip(levels.tolist(), mass, strict=True)), missing


def as_texts(column: np.ndarray) -> np.ndarray:
    """Return the values of a category as text; True and 1, which are equal, are distinct after it."""
    if column.dtype != object or _is_text(column):
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
