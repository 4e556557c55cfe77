"""A source that is a table in memory: for tests, for replay, and for values that fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thrifty.exceptions import SourceError
from thrifty.runtime.sources.base import AsyncSource, Record


class FrameSource(AsyncSource):
    """A table in memory. The source copies the columns that it provides.

    Parameters
    ----------
    frame : frame or dict
        A table of pandas, polars or another library that narwhals reads, or a dict of columns.
    key : str, optional
        The column that holds the keys. By default the key of a row is its number: 0, 1, 2, and so on.
    provides : sequence of str, or dict, optional
        The columns that a call returns; a dict also tells their types. By default all columns except the key.
    name : str, optional
        How traces, metrics and messages call the source; by default its first feature.
    cost : float, optional
        The price of a call.
    timeout : float, optional
        How many seconds a call may take.

    Attributes
    ----------
    features : tuple of str
        The columns that a call returns.
    types : dict
        The type of each feature; None for any.
    max_batch : None
        A call may have any number of keys.

    Examples
    --------
    >>> import asyncio
    >>> from thrifty.runtime import FrameSource
    >>> source = FrameSource({"patient": ["a17", "b02"], "age": [63, 41], "tsh": [1.4, None]}, key="patient")
    >>> source
    FrameSource('age', provides=['age', 'tsh'])
    >>> asyncio.run(source.fetch(["b02", "a17", "c99"]))
    [{'age': 41, 'tsh': None}, {'age': 63, 'tsh': 1.4}, None]
    """

    def __init__(
        self,
        frame: Any,
        *,
        key: str | None = None,
        provides: Sequence[str] | Mapping[str, type | None] | None = None,
        name: str | None = None,
        cost: float | None = None,
        timeout: float | None = None,
    ):
        table = _table(frame)
        if provides is None:
            provides = [column for column in table if column != key]
        super().__init__(provides, name=name, cost=cost, max_batch=None, timeout=timeout)
        self._refuse_absent([*self.features, *([] if key is None else [key])], table)
        columns = [_values(table[feature]) for feature in self.features]
        n_rows = self._common_length(columns)
        keys = range(n_rows) if key is None else _values(table[key])
        if len(keys) != n_rows:
            raise SourceError(f"source {self.name!r}: key {key!r} has {len(keys)} rows, but other columns {n_rows}.")
        self._number_of = self._numbered(keys, key)
        self._rows = list(zip(*columns, strict=True))

    async def fetch(self, keys: Sequence[Any]) -> list[Record | None]:
        """Return the row of each key, in order; None for a key that is not in the table.

        Parameters
        ----------
        keys : sequence
            Any number of keys.

        Returns
        -------
        list of dict or None
        """
        numbers = [self._number_of.get(key) for key in keys]
        return [
            None if number is None else dict(zip(self.features, self._rows[number], strict=True)) for number in numbers
        ]

    def _refuse_absent(self, names: Iterable[str], table: Mapping[str, Any]) -> None:
        absent = [name for name in names if name not in table]
        if absent:
            raise SourceError(
                f"source {self.name!r}: the table has no column {', '.join(map(repr, absent))}. "
                f"Its columns are {', '.join(map(repr, table))}."
            )

    def _common_length(self, columns: Sequence[Sequence[Any]]) -> int:
        lengths = dict(zip(self.features, map(len, columns), strict=True))
        if len(set(lengths.values())) > 1:
            raise SourceError(f"source {self.name!r}: the columns have different numbers of rows: {lengths}.")
        return len(columns[0])

    def _numbered(self, keys: Sequence[Any], column: str | None) -> dict[Any, int]:
        """Return the row number of each key."""
        numbers: dict[Any, int] = {}
        for number, key in enumerate(keys):
            if key is None or key != key:
                raise SourceError(
                    f"source {self.name!r}: row {number} has no key in column {column!r}. Remove the row."
                )
            first = numbers.setdefault(key, number)
            if first != number:
                raise SourceError(
                    f"source {self.name!r}: rows {first} and {number} have the same key {key!r} in column {column!r}. "
                    "Keep one row per key."
                )
        return numbers


def _table(frame: Any) -> Mapping[str, Any]:
    """Return the columns of a table by name."""
    if isinstance(frame, Mapping):
        return frame
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise SourceError(
            f"frame is a {type(frame).__name__}; expected a table of pandas, polars or another library that narwhals "
            "reads, or a dict of columns. Collect a lazy table first."
        ) from error
    return {column: table[column] for column in table.columns}


def _values(column: Any) -> list[Any]:
    """Return the values of a column as plain Python objects, None where a value is missing."""
    if hasattr(column, "is_null"):
        return [
            None if null else value for value, null in zip(column.to_list(), column.is_null().to_list(), strict=True)
        ]
    return column.tolist() if hasattr(column, "tolist") else list(column)
