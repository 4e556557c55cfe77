"""Reader of Parquet files, through pyarrow, which is an optional dependency."""

import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from thrifty.cli.tables.table_file import TableFile
from thrifty.exceptions import MissingExtraError


class ParquetTable(TableFile):
    """A Parquet file, read a batch of rows at a time."""

    def __init__(self, path: Path):
        self.place = str(path)
        arrow = import_pyarrow(self.place)
        if not path.is_file():
            raise OSError(f"'{path}' is not a file that can be read. Check the path.")
        try:
            self._file = arrow.parquet.ParquetFile(path)
        except arrow.ArrowException as error:
            raise ValueError(f"{path}: this is not a Parquet file ({error}).") from None
        schema = self._file.schema_arrow
        self.names = [name for name in schema.names if not re.fullmatch(r"__index_level_\d+__", name)]
        self.size, self._done = self._file.metadata.num_rows, 0
        with ExitStack() as on_error:
            on_error.callback(self.close)
            self.refuse_repeated_names()
            if not self.names:
                raise ValueError(f"{path}: the table has no columns.")
            on_error.pop_all()

    def read(self, text: Collection[str] = ()) -> Any:
        """Return all rows as a pandas DataFrame; the file has types, so `text` is not used."""
        return _to_pandas(self._file.read(columns=self.names))

    def chunks(self, text: Collection[str] = (), verbatim: Collection[str] = ()) -> Iterator[Any]:
        """Yield the rows as DataFrames of limited size; the file has types, so the arguments are not used."""
        import pyarrow

        for batch in self._file.iter_batches(self.rows_per_chunk(), columns=self.names):
            self._done += batch.num_rows
            yield _to_pandas(pyarrow.Table.from_batches([batch]))
        if not self._done:
            yield self.read()

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


def _to_pandas(table: Any) -> Any:
    """Return a DataFrame, with decimals as floats and dictionary-encoded columns as plain columns."""
    import pyarrow

    plain = []
    for field in table.schema:
        kind = field.type
        if pyarrow.types.is_decimal(kind):
            kind = pyarrow.float64()
        elif pyarrow.types.is_dictionary(kind):
            kind = kind.value_type
        plain.append(field.with_type(kind))
    return table.cast(pyarrow.schema(plain)).to_pandas(ignore_metadata=True, date_as_object=False)
