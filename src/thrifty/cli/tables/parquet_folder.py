"""Reader of a folder of Parquet files: one table, whose files have the same columns and types."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from thrifty.cli.tables.parquet import ParquetTable, as_frame, import_pyarrow
from thrifty.cli.tables.table_file import PARQUET, TableFile

NOT_DATA = (".", "_")  # names of files that other tools write beside the data, such as _SUCCESS, begin so
REWRITE = "Write all files with the same columns and types."


class ParquetFolder(TableFile):
    """The Parquet files of a folder in the order of their names.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    files : list of Path
        The files.
    n_rows : list of int
        The number of rows of each file.
    schema : pyarrow.Schema
        The columns of all files, and the types that they are read as.
    """

    def __init__(self, folder: Path):
        self.place = str(folder)
        import_pyarrow(self.place)
        self.files = parquet_files(folder)
        schemas, self.n_rows = [], []
        for path in self.files:
            with ParquetTable(path) as table:
                schemas.append(table.schema)
                self.n_rows.append(int(table.size or 0))
        self.schema = common_schema(self.files, schemas)
        self.names = self.schema.names
        self.size, self._done = sum(self.n_rows), 0.0

    def read(self, text: Collection[str] = ()) -> Any:
        """Return all rows as a pandas DataFrame; the files have types, so `text` is not used."""
        import pyarrow

        return as_frame(pyarrow.concat_tables([self._read(path) for path in self.files]))

    def chunks(self, text: Collection[str] = (), verbatim: Collection[str] = ()) -> Iterator[Any]:
        """Yield the rows as DataFrames of limited size; chunks without rows only if there are no rows at all."""
        for path, n_rows in zip(self.files, self.n_rows, strict=True):
            if n_rows:
                with ParquetTable(path, self.schema) as table:
                    for chunk in table.chunks():
                        self._done += len(chunk)
                        yield chunk
        if not self.size:
            yield self.read()

    def empty(self) -> Any:
        """Return the columns without rows, as a DataFrame."""
        return as_frame(self.schema.empty_table())

    def position(self) -> float:
        """Return how many rows have been read."""
        return self._done

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _read(self, path: Path) -> Any:
        with ParquetTable(path, self.schema) as table:
            return table.read_arrow()


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder by name, or raise ValueError if there is anything else in it."""
    found = sorted(path for path in folder.iterdir() if not path.name.startswith(NOT_DATA))
    for path in found:
        if path.is_dir():
            raise ValueError(f"'{path}' is a folder in a folder of Parquet files. Move its files up, or pass it alone.")
        if path.suffix.lower() not in PARQUET:
            raise ValueError(
                f"'{path}' is not a Parquet file; a folder must hold only files that end in {' or '.join(PARQUET)}. "
                "Move it elsewhere."
            )
    if not found:
        raise ValueError(f"'{folder}' has no Parquet files. Pass a folder with files that end in {PARQUET[0]}.")
    return found


def common_schema(files: list[Path], schemas: list[Any]) -> Any:
    """Return the schema that all files have, or raise ValueError that names the first file that differs.

    A column without any value has the type null in a file. It then has the type of the other files.
    """
    import pyarrow

    types = dict(zip(schemas[0].names, schemas[0].types, strict=True))
    known = dict.fromkeys(types, files[0])  # the file that has decided a type
    for path, schema in zip(files, schemas, strict=True):
        for name in types:
            if name not in schema.names:
                raise ValueError(f"{path}: the file lacks column {name!r}, which '{files[0].name}' has. {REWRITE}")
        for name, kind in zip(schema.names, schema.types, strict=True):
            if name not in types:
                raise ValueError(f"{path}: the file has column {name!r}, which '{files[0].name}' lacks. {REWRITE}")
            if pyarrow.types.is_null(types[name]):
                types[name], known[name] = kind, path
            elif kind != types[name] and not pyarrow.types.is_null(kind):
                expected = f"expected {types[name]} as in '{known[name].name}'"
                raise ValueError(f"{path}: column {name!r} has type {kind}; {expected}. {REWRITE}")
    return pyarrow.schema(list(types.items()))
