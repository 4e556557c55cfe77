"""CSV and its kin: UTF-8 with or without a byte order mark, plain or gzipped, split by comma, semicolon, tab or bar.

The header is read here, so that a doubtful one is refused in words; the rows are left to pandas. A row may end early,
as spreadsheets write it: what is not there is missing. A row that is too long is refused, for then the delimiter stands
inside a value and everything behind it has moved.
"""

import csv
import gzip
import io
import re
import sys
import warnings
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from thrifty.cli.tables.opening import STDIN, TableFile, suffix_of
from thrifty.cli.terminal import note

DELIMITERS = (",", ";", "\t", "|")
GZIP = b"\x1f\x8b"
ALSO_MISSING = ["?"]  # beside what pandas takes for missing: empty cells, NA, NaN, null and the like


class DelimitedFile(TableFile):
    """A delimited text file, or standard input."""

    def __init__(self, path: Path):
        self.place = "standard input" if str(path) == STDIN else str(path)
        self._raw = _opened(path)
        self.size = None if str(path) == STDIN else path.stat().st_size
        self._text = io.TextIOWrapper(_unpacked(self._raw), encoding="utf-8-sig")
        with ExitStack() as unless_sound:
            unless_sound.callback(self.close)
            with self._located():
                self._delimiter, self._header = _read_header(self._text, suffix_of(path))
                self._leave_unnamed_out()
            self.refuse_repeated()
            unless_sound.pop_all()

    def read(self) -> Any:
        """Return all rows as a pandas DataFrame."""
        with self._located():
            return self._reader(dtype=None)[self.names]

    def chunks(self, text: Collection[str] = ()) -> Iterator[Any]:
        """Yield the rows as DataFrames of a limited size; columns in `text` are read as they stand."""
        with self._located(), self._reader(dtype=dict.fromkeys(text, str), chunksize=self.rows_at_once()) as reader:
            for chunk in reader:
                yield chunk[self.names]

    def position(self) -> float:
        """Return how many bytes have been read."""
        return self._raw.tell() if self.size is not None else 0

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.size is not None:
            self._text.close()
            self._raw.close()

    def _reader(self, **options: Any) -> Any:
        import pandas

        return pandas.read_csv(
            self._text,
            sep=self._delimiter,
            header=None,
            names=self._header,
            index_col=False,
            skipinitialspace=True,
            skip_blank_lines=len(self._header) > 1,  # of a single column an empty line is a missing value
            na_values=ALSO_MISSING,
            low_memory=False,  # types are those of the whole column or chunk
            **options,
        )

    def _leave_unnamed_out(self) -> None:
        """Leave out columns without a name, such as the row numbers that other tools write."""
        if not any(self._header):
            raise ValueError("the first line is empty. Begin with a line that names the columns.")
        self.names = [name for name in self._header if name]
        if unnamed := [k for k, name in enumerate(self._header) if not name]:
            note(f"{self.place}: column {unnamed[0] + 1} has no name and is left out.")
            for k in unnamed:
                self._header[k] = f"\0{k}"  # pandas wants names that differ

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Say where it was and what to do, whoever finds the file unreadable."""
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="Length of header or names")
                yield
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.place}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{self.place}: cannot be unpacked ({error}). Get the whole file.") from None
        except Warning:
            raise ValueError(f"{self.place}: {_too_long('1')}") from None
        except ValueError as error:
            if "Calling read(nbytes) on source failed" in str(error):  # pandas hides what is no Exception behind it
                raise KeyboardInterrupt from None
            found = re.search(r"Expected \d+ fields in line (\d+), saw \d+", str(error))
            raise ValueError(f"{self.place}: {_too_long(found[1]) if found else error}") from None


def _too_long(row: str) -> str:
    return f"row {row} has more cells than there are columns. Quote values that hold the delimiter."


def _opened(path: Path) -> Any:
    if str(path) == STDIN:
        return sys.stdin.buffer
    try:
        return path.open("rb")
    except OSError as error:
        raise OSError(f"'{path}' cannot be read ({error.strerror}). Check the path.") from None


def _unpacked(raw: Any) -> Any:
    return gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == GZIP else raw


def _read_header(text: io.TextIOWrapper, suffix: str) -> tuple[str, list[str]]:
    """Read the first line that is not empty; return the delimiter and the names of the columns."""
    first = next((line for line in text if line.strip("\r\n")), "")
    if not first.strip():
        raise ValueError("is empty. Begin with a line that names the columns.")
    delimiter = "\t" if suffix == ".tsv" else _most_frequent_delimiter(first)
    cells = next(csv.reader(chain([first], text), delimiter=delimiter, skipinitialspace=True))
    return delimiter, [cell.strip() for cell in cells]


def _most_frequent_delimiter(line: str) -> str:
    """Return what splits a header; a comma where nothing does.

    >>> _most_frequent_delimiter('age;"sex, at birth";chol')
    ';'
    """
    bare = re.sub('"[^"]*"', "", line)
    return max(DELIMITERS, key=bare.count)
