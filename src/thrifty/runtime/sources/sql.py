"""A source that is a query to a database, by SQLAlchemy. A batch of keys is one query; keys are always bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.exceptions import MissingExtraError, SourceError
from thrifty.runtime.sources.base import BlockingSource, Record

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, TextClause

LIBPQ_DRIVERS = ("psycopg", "psycopg2")
SHORTEST_CONNECT_TIMEOUT = 2  # seconds; libpq does not accept less


class SQLSource(BlockingSource):
    """A query to a database. One call is one query, also for many keys.

    The keys are bound parameters: the database never reads them as SQL. The query should only read. Connections come
    from the pool of the engine, and they go back after each call, also when the call fails.

    What happens after the timeout: the thrifty engine stops waiting for the call. On PostgreSQL the source also sets
    `statement_timeout`, so that the server ends the statement and the connection becomes free. If the source made the
    database engine, it sets this once per connection; otherwise it runs ``SET LOCAL`` before the query, in the same
    transaction. Other databases are not told: there the statement keeps its connection until it ends. Set a limit in
    the database.

    Parameters
    ----------
    engine : str, sqlalchemy.URL or sqlalchemy.Engine
        The database. For a URL the source makes an engine with autocommit, and `close` disposes it. Pass an Engine to
        choose the size of the pool; you dispose it yourself.
    query : str
        The SQL, with ``:keys`` for all keys of a call, as in ``WHERE id IN :keys``. A query with ``:key`` serves one
        key per call, as in ``WHERE id = :key``. Write a colon that is not a parameter as ``\\:``.
    provides : sequence of str, or dict
        The columns of the result that are features; a dict also tells their types. Further columns are ignored.
        Decimal numbers become float.
    key : str or sequence of str, default="key"
        The column of the result that holds the key. Its values must equal the keys that were asked for, also in type.
        Several columns make keys that are tuples, as in ``WHERE (ward, bed) IN :keys``. A query with ``:key`` does not
        need this column.
    parameter : str, default="keys"
        The name of the parameter for all keys of a call.
    name : str, optional
        How traces, metrics and messages call the source; by default its first feature.
    cost : float, optional
        The price of a call.
    max_batch : int or None, default=1000
        How many keys a call may have; None for any number. It is 1 for a query with ``:key``.
    timeout : float, optional
        How many seconds a call may take.

    Attributes
    ----------
    features : tuple of str
        The features that a call returns.
    types : dict
        The type of each feature; None for any.

    Examples
    --------
    >>> import sqlalchemy
    >>> from thrifty.runtime import SQLSource
    >>> database = sqlalchemy.create_engine("sqlite://")
    >>> with database.begin() as connection:
    ...     _ = connection.exec_driver_sql("CREATE TABLE patients (id TEXT PRIMARY KEY, age INTEGER, tsh REAL)")
    ...     _ = connection.exec_driver_sql("INSERT INTO patients VALUES ('a17', 63, 1.4), ('b02', 41, NULL)")
    >>> query = "SELECT id, age, tsh FROM patients WHERE id IN :keys"
    >>> source = SQLSource(database, query, provides=["age", "tsh"], key="id")
    >>> source.read(["b02", "a17", "c99"])
    [{'age': 41, 'tsh': None}, {'age': 63, 'tsh': 1.4}, None]
    >>> database.dispose()
    """

    def __init__(
        self,
        engine: str | URL | Engine,
        query: str,
        *,
        provides: Sequence[str] | Mapping[str, type | None],
        key: str | Sequence[str] = "key",
        parameter: str = "keys",
        name: str | None = None,
        cost: float | None = None,
        max_batch: int | None = 1000,
        timeout: float | None = None,
    ):
        super().__init__(provides, name=name, cost=cost, max_batch=max_batch, timeout=timeout)
        sqlalchemy = _sqlalchemy()
        self._key_columns = (key,) if isinstance(key, str) else tuple(key)
        self._statement, self._takes_many = self._parsed(query, parameter)
        self._parameter = parameter if self._takes_many else "key"
        if not self._takes_many:
            self.max_batch = 1
        self._owns_engine = not isinstance(engine, sqlalchemy.Engine)
        self._engine: Engine = engine if isinstance(engine, sqlalchemy.Engine) else self._made_engine(engine)

    def read(self, keys: Sequence[Any]) -> list[Record | None]:
        """Return the record of each key, in order; None for a key without a row.

        Parameters
        ----------
        keys : sequence
            At most `max_batch` keys.

        Returns
        -------
        list of dict or None
        """
        if not keys:
            return []
        asked = [_plain(key) for key in keys]
        if not self._takes_many:
            return [self._one(key) for key in asked]
        columns, rows = self._result_of(list(dict.fromkeys(asked)))
        found = self._by_key(columns, rows, asked)
        return [found.get(key) for key in asked]

    def close(self) -> None:
        """Close the connections, if the source made the database engine."""
        if self._owns_engine:
            self._engine.dispose()

    async def aclose(self) -> None:
        """Close the connections, if the source made the database engine."""
        self.close()

    def _one(self, key: Any) -> Record | None:
        columns, rows = self._result_of(key)
        if len(rows) > 1:
            raise self._duplicate(key, len(rows))
        places = self._places(self.features, columns)
        return self._record(rows[0], places) if rows else None

    def _by_key(
        self, columns: Sequence[str], rows: Sequence[Sequence[Any]], asked: Sequence[Any]
    ) -> dict[Any, Record | None]:
        key_places = self._places(self._key_columns, columns)
        places = self._places(self.features, columns)
        expected = set(asked)
        found: dict[Any, Record | None] = {}
        for row in rows:
            key = row[key_places[0]] if len(key_places) == 1 else tuple(row[place] for place in key_places)
            if key not in expected:
                raise self._unexpected(key, asked[0])
            if key in found:
                raise self._duplicate(key, 2)
            found[key] = self._record(row, places)
        return found

    def _record(self, row: Sequence[Any], places: Sequence[int]) -> Record:
        values = (row[place] for place in places)
        return {
            feature: float(value) if isinstance(value, Decimal) else value
            for feature, value in zip(self.features, values, strict=True)
        }

    def _result_of(self, keys: Any) -> tuple[list[str], Sequence[Sequence[Any]]]:
        """Run the query; return the names of the columns, and the rows."""
        try:
            with self._connection() as connection:
                result = connection.execute(self._statement, {self._parameter: keys})
                return list(result.keys()), result.all()
        except Exception as error:  # drivers also raise exceptions that SQLAlchemy does not know
            raise SourceError(f"source {self.name!r}: the query failed ({_reason(error)}).") from error

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            if self.timeout is not None and not self._owns_engine and self._engine.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="READ COMMITTED")  # SET LOCAL needs BEGIN
                connection.exec_driver_sql(f"SET LOCAL statement_timeout = {_milliseconds(self.timeout)}")
            yield connection

    def _places(self, names: Sequence[str], columns: Sequence[str]) -> list[int]:
        """Return where the columns of these names are in a row of the result."""
        for name in names:
            if columns.count(name) != 1:
                problem = "no column" if name not in columns else "more than one column"
                raise SourceError(
                    f"source {self.name!r}: the result has {problem} {name!r}. Its columns are "
                    f"{', '.join(map(repr, columns))}. Name the columns in the query with AS."
                )
        return [columns.index(name) for name in names]

    def _duplicate(self, key: Any, n_rows: int) -> SourceError:
        return SourceError(
            f"source {self.name!r}: the query returned {n_rows} rows or more for key {key!r}. Expected one row."
        )

    def _unexpected(self, key: Any, asked: Any) -> SourceError:
        return SourceError(
            f"source {self.name!r}: the query returned key {key!r} ({_type_name(key)}), which was not asked for. "
            f"Keys such as {asked!r} ({_type_name(asked)}) were. Return keys of the same value and type; use CAST."
        )

    def _parsed(self, query: str, parameter: str) -> tuple[TextClause, bool]:
        """Return the statement, and whether a call may have many keys."""
        sqlalchemy = _sqlalchemy()
        statement = sqlalchemy.text(query)
        names = set(statement.compile().params)
        if names == {parameter}:
            return statement.bindparams(sqlalchemy.bindparam(parameter, expanding=True)), True
        if names == {"key"}:
            return statement, False
        found = ", ".join(f":{each}" for each in sorted(names)) or "none"
        raise SourceError(
            f"source {self.name!r}: the parameters of the query are {found}; expected :{parameter} alone for a batch "
            "of keys, or :key alone for one key. Write a colon that is not a parameter as \\:."
        )

    def _made_engine(self, url: Any) -> Engine:
        sqlalchemy = _sqlalchemy()
        try:
            parsed = sqlalchemy.make_url(url)
            # One statement per call needs no transaction, and without one it needs no round trips for it.
            engine = sqlalchemy.create_engine(parsed, isolation_level="AUTOCOMMIT", connect_args=self._limits(parsed))
        except ImportError as error:
            raise MissingExtraError(
                f"source {self.name!r}: the database driver {error.name!r} is not installed. Install it, or name "
                "another driver in the URL, such as postgresql+psycopg://."
            ) from error
        except (sqlalchemy.exc.ArgumentError, AttributeError) as error:
            raise SourceError(
                f"source {self.name!r}: engine is not a sqlalchemy.Engine and not a URL of a database, such as "
                "'postgresql+psycopg://user@host/database'."
            ) from error
        if self.timeout is not None and engine.dialect.name == "postgresql":
            sqlalchemy.event.listen(engine, "connect", self._limit_statements)
        return engine

    def _limits(self, url: URL) -> dict[str, Any]:
        if self.timeout is None or url.get_dialect().driver not in LIBPQ_DRIVERS:
            return {}
        return {"connect_timeout": max(SHORTEST_CONNECT_TIMEOUT, math.ceil(self.timeout))}

    def _limit_statements(self, connection: Any, _record: Any) -> None:
        """Set the time limit of statements on a new connection."""
        assert self.timeout is not None
        cursor = connection.cursor()
        cursor.execute(f"SET statement_timeout = {_milliseconds(self.timeout)}")
        cursor.close()
        connection.commit()


def _sqlalchemy() -> Any:
    try:
        import sqlalchemy
    except ImportError as error:
        raise MissingExtraError("SQLSource needs SQLAlchemy. Run: pip install 'thrifty[sql]'") from error
    return sqlalchemy


def _milliseconds(seconds: float) -> int:
    return max(1, math.ceil(1000 * seconds))  # 0 means no limit


def _plain(key: Any) -> Any:
    """Return a key in types that database drivers know."""
    if isinstance(key, np.generic):
        return key.item()
    return tuple(_plain(each) for each in key) if isinstance(key, tuple | list) else key


def _reason(error: Exception) -> str:
    """Return the first line of the driver's message; SQLAlchemy's own message would add the query and the keys."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    return f"{type(cause).__name__}: {lines[0][:200]}" if lines else type(cause).__name__


def _type_name(value: Any) -> str:
    return type(value).__name__
