"""A reference: what rows looked like to a model when it was trained, so that live rows can be compared with them."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from thrifty.exceptions import SourceError
from thrifty.replacing import replacing
from thrifty.runtime.sources.catalog import column_names
from thrifty.runtime.trace import plain

FORMAT, VERSION = "thrifty reference", 1
N_BINS = 10
MAX_LEVELS = 20
NUMBERS, CATEGORY = ("number", "boolean", "date"), "category"


@dataclass(frozen=True)
class ColumnReference:
    """How many rows bought a column, and which values they got.

    Attributes
    ----------
    name : str
        The name of the column; "x0", "x1", ... if the columns of the model have no names.
    kind : {"number", "boolean", "date", "category"}
        How values are read. A date is compared as days since 1970.
    edges : tuple of float
        The ends of the bins, in ascending order; empty for a category. Bin k holds the values v with
        ``edges[k - 1] < v <= edges[k]``; the first and the last bin have no other end.
    levels : tuple of str
        The most frequent levels of a category; empty for other kinds.
    counts : tuple of int
        How many rows had a value in each bin. For a category there is one bin per level, and one for all other levels.
        The last bin holds the rows whose value was unavailable.

    Examples
    --------
    >>> from thrifty.runtime.watch.reference import ColumnReference
    >>> pain = ColumnReference("pain", "category", (), ("none", "typical"), (60, 30, 5, 5))
    >>> pain.n_bought, [pain.bin_of(value) for value in ("typical", "severe", None)]
    (100, [1, 2, 3])
    """

    name: str
    kind: str
    edges: tuple[float, ...]
    levels: tuple[str, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        where = f"column {self.name!r} of the reference"
        _require(self.kind in (*NUMBERS, CATEGORY), f"{where} has kind {self.kind!r}")
        ascending = all(low < high for low, high in pairwise((-np.inf, *self.edges, np.inf)))
        _require(ascending, f"the edges of {where} are not finite and ascending")
        _require(len(set(self.levels)) == len(self.levels), f"the levels of {where} are not distinct")
        _require(not (self.edges if self.kind == CATEGORY else self.levels), f"{where} has both edges and levels")
        expected = len(self.edges) + len(self.levels) + 2
        found = f"{len(self.counts)} counts for {expected} bins"
        _require(len(self.counts) == expected, f"{where} has {found}")
        _require(all(each >= 0 for each in self.counts), f"{where} has counts below 0")

    @property
    def n_bought(self) -> int:
        """How many rows bought the column."""
        return sum(self.counts)

    def bin_of(self, value: Any) -> int:
        """Return the bin of a value, as a source returns it; what cannot be read counts as unavailable.

        Parameters
        ----------
        value : object

        Returns
        -------
        int
        """
        read = self._read(value)
        if read is None or read != read:
            return len(self.counts) - 1
        if self.kind == CATEGORY:
            return self._places.get(read, len(self.levels))
        return bisect_left(self.edges, read)

    @cached_property
    def _read(self) -> Callable[[Any], Any]:
        from thrifty.models.tables.fields import Field  # imports pandas

        return _level if self.kind == CATEGORY else Field(self.name, self.kind, tolerant=True).read

    @cached_property
    def _places(self) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.levels)}

    @classmethod
    def of_numbers(cls, name: str, kind: str, values: np.ndarray) -> ColumnReference:
        """Count numbers in bins that hold about equally many of them.

        Parameters
        ----------
        name : str
        kind : {"number", "boolean", "date"}
        values : ndarray of shape (n_bought,)
            NaN where a value was unavailable.

        Returns
        -------
        ColumnReference
        """
        known = values[np.isfinite(values)]
        shares = np.arange(1, N_BINS) / N_BINS
        edges = np.unique(np.quantile(known, shares, method="inverted_cdf")) if known.size else np.empty(0)
        counts = np.bincount(np.searchsorted(edges, known, side="left"), minlength=len(edges) + 1)
        return cls(name, kind, tuple(edges.tolist()), (), (*counts.tolist(), len(values) - len(known)))

    @classmethod
    def of_levels(cls, name: str, values: np.ndarray) -> ColumnReference:
        """Count the most frequent levels of a category.

        Parameters
        ----------
        name : str
        values : ndarray of object, shape (n_bought,)
            Text; None or NaN where a value was unavailable.

        Returns
        -------
        ColumnReference
        """
        texts = [each for each in values.tolist() if isinstance(each, str)]
        levels, totals = np.unique(np.array(texts, dtype=str), return_counts=True)
        frequent = np.lexsort((levels, -totals))[:MAX_LEVELS]
        counts = totals[frequent].tolist()
        chosen = tuple(levels[frequent].tolist())
        return cls(name, CATEGORY, (), chosen, (*counts, len(texts) - sum(counts), len(values) - len(texts)))


@dataclass(frozen=True)
class Reference:
    """What rows looked like to a model: where they ended, what they bought, and which values they got.

    Take rows that the model will see in production, of the same population as the training rows. Held-out rows are
    better than training rows, because a model may route the rows that it was fitted on in another way than new ones.

    Attributes
    ----------
    model : str
        The name of the class of the model.
    n_rows : int
        The number of rows.
    mean_spend, largest_spend : float
        The mean and the largest spend of the rows.
    exits : dict
        How many rows ended at each exit.
    columns : dict of str to ColumnReference
        For each column: how many rows bought it, and which values they got.

    Examples
    --------
    >>> from thrifty import ASTCClassifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.runtime.watch import Reference
    >>> heart = load_heart()
    >>> model = ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=60).fit(heart.X, heart.y)
    >>> reference = Reference.of(model, heart.X)
    >>> reference
    Reference(ASTCClassifier, rows: 270, exits: 2, columns bought: 6, mean spend 19.02)
    """

    model: str
    n_rows: int
    mean_spend: float
    largest_spend: float
    exits: dict[int, int]
    columns: dict[str, ColumnReference]

    def __post_init__(self) -> None:
        _require(self.n_rows > 0, f"n_rows of the reference is {self.n_rows}")
        _require(all(each >= 0 for each in self.exits.values()), "the reference has counts of exits below 0")
        counted = sum(self.exits.values())
        _require(
            counted == self.n_rows, f"the exits of the reference count {counted} rows, but n_rows is {self.n_rows}"
        )
        spends = 0 <= self.mean_spend <= self.largest_spend < np.inf
        _require(spends, f"the reference has mean spend {self.mean_spend} and largest spend {self.largest_spend}")
        for name, column in self.columns.items():
            _require(column.name == name, f"column {name!r} of the reference is named {column.name!r}")
            _require(column.n_bought <= self.n_rows, f"column {name!r} of the reference was bought by too many rows")

    @classmethod
    def of(cls, model: Any, X: Any, cap: Any = None) -> Reference:
        """Measure rows.

        Parameters
        ----------
        model : BudgetedEstimator or BudgetSearchCV
            A fitted model.
        X : frame or array-like of shape (n, n_features)
            Rows with all columns.
        cap : float or array-like of shape (n,), optional
            The hard limit on each row's spend in production, if there is one.

        Returns
        -------
        Reference
        """
        model = getattr(model, "best_estimator_", model)
        acquisition = model.acquire(X, cap)
        exits, counts = np.unique(acquisition.exit, return_counts=True)
        return cls(
            type(model).__name__,
            len(acquisition),
            min(float(acquisition.spend.mean()), float(acquisition.spend.max())),  # means are rounded
            float(acquisition.spend.max()),
            dict(zip(exits.tolist(), counts.tolist(), strict=True)),
            _columns(model, X, acquisition.acquired),
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the reference to a JSON file. It holds counts, bounds of bins and frequent levels, but no rows.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        pathlib.Path
        """
        columns = [asdict(each) for each in self.columns.values()]
        record = {"format": FORMAT, "version": VERSION, **vars(self), "columns": columns}
        with replacing(Path(path)) as unfinished:
            unfinished.write_text(json.dumps(plain(record), ensure_ascii=False, allow_nan=False), encoding="utf-8")
        return Path(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Reference:
        """Read a reference from a file that `save` wrote.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Reference
        """
        try:
            record = json.loads(Path(path).read_text(encoding="utf-8"))
            return _reference(record)
        except (ValueError, SourceError) as error:
            advice = "Make it again with Reference.of(model, X).save(path)."
            raise SourceError(f"{path} is not a reference: {error} {advice}") from error

    def __repr__(self) -> str:
        bought = sum(each.n_bought > 0 for each in self.columns.values())
        return (
            f"Reference({self.model}, rows: {self.n_rows}, exits: {len(self.exits)}, columns bought: {bought}, "
            f"mean spend {self.mean_spend:.4g})"
        )


def _level(value: Any) -> str | None:
    """Return the level of a category as text; None if it is missing."""
    from thrifty.models.tables.fields import is_missing, text_of

    return None if is_missing(value) else text_of(value)


# Measuring


def _columns(model: Any, X: Any, acquired: np.ndarray) -> dict[str, ColumnReference]:
    measured = _columns_of_table if hasattr(model, "encoder_") else _columns_of_numbers
    return {each.name: each for each in measured(model, X, acquired)}


def _columns_of_numbers(model: Any, X: Any, acquired: np.ndarray) -> list[ColumnReference]:
    table = model._checked(X)
    table = table.tocsc() if issparse(table) else table
    return [
        ColumnReference.of_numbers(name, "number", _dense(table[:, j])[acquired[:, j]])
        for j, name in enumerate(column_names(model).values())
    ]


def _columns_of_table(model: Any, X: Any, acquired: np.ndarray) -> list[ColumnReference]:
    """Measure raw columns of a table: categories as text, and others as the numbers that stand for their values."""
    from thrifty.models.tables.checked_table import checked_table
    from thrifty.models.tables.columns import as_texts, columns_of

    encoder, derived = model.encoder_, model._checked(X).derived
    columns = zip(column_names(model).values(), columns_of(checked_table(model, X, reset=False)), strict=True)
    measured = []
    for j, (name, raw) in enumerate(columns):
        kind, bought = encoder.fields_[j].kind, acquired[:, j]
        if kind == CATEGORY:
            measured.append(ColumnReference.of_levels(name, as_texts(raw[bought])))
        else:
            numbers = derived[bought, np.searchsorted(encoder.source_, j)]
            measured.append(ColumnReference.of_numbers(name, kind, numbers))
    return measured


def _dense(column: Any) -> np.ndarray:
    return column.toarray().ravel() if issparse(column) else column


# Reading


def _reference(record: Any) -> Reference:
    _require(isinstance(record, dict) and record.get("format") == FORMAT, "it has another format")
    _require(record.get("version") == VERSION, f"its version is {record.get('version')!r}, and {VERSION} is known")
    columns = [_column(each) for each in _entry(record, "columns", list)]
    _require(len({each.name for each in columns}) == len(columns), "several columns have the same name")
    exits = _entry(record, "exits", dict)
    try:
        counted = {int(place): count for place, count in exits.items() if type(count) is int}
    except ValueError as error:
        raise SourceError("its exits are not whole numbers.") from error
    _require(len(counted) == len(exits), "the counts of its exits are not whole numbers")
    return Reference(
        _entry(record, "model", str),
        _entry(record, "n_rows", int),
        float(_entry(record, "mean_spend", int, float)),
        float(_entry(record, "largest_spend", int, float)),
        counted,
        {each.name: each for each in columns},
    )


def _column(record: Any) -> ColumnReference:
    _require(isinstance(record, dict), "a column is not an object")
    return ColumnReference(
        _entry(record, "name", str),
        _entry(record, "kind", str),
        tuple(map(float, _list(record, "edges", int, float))),
        tuple(_list(record, "levels", str)),
        tuple(_list(record, "counts", int)),
    )


def _list(record: Mapping[str, Any], name: str, *types: type) -> list[Any]:
    entries = _entry(record, name, list)
    expected = " or ".join(each.__name__ for each in types)
    _require(all(type(each) in types for each in entries), f"entries of {name!r} are not of type {expected}")
    return entries


def _entry(record: Mapping[str, Any], name: str, *types: type) -> Any:
    _require(name in record, f"{name!r} is missing")
    expected = " or ".join(each.__name__ for each in types)
    _require(type(record[name]) in types, f"{name!r} is {record[name]!r}, which is not of type {expected}")
    return record[name]


def _require(valid: bool, message: str) -> None:
    if not valid:
        raise SourceError(f"{message}.")
