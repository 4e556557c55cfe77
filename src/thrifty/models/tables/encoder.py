"""The encoder: it turns raw columns of any kind into the columns of numbers that estimators read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from thrifty.costs import CostModel
from thrifty.costs.distinct_names import DistinctNames
from thrifty.models.derived import Derivation, DerivedColumns
from thrifty.models.session import Feature
from thrifty.models.soundness import require
from thrifty.models.tables.column_reports import ColumnReport, report_column
from thrifty.models.tables.columns import column_names, columns_of, count_levels, declared_categories, is_frame
from thrifty.models.tables.fields import CATEGORY, EXPECTED, NUMBER, Field
from thrifty.models.tables.odd_cells import OddCells, odd_cells
from thrifty.models.tables.reading import ReadTable, read_columns
from thrifty.stored import Array, ListOf, Parameter, Structure, Whole, stored
from thrifty.stored.medium import shown

MAX_RARE_LEVELS = 1_000  # so that a column of free text does not make a large model


@stored(
    max_levels=Whole(1),
    kinds=Parameter(),
    fields_=ListOf(Structure(Field), 1),
    source_=Array("int64", "n_derived", low=0),
)
class TableEncoder(DerivedColumns):
    """Turns tables of raw columns into arrays of numbers.

    A number, a boolean or a date (as days since 1970) becomes one derived column. A category becomes one column of 0
    and 1 per level (one-hot). A missing value is NaN in all its derived columns. If a category had missing values in
    training, they are a level of their own instead.

    Parameters
    ----------
    max_levels : int, default=20
        The number of levels of a category that get a column: the most frequent ones. All columns are 0 for the others.
    kinds : dict or None, default=None
        ``{column: kind}`` with kind "number", "boolean", "date" or "category", for columns whose kind should not be
        inferred from their values. Values that cannot be read as the given kind are treated as missing.

    Attributes
    ----------
    report_ : list of ColumnReport
        One per raw column: what it is taken for, and which of its training cells are odd. It is not stored in files.
    fields_ : list of Field
        One per raw column, in order.
    source_ : ndarray of int, shape (n_derived,)
        The position of the raw column behind each derived column.

    Examples
    --------
    >>> import pandas as pd
    >>> from thrifty.models.tables.encoder import TableEncoder
    >>> table = pd.DataFrame({"age": [59, 61], "pain": ["typical", "none"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.labels
    ['age', 'pain=none', 'pain=typical']
    >>> encoder.transform(table)
    array([[59.,  0.,  1.],
           [61.,  1.,  0.]])
    """

    fields_: list[Field]
    source_: np.ndarray
    report_: list[ColumnReport]

    def __init__(self, max_levels: int = 20, kinds: Mapping[Feature, str] | None = None):
        self.max_levels = max_levels
        self.kinds = kinds

    def fit(self, X: Any, sample_weight: Any = None, names: Any = None) -> Self:
        """Learn the kind of each column, and the levels of categories.

        Parameters
        ----------
        X : frame, or array of shape (n, n_fields)
        sample_weight : array-like of shape (n,), optional
            How often each row counts when levels are counted.
        names : sequence, optional
            Names of the columns, if they are not those of the frame.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        names = column_names(X) if names is None else list(names)
        self._refuse_bad_kinds(names)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        columns = zip(names, columns_of(X), declared_categories(X), strict=True)
        learned = [self._learned(j, *each, weight) for j, each in enumerate(columns)]
        self.fields_, self.report_ = [field for field, _ in learned], [report for _, report in learned]
        self.source_ = self._sources()
        vars(self).pop("place_of", None)  # the cache of an earlier fit
        return self

    def _refuse_bad_kinds(self, names: list[Feature]) -> None:
        for name, kind in (self.kinds or {}).items():
            if name not in names:
                raise ValueError(f"TableModel: kinds names {name!r}, which is not a column. There are {names[:12]}.")
            if kind not in EXPECTED:
                raise ValueError(f"TableModel: kinds of {name!r} is {kind!r}; expected one of {', '.join(EXPECTED)}.")

    def _learned(
        self, position: int, name: Feature, column: np.ndarray, declared: bool, weight: np.ndarray
    ) -> tuple[Field, ColumnReport]:
        report = report_column(name, position, column, (self.kinds or {}).get(name), declared)
        if report.kind != CATEGORY:
            return Field(name, report.kind, tolerant=report.told or report.odd is not None), report
        total, missing = count_levels(column, weight)
        seen = sorted((level for level in total if total[level] > 0), key=lambda level: (-total[level], level))
        frequent, rare = seen[: self.max_levels], seen[self.max_levels :]
        known = tuple(sorted(rare)) if len(rare) <= MAX_RARE_LEVELS else None
        field = Field(name, CATEGORY, tuple(sorted(frequent)), missing > 0, known)
        return field, replace(report, n_levels=len(seen))

    def _sources(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.fields_)), [field.width for field in self.fields_])

    def refuse_unsound(self, names: list[Feature]) -> None:
        """Raise ValueError unless a loaded encoder is consistent and reads columns of these names.

        Parameters
        ----------
        names : list
            Names or positions of the raw columns.
        """
        require([field.name for field in self.fields_] == names, "its encoder reads columns of other names")
        for field in self.fields_:
            proper = list(field.levels) == sorted(set(field.levels)) and (field.kind == CATEGORY or not field.levels)
            require(proper, f"the levels of its field {field.name!r} are not sorted texts")
            rare = list(field.rare_levels or ())
            require(rare == sorted(rare), f"the rare levels of its field {field.name!r} are not sorted texts")
        require(np.array_equal(self.source_, self._sources()), "its encoder derives other columns")

    def __getstate__(self) -> dict[str, Any]:
        state = ("max_levels", "kinds", "fields_", "source_")  # without caches, and without cells of training rows
        return {name: value for name, value in vars(self).items() if name in state}

    # The derived columns

    @property
    def one_to_one(self) -> bool:
        """Whether every raw column becomes one derived column of the same name."""
        return all(field.kind != CATEGORY for field in self.fields_)

    @property
    def labels(self) -> list[str]:
        """The names of the derived columns, which are distinct."""
        names = DistinctNames()
        return [names.add(label) for field in self.fields_ for label in field.labels]

    @cached_property
    def place_of(self) -> dict[Feature, tuple[int, int]]:
        """The place of each derived column, by label and by position: its field, and its number in that field."""
        places = [(j, k) for j, field in enumerate(self.fields_) for k in range(field.width)]
        return {**dict(zip(self.labels, places, strict=True)), **dict(enumerate(places))}

    def derived_costs(self, raw: CostModel) -> CostModel:
        """Return the costs of the derived columns: each requires the units of its raw column."""
        if self.one_to_one:
            return raw
        return raw.derive(self.source_[:, None].tolist(), 0.0, self.labels)

    def derivation(self, raw: CostModel) -> Derivation:
        """Return which raw column, of those with these costs, each derived column is computed from."""
        one_hot = np.array([field.kind == CATEGORY for field in self.fields_])
        return Derivation(raw, self.source_, one_hot)

    def raw_mask(self, derived: np.ndarray) -> np.ndarray:
        """Return marks of raw columns (n, n_fields): those behind marked derived columns (n, n_derived)."""
        if self.one_to_one:
            return derived
        starts = np.searchsorted(self.source_, np.arange(len(self.fields_)))
        return np.logical_or.reduceat(derived, starts, axis=1)

    # Values of one row

    def sources(self, derived: Sequence[Feature]) -> list[int]:
        """Return the positions of the fields behind some derived columns, given by label or by position."""
        return list(dict.fromkeys(self.place_of[each][0] for each in derived))

    def values(self, derived: Sequence[Feature], held: dict[int, Any]) -> list[float]:
        """Return the values of some derived columns, given what `read` returned for their fields."""
        return [held[field][k] for field, k in map(self.place_of.__getitem__, derived)]

    def read(self, source: int, value: Any) -> list[float]:
        """Return the derived values of a raw value; raise ValueError if it cannot be read."""
        return self.fields_[source].encode(value)

    def expected(self, source: int) -> str:
        """Return what values of a field have to be, for error messages."""
        return EXPECTED[self.fields_[source].kind]

    # Values of many rows

    def transform(self, X: Any) -> np.ndarray:
        """Return the derived columns of a table; raise ValueError if a value cannot be read.

        Parameters
        ----------
        X : frame, or array of shape (n, n_fields)

        Returns
        -------
        ndarray of shape (n, n_derived)
        """
        derived, unreadable = self.read_table(X)
        for odd in unreadable:
            raise self.refusal(odd, 0, "holds")
        return derived

    def odd_cells(self, X: Any) -> list[OddCells]:
        """Return the cells of a table that cannot be read, and those with levels that were not in the training rows.

        New levels of a category are known only if it had at most 1,000 levels beyond the first `max_levels`.

        Parameters
        ----------
        X : frame, or array of shape (n, n_fields)

        Returns
        -------
        list of OddCells
            One per column with such cells.
        """
        found = (odd_cells(field, j, column) for j, (field, column) in enumerate(self._columns(X)))
        return [odd for odd in found if odd is not None]

    def _columns(self, X: Any) -> Iterator[tuple[Field, np.ndarray]]:
        return zip(self.fields_, columns_of(X), strict=True)

    def read_table(self, X: Any) -> ReadTable:
        """Return the derived columns of a table, NaN where a value cannot be read, and a list of these values.

        Parameters
        ----------
        X : frame, or array of shape (n, n_fields)

        Returns
        -------
        ReadTable
        """
        if self._is_numeric(X):
            return ReadTable(X if X.dtype.kind == "f" and X.dtype.itemsize >= 4 else X.astype(float), [])
        return read_columns(self.fields_, columns_of(X), len(X))

    def _is_numeric(self, X: Any) -> bool:
        return not is_frame(X) and X.dtype.kind in "fiub" and all(field.kind == NUMBER for field in self.fields_)

    def refusal(self, odd: OddCells, number: int, verb: str) -> ValueError:
        """Return the error about one of some cells that cannot be read."""
        value = odd.values[number]
        value = value.item() if isinstance(value, np.generic) else value
        return ValueError(
            f"TableModel: row {odd.rows[number]} {verb} {odd.column!r}, which is {shown(value)}; expected "
            f"{EXPECTED[odd.expected]}, or None if it is unavailable."
        )
