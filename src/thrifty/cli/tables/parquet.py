"""Reader of Parquet files, through pyarrow, which is an optional dependency."""

import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from thrifty.cli.tables.table_file import TableFile
from thrifty.exceptions import MissingExtraError


class ParquetTable(TableFile):
    """A Parquet file, read a batch of rows at a time.

    Parameters
    ----------
    path : Path
    schema : pyarrow.Schema, optional
        The columns to read and their types. By default those of the file.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns and the types that they are read as.
    """

    def __init__(self, path: Path, schema: Any = None):
        self.place = str(path)
        arrow = import_pyarrow(self.place)
        if not path.is_file():
            raise OSError(f"'{path}' is not a file that can be read. Check the path.")
        try:
            self._file = arrow.parquet.ParquetFile(path)
        except arrow.ArrowException as error:
            raise ValueError(f"{path}: this is not a Parquet file ({error}).") from None
        self.schema = _plain(self._file.schema_arrow) if schema is None else schema
        self.names = self.schema.names
        self.size, self._done = self._file.metadata.num_rows, 0
        with ExitStack() as on_error:
            on_error.callback(self.close)
            self.refuse_repeated_names()
            if not self.names:
                raise ValueError(f"{path}: the table has no columns.")
            on_error.pop_all()

    def read(self, text: Collection[str] = ()) -> Any:
        """Return all rows as a pandas DataFrame; the file has types, so `text` is not used."""
        return as_frame(self.read_arrow())

    def read_arrow(self) -> Any:
        """Return all rows as a pyarrow Table."""
        with _clear_errors(self.place):
            return self._cast(self._file.read(columns=self.names))

    def chunks(self, text: Collection[str] = (), verbatim: Collection[str] = ()) -> Iterator[Any]:
        """Yield the rows as DataFrames of limited size; the file has types, so the arguments are not used."""
        yield from map(as_frame, self.arrow_chunks())

    def arrow_chunks(self) -> Iterator[Any]:
        """Yield the rows as pyarrow Tables of limited size; one without rows if there are none."""
        import pyarrow

        with _clear_errors(self.place):
            for batch in self._file.iter_batches(self.rows_per_chunk(), columns=self.names):
                self._done += batch.num_rows
                yield self._cast(pyarrow.Table.from_batches([batch]))
            if not self._done:
                yield self.read_arrow()

    def _cast(self, table: Any) -> Any:
        return table.select(self.names).cast(self.schema)

    def position(self) -> float:
        """Return how many rows have been read."""
        return self._done

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def import_pyarrow(place: str) -> Any:
    """Import pyarrow, or raise an error that says how to install it."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(f"{place}: Parquet needs pyarrow. Run: pip install 'thrifty[parquet]'") from error
    return pyarrow


@contextmanager
def _clear_errors(place: str) -> Iterator[None]:
    """Name the file in errors about its content, such as a damaged page."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{place}: the file cannot be read ({error}). It may be damaged; write it again.") from None


def as_frame(table: Any) -> Any:
    """Return a pyarrow Table as a DataFrame."""
    return table.to_pandas(ignore_metadata=True, date_as_object=False)


def _plain(schema: Any) -> Any:
    """Return a schema without the columns of an index, with floats for decimals, and text for dictionaries of text."""
    import pyarrow

    plain = []
    for field in schema:
        kind = field.type
        if pyarrow.types.is_decimal(kind):
            kind = pyarrow.float64()
        elif pyarrow.types.is_dictionary(kind):
            kind = kind.value_type
        if pyarrow.types.is_string(kind):
            kind = pyarrow.large_string()
        if not re.fullmatch(r"__index_level_\d+__", field.name):
            plain.append(field.with_type(kind).with_nullable(True).remove_metadata())
    return pyarrow.schema(plain)
