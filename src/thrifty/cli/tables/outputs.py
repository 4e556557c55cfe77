"""Writers of predictions, chunk by chunk, to a file or to standard output.

A file gets its name when it is complete, so that an error leaves the old file unchanged.
"""

import gzip
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

from thrifty.cli.output_files import refuse_unwritable
from thrifty.cli.tables.parquet import import_pyarrow
from thrifty.cli.tables.table_file import DELIMITED, PARQUET, STDIN, suffix_of
from thrifty.cli.words import printable
from thrifty.replacing import replacing

JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (*DELIMITED, *PARQUET, *JSON_LINES)
STDOUT = STDIN


class Output(ABC):
    """Writer of DataFrames that have the same columns; if `nested`, cells may be lists."""

    nested = False

    @abstractmethod
    def write(self, chunk: Any) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Finish the output."""
        return


@contextmanager
def open_output(path: Path, *, json_lines: bool = False) -> Iterator[Output]:
    """Open the writer for the suffix of a path; "-" is standard output."""
    suffix = suffix_of(path)
    if str(path) != STDOUT and suffix not in SUFFIXES:
        raise ValueError(
            f"--output is '{path}'; expected a name that ends in {', '.join(SUFFIXES)}, or - for standard output."
        )
    if str(path) != STDOUT:
        refuse_unwritable(path)
    with ExitStack() as stack:
        output: Output
        if suffix in PARQUET:
            import_pyarrow(str(path))
            output = ParquetOutput(stack.enter_context(replacing(path)))
        else:
            text = _standard_output() if str(path) == STDOUT else stack.enter_context(_text_file(path))
            as_json = json_lines or suffix in JSON_LINES
            output = JsonLinesOutput(text) if as_json else DelimitedOutput(text, "\t" if suffix == ".tsv" else ",")
        yield output
        output.close()


@contextmanager
def _text_file(path: Path) -> Iterator[Any]:
    open_text = gzip.open if path.suffix.lower() == ".gz" else open
    with replacing(path) as unfinished, open_text(unfinished, "wt", encoding="utf-8", newline="") as text:
        yield text


class PrintableText:
    """Writes to a terminal, without the control characters of names and values."""

    def write(self, text: str) -> int:
        """Write text; its lines stay lines."""
        return sys.stdout.write("\n".join(map(printable, text.split("\n"))))

    def flush(self) -> None:
        """Flush the terminal."""
        sys.stdout.flush()


def _standard_output() -> Any:
    return PrintableText() if sys.stdout.isatty() else sys.stdout


class DelimitedOutput(Output):
    """CSV or TSV, with a header."""

    def __init__(self, text: Any, delimiter: str):
        self._text, self._delimiter, self._header = text, delimiter, True

    def write(self, chunk: Any) -> None:
        """Write some rows."""
        chunk.to_csv(self._text, sep=self._delimiter, header=self._header, index=False, lineterminator="\n")
        self._header = False


class JsonLinesOutput(Output):
    """One JSON object per line."""

    nested = True

    def __init__(self, text: Any):
        self._text = text

    def write(self, chunk: Any) -> None:
        """Write some rows."""
        for record in chunk.to_dict("records"):  # DataFrame.to_json rounds to 15 digits
            self._text.write(json.dumps(record, ensure_ascii=False) + "\n")


class ParquetOutput(Output):
    """Parquet, one row group per chunk; the first chunk decides the types."""

    def __init__(self, path: Path):
        self._path, self._writer = path, cast(Any, None)

    def write(self, chunk: Any) -> None:
        """Write some rows."""
        import pyarrow
        import pyarrow.parquet

        schema = self._writer.schema if self._writer else None
        table = pyarrow.Table.from_pandas(chunk, schema=schema, preserve_index=False)
        self._writer = self._writer or pyarrow.parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the footer."""
        if self._writer:
            self._writer.close()
