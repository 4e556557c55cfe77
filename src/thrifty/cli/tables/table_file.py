"""A table that is open for reading, the choice of its reader, and checks of its columns."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

STDIN = "-"
DELIMITED = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
CELLS_PER_CHUNK = 2**20
MIN_CHUNK_ROWS, MAX_CHUNK_ROWS = 1_000, 65_536


class TableFile(AbstractContextManager["TableFile"], ABC):
    """A table that is open for reading, once, from the first row to the last.

    Attributes
    ----------
    place : str
        The name of the table in messages.
    names : list of str
        The columns. Columns without a name are left out.
    size : float or None
        The value of `position` at the end, if it is known in advance.
    """

    place: str
    names: list[str]
    size: float | None

    @abstractmethod
    def read(self, text: Collection[str] = ()) -> Any:
        """Return all rows as a pandas DataFrame; columns in `text` are read as text."""

    @abstractmethod
    def chunks(self, text: Collection[str] = (), verbatim: Collection[str] = ()) -> Iterator[Any]:
        """Yield the rows as DataFrames of limited size; columns in `verbatim` are text, and no value is missing."""

    @abstractmethod
    def position(self) -> float:
        """Return how much has been read."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def rows_per_chunk(self) -> int:
        """Return the number of rows in a chunk; wide tables have shorter chunks."""
        return min(max(CELLS_PER_CHUNK // len(self.names), MIN_CHUNK_ROWS), MAX_CHUNK_ROWS)

    def refuse_repeated_names(self) -> None:
        """Raise ValueError if two columns have the same name."""
        from thrifty.costs.declaration import first_repeated

        if (name := first_repeated(self.names)) is not None:
            raise ValueError(f"{self.place}: the column {name!r} appears twice. Rename one of them.")

    def refuse_unknown(self, **options: str | Sequence[str] | None) -> None:
        """Raise ValueError if an option, such as ``target="age"``, names a column that the table does not have."""
        for option, names in options.items():
            for name in [names] if isinstance(names, str) else names or ():
                if name not in self.names:
                    raise ValueError(
                        f"--{option} is {name!r}, which is not a column of {self.place}. It has {quoted(self.names)}."
                    )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def open_table(path: Path) -> TableFile:
    """Open a table with the reader for the suffix of its name; "-" is CSV on standard input, a folder has Parquet."""
    from thrifty.cli.tables.delimited import DelimitedFile
    from thrifty.cli.tables.parquet import ParquetTable
    from thrifty.cli.tables.parquet_folder import ParquetFolder

    if path.is_dir():
        return ParquetFolder(path)
    suffix = suffix_of(path)
    if str(path) == STDIN or suffix in DELIMITED:
        return DelimitedFile(path)
    if suffix in PARQUET:
        return ParquetTable(path)
    raise ValueError(
        f"'{path}' has the suffix {path.suffix!r}; expected {', '.join((*DELIMITED, *PARQUET))}, "
        "the first three also with .gz, a folder of Parquet files, or - for CSV on standard input."
    )


def suffix_of(path: Path) -> str:
    """Return the suffix of a file in lower case, without the suffix .gz of a compressed file.

    >>> suffix_of(Path("rows.CSV.gz")), suffix_of(Path("rows.parquet"))
    ('.csv', '.parquet')
    """
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def quoted(names: Sequence[str], limit: int = 12) -> str:
    """Return names in quotes; if there are many, only the first ones and the number of the others.

    >>> quoted(["age", "sex", "cp"], limit=2)
    "'age', 'sex' and 1 more"
    """
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + rest


def refuse_missing_queries(column: Any, place: str, option: str = "qid") -> None:
    """Raise ValueError if the query or the group of some rows is missing."""
    if n_missing := int(column.isna().sum()):
        raise ValueError(
            f"--{option} is {column.name!r}, which is missing in {n_missing} rows of {place}. Fill in the values, or "
            "remove these rows."
        )
