"""Reader of delimited text: UTF-8 with or without a byte order mark, plain or gzipped; comma, semicolon, tab or bar.

This module reads the header, so that it can refuse an invalid header with a clear message. pandas reads the rows. A row
may have fewer cells than the header, as spreadsheets write it: its last values are missing. A row with more cells is
refused, because then a value contains the delimiter and all cells after it are in the wrong column.
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

from thrifty.cli.tables.table_file import STDIN, TableFile, suffix_of
from thrifty.cli.terminal import note

DELIMITERS = (",", ";", "\t", "|")
GZIP = b"\x1f\x8b"
MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null",
    "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
)  # fmt: skip


class DelimitedFile(TableFile):
    """A delimited text file, or standard input."""

    def __init__(self, path: Path):
        self.place = "standard input" if str(path) == STDIN else str(path)
        self._raw = _open_bytes(path)
        self.size = None if str(path) == STDIN else path.stat().st_size
        is_gzip = self._raw.peek(2)[:2] == GZIP
        self._text = io.TextIOWrapper(gzip.GzipFile(fileobj=self._raw) if is_gzip else self._raw, encoding="utf-8-sig")
        with ExitStack() as on_error:
            on_error.callback(self.close)
            with self._clear_errors():
                self._delimiter, self._header = _read_header(self._text, suffix_of(path))
                self._leave_out_unnamed()
            self.refuse_repeated_names()
            on_error.pop_all()

    def read(self, text: Collection[str] = ()) -> Any:
        """Return all rows as a pandas DataFrame; columns in `text` are read as text."""
        with self._clear_errors():
            return self._reader(dtype=dict.fromkeys(text, str))[self.names]

    def chunks(self, text: Collection[str] = (), verbatim: Collection[str] = ()) -> Iterator[Any]:
        """Yield the rows as DataFrames of limited size; columns in `verbatim` are text, and no value is missing."""
        options = {"dtype": dict.fromkeys([*text, *verbatim], str), "chunksize": self.rows_per_chunk()}
        with self._clear_errors(), self._reader(verbatim, **options) as reader:
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

    def _reader(self, verbatim: Collection[str] = (), **options: Any) -> Any:
        import pandas

        missing = {name: MISSING for name in self._header if name not in verbatim} if verbatim else MISSING
        return pandas.read_csv(
            self._text,
            sep=self._delimiter,
            header=None,
            names=self._header,
            index_col=False,
            skipinitialspace=True,
            skip_blank_lines=len(self._header) > 1,  # in a table of one column an empty line is a missing value
            keep_default_na=False,
            na_values=missing,
            low_memory=False,  # so that the type of a column does not change within a chunk
            **options,
        )

    def _leave_out_unnamed(self) -> None:
        """Leave out columns without a name, such as the row numbers that other tools write."""
        if not any(self._header):
            raise ValueError("the first line has no column names. Begin with a line that names the columns.")
        self.names = [name for name in self._header if name]
        if unnamed := [k for k, name in enumerate(self._header) if not name]:
            note(f"{self.place}: column {unnamed[0] + 1} has no name and is left out.")
            for k in unnamed:
                self._header[k] = f"\0{k}"  # pandas needs distinct names

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn the errors of all readers into messages that name the place and say what to do."""
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="Length of header or names")
                yield
        except csv.Error as error:
            raise ValueError(
                f"{self.place}: the first line cannot be read ({error}). It must name the columns."
            ) from None
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.place}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{self.place}: the file cannot be unpacked ({error}). It may be incomplete.") from None
        except Warning:
            raise ValueError(f"{self.place}: {_too_long('1')}") from None
        except ValueError as error:
            if "Calling read(nbytes) on source failed" in str(error):  # how pandas reports a Ctrl-C
                raise KeyboardInterrupt from None
            found = re.search(r"Expected \d+ fields in line (\d+), saw \d+", str(error))
            raise ValueError(f"{self.place}: {_too_long(found[1]) if found else error}") from None


def _too_long(row: str) -> str:
    return f"row {row} has more cells than there are columns. Quote values that hold the delimiter."


def _open_bytes(path: Path) -> Any:
    if str(path) == STDIN:
        return sys.stdin.buffer
    try:
        return path.open("rb")
    except OSError as error:
        raise OSError(f"'{path}' cannot be read ({error.strerror}). Check the path.") from None


def _read_header(text: io.TextIOWrapper, suffix: str) -> tuple[str, list[str]]:
    """Read the first line that is not empty; return the delimiter and the names of the columns."""
    first = next((line for line in text if line.strip("\r\n")), "")
    if not first.strip():
        raise ValueError("the file is empty. Begin with a line that names the columns.")
    delimiter = "\t" if suffix == ".tsv" else most_frequent_delimiter(first)
    cells = next(csv.reader(chain([first], text), delimiter=delimiter, skipinitialspace=True))
    return delimiter, [cell.strip() for cell in cells]


def most_frequent_delimiter(line: str) -> str:
    """Return the delimiter that occurs most often outside quotes; a comma if none occurs.

    >>> most_frequent_delimiter('age;"sex, at birth";chol')
    ';'
    """
    return max(DELIMITERS, key=re.sub('"[^"]*"', "", line).count)
