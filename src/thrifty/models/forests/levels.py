"""Levels of category columns: the values that users have, and the codes that the splits of a forest list.

A split on a category lists whole numbers. If a model was trained on the values themselves ("typical", 10, 2.5), code k
stands for the k-th level of the column. A value that is missing or not a level becomes NaN, which goes where each split
sends missing values. LightGBM and scikit-learn do the same with a value that was not in training; XGBoost refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd

from thrifty.models.derived import DerivedColumns
from thrifty.models.rebuilt import Rebuilt
from thrifty.models.session import Feature, read_number
from thrifty.stored import Flag, PairsOf, Plain, TupleOf, Whole, stored

if TYPE_CHECKING:
    from thrifty.models.forests.forest import Forest

NUMBERS = (Real, Decimal, np.number, np.bool_)
Level = str | int | float | bool


@stored(levels=PairsOf(Whole(0), TupleOf(Plain())), codes_in_arrays=Flag())
class CategoryLevels(Rebuilt, DerivedColumns):
    """The levels of the category columns of a forest.

    Parameters
    ----------
    levels : dict
        ``{column: levels}``: the distinct values of a column, which are text, numbers or booleans. The code of a level
        is its position.
    codes_in_arrays : bool, default=True
        Whether an array of numbers holds codes in these columns, as LightGBM and XGBoost expect, and whether a number
        is a code in a column of text levels. Otherwise arrays hold levels, as scikit-learn expects.

    Examples
    --------
    >>> import pandas as pd
    >>> from thrifty.models.forests.levels import CategoryLevels
    >>> levels = CategoryLevels({1: ["low", "mid", "high"]})
    >>> levels.coded(pd.DataFrame({"age": [59.0, 61.0, 40.0], "risk": ["high", "low", "unheard of"]}))
        age  risk
    0  59.0   2.0
    1  61.0   0.0
    2  40.0   NaN
    """

    _made_of = ("levels", "codes_in_arrays")

    def __init__(self, levels: Mapping[int, Sequence[Any]], codes_in_arrays: bool = True):
        self.levels = MappingProxyType({int(column): _checked_levels(column, levels[column]) for column in levels})
        self.codes_in_arrays = bool(codes_in_arrays)
        self._code_of = {
            column: {level: float(code) for code, level in enumerate(each)} for column, each in self.levels.items()
        }
        self._kinds = {column: {isinstance(level, str) for level in each} for column, each in self.levels.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {"levels": dict(self.levels), "codes_in_arrays": self.codes_in_arrays}

    def code(self, column: int, value: Any) -> float:
        """Return the code of a value, NaN if it is missing or not a level; raise ValueError if its type is wrong."""
        if _is_missing(value):
            return math.nan
        text = isinstance(value, str)
        if not text and not isinstance(value, NUMBERS):
            raise ValueError(f"{value!r} is neither text nor a number")
        plain = value if text else float(value)
        if text in self._kinds[column]:
            return self._code_of[column].get(plain, math.nan)
        if text or not self.codes_in_arrays:
            raise ValueError(f"{value!r} is not of the type of the levels")
        return plain

    # Batches

    def coded(self, table: Any) -> Any:
        """Return a table of the same type in which codes replace the levels; raise ValueError if a value is not valid.

        Parameters
        ----------
        table : frame or array of shape (n, n_features)

        Returns
        -------
        frame or array
        """
        if nw.dependencies.is_into_dataframe(table):
            return self._coded_frame(nw.from_native(table, eager_only=True))
        array = _as_array(table)
        if array.ndim != 2 or (self.codes_in_arrays and array.dtype != object):
            return array
        coded = array.astype(np.result_type(array, np.float32)) if array.dtype != object else array.copy()
        for column in self._within(array.shape[1]):
            coded[:, column] = self._codes(column, column, array[:, column])
        return coded

    def _coded_frame(self, frame: nw.DataFrame[Any]) -> Any:
        columns = list(frame.iter_columns())
        for j, column in enumerate(columns):
            if isinstance(column.dtype, nw.Categorical | nw.Enum) and j not in self.levels:
                raise unknown_levels(column.name)
        coded = [
            nw.new_series(name, self._codes(j, name, _values(columns[j])), nw.Float64, backend=frame.implementation)
            for j, name in ((j, columns[j].name) for j in self._within(len(columns)))
        ]
        return frame.with_columns(*coded).to_native()

    def _within(self, n_columns: int) -> list[int]:
        return [column for column in self.levels if column < n_columns]

    def _codes(self, column: int, name: Feature, values: np.ndarray) -> np.ndarray:
        """Return the codes of a column of values, computed once per distinct value."""
        positions, distinct = pd.factorize(values)
        try:
            codes = [self.code(column, value) for value in distinct.tolist()]
        except ValueError as error:
            raise ValueError(f"Forest: column {name!r} of X: {error}; expected {self.expected(column)}.") from error
        return np.array([*codes, math.nan])[positions]  # the position of a missing value is -1

    # Sessions

    def sources(self, derived: Sequence[Any]) -> Sequence[int]:
        """Return the columns themselves: there is one column of codes for each column of levels."""
        return derived

    def values(self, derived: Sequence[Any], held: dict[int, Any]) -> list[float]:
        """Return the codes of some columns, given what `read` returned for them."""
        return [held[column] for column in derived]

    def read(self, source: int, value: Any) -> float:
        """Return the code of an observed value, or the number itself if the column has no levels."""
        return self.code(source, value) if source in self.levels else read_number(value)

    def expected(self, source: int) -> str:
        """Return what values of a column have to be, for error messages."""
        if source not in self.levels:
            return "a finite number"
        shown = ", ".join(map(repr, self.levels[source][:3])) + ", ..." * (len(self.levels[source]) > 3)
        return f"one of its levels ({shown})"


def checked_columns(levels: CategoryLevels | None, n_features: int) -> CategoryLevels | None:
    """Return the levels of a forest; raise ValueError if they belong to a column that X does not have."""
    if levels is not None and not all(0 <= column < n_features for column in levels.levels):
        raise ValueError(
            f"Forest: levels has columns {list(levels.levels)}; expected columns from 0 to {n_features - 1}."
        )
    return levels


def stated_levels(forest: Forest, stated: Mapping[Feature, Sequence[Any]]) -> CategoryLevels:
    """Return the levels of a forest together with levels that the user states, by name or position of a column."""
    known, names = forest.levels or CategoryLevels({}), forest.feature_names or ()
    added = {}
    for column, levels in stated.items():
        place = names.index(column) if column in names else column
        if not isinstance(place, int) or not 0 <= place < forest.n_features:
            raise ValueError(f"Forest: categories has {column!r}, which is not a column of the model.")
        if place in known.levels and known.levels[place] != tuple(levels):
            raise ValueError(
                f"Forest: categories has other levels for {column!r} than the model, which has "
                f"{list(known.levels[place])}. Leave this column out."
            )
        added[place] = levels
    return CategoryLevels({**known.levels, **added}, known.codes_in_arrays)


def refuse_unknown_levels(table: Any, columns: Sequence[int]) -> None:
    """Raise ValueError if one of these columns of a frame holds levels, of which the forest knows nothing."""
    if columns and nw.dependencies.is_into_dataframe(table):
        frame = nw.from_native(table, eager_only=True)
        for name in (frame.columns[j] for j in columns if j < frame.shape[1]):
            if not frame[name].dtype.is_numeric() and frame[name].dtype != nw.Boolean:
                raise unknown_levels(name)


def unknown_levels(name: Feature) -> ValueError:
    """Return the error about a column of categories whose levels the forest does not know."""
    return ValueError(
        f"Forest: column {name!r} of X holds categories, but the model does not say which level has which code. "
        f"Pass their levels in the order of their codes: Forest.from_model(model, categories={{{name!r}: [...]}})."
    )


def _checked_levels(column: int, levels: Any) -> tuple[Level, ...]:
    """Return levels as plain values; raise ValueError unless they are distinct texts, numbers or booleans."""
    plain = tuple(each.item() if isinstance(each, np.generic) else each for each in levels)
    for level in plain:
        if not isinstance(level, Level) or level != level:
            raise ValueError(f"Forest: levels of column {column} hold {level!r}; expected text, numbers or booleans.")
    if len(set(plain)) < len(plain):
        raise ValueError(f"Forest: levels of column {column} are {list(plain)!r}; expected distinct values.")
    return plain


def _is_missing(value: Any) -> bool:
    return value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))


def _as_array(table: Any) -> np.ndarray:
    """Return a table as an array; nested lists that contain text as objects, because NumPy would make numbers text."""
    array = np.asarray(table)
    return np.array(table, dtype=object) if array.dtype.kind in "US" else array


def _values(series: nw.Series[Any]) -> np.ndarray:
    """Return the values of a column of a frame."""
    if series.implementation.is_pandas() and isinstance(series.to_native().dtype, pd.CategoricalDtype):
        coded = series.to_native().cat  # much faster than to look at every value
        return np.array([*coded.categories.tolist(), None], dtype=object)[coded.codes.to_numpy()]
    return series.to_numpy()
