"""Which reader a path needs, and how much it reads at once."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

STDIN = "-"
DELIMITED = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
CELLS_AT_ONCE = 2**20
FEWEST_ROWS, MOST_ROWS = 1_000, 65_536


class TableFile(ABC):
    """A table that is open for reading, once, from its first row to its last.

    Attributes
    ----------
    place : str
        What messages call it.
    names : list of str
        Its columns; those without a name are left out.
    size : float or None
        What `position` is at the end, if that is known beforehand.
    """

    place: str
    names: list[str]
    size: float | None

    @abstractmethod
    def read(self) -> Any:
        """Return all rows as a pandas DataFrame."""

    @abstractmethod
    def chunks(self, text: Collection[str] = ()) -> Iterator[Any]:
        """Yield the rows as DataFrames of a limited size; columns in `text` are read as they stand."""

    @abstractmethod
    def position(self) -> float:
        """Return how far it has been read."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""

    def rows_at_once(self) -> int:
        """Return the rows of a chunk: as many as keep its cells few, whatever the number of columns."""
        return min(max(CELLS_AT_ONCE // len(self.names), FEWEST_ROWS), MOST_ROWS)

    def refuse_repeated(self) -> None:
        """Refuse a table in which a name stands for two columns."""
        for k, name in enumerate(self.names):
            if name in self.names[:k]:
                raise ValueError(f"{self.place}: the column {name!r} is there twice. Rename one of them.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def open_table(path: Path) -> TableFile:
    """Open a table by the suffix of its name; "-" is CSV on standard input."""
    from thrifty.cli.tables.delimited import DelimitedFile
    from thrifty.cli.tables.parquet import ParquetTable

    suffix = suffix_of(path)
    if str(path) == STDIN or suffix in DELIMITED:
        return DelimitedFile(path)
    if suffix in PARQUET:
        return ParquetTable(path)
    raise ValueError(
        f"'{path}' has the suffix {path.suffix!r}; expected {', '.join((*DELIMITED, *PARQUET))}, "
        "the first three also with .gz, or - for CSV on standard input."
    )


def suffix_of(path: Path) -> str:
    """Return the suffix that says what a file holds, whether it is compressed or not.

    >>> suffix_of(Path("rows.CSV.gz")), suffix_of(Path("rows.parquet"))
    ('.csv', '.parquet')
    """
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()
