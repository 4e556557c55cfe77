"""Predictions of a folder of Parquet files, as a folder of parts: one part per file, with its name.

A part is written under a temporary name and gets its own name when it is on disk. So each part is whole or does not
exist, whatever ends the command or a worker. Each part holds in its metadata what it was made of: the model and the
options, and the size, time and footer of its input. A command that was interrupted can be run again. It keeps the parts
that are whole and made of the same, predicts the others, and refuses a folder with parts of another model.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from thrifty.cli.chunk_predictor import RANKING, ChunkPredictor
from thrifty.cli.column_notes import OddCellCounts
from thrifty.cli.loaded_model import LoadedModel
from thrifty.cli.tables.parquet import ParquetTable, as_frame
from thrifty.cli.tables.parquet_folder import ParquetFolder
from thrifty.cli.tables.table_file import refuse_missing_queries
from thrifty.replacing import replacing

OPTIONS = {  # what an option is called on the command line
    "cap": "cap",
    "qid": "qid",
    "keep": "keep",
    "all_classes": "probabilities",
    "allow_missing": "allow-missing",
    "strict": "strict",
}
RECORD = b"thrifty predict"  # the entry in the metadata of a part
UNFINISHED = ".*.unfinished"  # files that `replacing` leaves behind if a process is killed
MAGIC = 8  # bytes at the end of a Parquet file: the length of its footer, and a mark


@dataclass(frozen=True)
class Source:
    """An input file, and what tells whether it has changed."""

    path: Path
    size: int
    modified: int
    footer: str

    @classmethod
    def of(cls, path: Path) -> "Source":
        """Return the state of a file."""
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            file.seek(max(state.st_size - MAGIC, 0))
            length = int.from_bytes(file.read(MAGIC)[:4], "little")
            file.seek(max(state.st_size - MAGIC - length, 0))
            return cls(path, state.st_size, state.st_mtime_ns, sha256(file.read()).hexdigest())

    def refuse_changed(self) -> None:
        """Raise ValueError if the file is not the one that it was."""
        if Source.of(self.path) != self:
            raise ValueError(f"{self.path}: the file has changed while it was read. Run the command again.")

    def record(self) -> dict[str, Any]:
        """Return the state for the metadata of a part."""
        return {name: value for name, value in asdict(self).items() if name != "path"}


@dataclass(frozen=True)
class Done:
    """What is known of a part that is on disk."""

    n_rows: int
    total_spend: float
    largest_spend: float
    odd: OddCellCounts = field(default_factory=OddCellCounts)
    file: str = ""


@dataclass(frozen=True)
class PartWriter:
    """Predicts a file, and writes its part; any process can do it, and can do it twice.

    Attributes
    ----------
    folder : Path
        The folder of the parts, with its full path.
    options : dict
        Options of `ChunkPredictor`.
    keep : sequence of str
        Columns of the input that are written too.
    read, written : pyarrow.Schema
        The columns and types of all input files and of all parts.
    record : dict
        What the parts are made of, apart from their input.
    """

    folder: Path
    options: Mapping[str, Any]
    keep: Sequence[str]
    read: Any
    written: Any
    record: Mapping[str, Any]

    def __call__(self, loaded: LoadedModel, source: Source) -> Done:
        """Predict a file."""
        import pyarrow.parquet

        source.refuse_changed()
        metadata = {RECORD: json.dumps({**self.record, "input": source.record()})}
        schema = self.written.with_metadata(metadata)
        predictor = ChunkPredictor(loaded, str(source.path), **self.options)
        with (
            replacing(self.folder / source.path.name) as unfinished,
            ParquetTable(source.path, self.read) as table,
        ):
            with pyarrow.parquet.ParquetWriter(unfinished, schema) as writer:
                for rows in self._chunks(table):
                    writer.write_table(self._predicted(predictor, rows).cast(schema))
            source.refuse_changed()
        spend = predictor.total_spend, predictor.largest_spend
        return Done(predictor.n_rows, *spend, predictor.odd, str(source.path))

    def _chunks(self, table: ParquetTable) -> Iterator[Any]:
        """Yield the rows as pyarrow Tables; if there are queries, all rows together."""
        if (qid := self.options["qid"]) is None:
            yield from table.arrow_chunks()
        else:
            rows = table.read_arrow()
            refuse_missing_queries(rows[qid].to_pandas().rename(qid), table.place)
            yield rows

    def _predicted(self, predictor: ChunkPredictor, rows: Any) -> Any:
        """Return the columns that are kept, as they are, and the predictions."""
        import pyarrow

        names = [name for name in self.written.names if name not in self.keep]
        schema = pyarrow.schema([self.written.field(name) for name in names])
        predictions = pyarrow.Table.from_pandas(predictor.predict(as_frame(rows)), schema, preserve_index=False)
        kept = rows.select(self.keep)
        for name in names:
            kept = kept.append_column(schema.field(name), predictions[name])
        return kept


def part_writer(loaded: LoadedModel, rows: ParquetFolder, folder: Path, options: Mapping[str, Any]) -> PartWriter:
    """Return the writer of the parts of a folder of Parquet files.

    Parameters
    ----------
    loaded : LoadedModel
    rows : ParquetFolder
    folder : Path
        The folder of the parts.
    options : dict
        Options of `ChunkPredictor`.
    """
    predictor = ChunkPredictor(loaded, rows.place, **options)
    loaded.select_columns(rows.empty(), rows.files[0].as_posix(), allow_missing=options["allow_missing"])
    assert loaded.manifest is not None
    record = {"model": loaded.manifest.sha256, "rows": os.path.realpath(rows.place), **options}
    return PartWriter(
        folder.absolute(),
        {**options, "keep": ()},
        predictor.keep,
        rows.schema,
        written_schema(predictor, rows),
        json.loads(json.dumps(record)),
    )


def written_schema(predictor: ChunkPredictor, rows: ParquetFolder) -> Any:
    """Return the columns and types of predictions: those that are kept, then those that are predicted."""
    import pyarrow

    plain = pyarrow.Schema.from_pandas(predictor.predict(rows.empty()), preserve_index=False)
    kinds = {each.name: _settled(each.type) for each in plain}
    kinds |= {name: rows.schema.field(name).type for name in predictor.keep}
    if predictor.qid is not None:
        kinds[RANKING[0]] = rows.schema.field(predictor.qid).type
    return pyarrow.schema(list(kinds.items()))


def _settled(kind: Any) -> Any:
    """Return the type of a column, given its type in a table without rows, where columns of text have none."""
    import pyarrow

    is_text = pyarrow.types.is_null(kind) or pyarrow.types.is_large_string(kind)
    return pyarrow.string() if is_text else kind


def refuse_divided_queries(rows: ParquetFolder, qid: str) -> None:
    """Raise ValueError if a query has rows in two files."""
    import pyarrow.parquet

    files: dict[Any, Path] = {}
    for path in rows.files:
        column = pyarrow.parquet.read_table(path, columns=[qid], partitioning=None)[qid]
        for query in column.unique().to_pylist():
            if query in files:
                raise ValueError(
                    f"{path}: query {query!r} is also in '{files[query].name}'. Write all rows of a query to one file."
                )
            files[query] = path


# The folder of the parts


@contextmanager
def parts_folder(folder: Path) -> Iterator[None]:
    """Make a folder for parts if there is none, and keep other commands out of it; remove it if it stays empty."""
    existed = folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with _locked(folder):
            _remove_unfinished(folder)
            try:
                yield
            finally:
                _remove_unfinished(folder)
    finally:
        if not existed:
            with suppress(OSError):  # it has parts
                folder.rmdir()


def _remove_unfinished(folder: Path) -> None:
    for leftover in folder.glob(UNFINISHED):
        leftover.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder, which ends with the process; raise OSError if another process holds it."""
    try:
        import fcntl
    except ImportError:  # this system has no such locks
        yield
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"--output is '{folder}', where another command is writing. Wait until it ends.") from None
        yield
    finally:
        os.close(place)


def parts_on_disk(writer: PartWriter, folder: Path, sources: Sequence[Source]) -> tuple[dict[Source, Done], int]:
    """Return the sources whose parts are whole and need not be predicted again, and how many parts are outdated.

    Raises ValueError if the folder has anything else than parts of the same model, options and folder of rows.
    """
    inputs = {source.path.name: source for source in sources}
    done, n_outdated = {}, 0
    for path in sorted(folder.iterdir()):
        made_of = _record_of(path)
        wrong = f"--output is '{folder}', "
        if made_of is None:
            raise ValueError(f"{wrong}which has '{path.name}', not a part of these predictions. Pass a new folder.")
        for name, value in writer.record.items():
            if made_of.get(name) != value:
                what = f"of another {name}" if name in ("model", "rows") else f"with another --{OPTIONS[name]}"
                raise ValueError(f"{wrong}which has predictions {what} in '{path.name}'. Pass a new folder.")
        if path.name not in inputs:
            raise ValueError(f"{wrong}which has '{path.name}' of an input file that is gone. Pass a new folder.")
        source = inputs[path.name]
        if made_of["input"] == source.record():
            done[source] = _summary_of(path)
        else:
            n_outdated += 1
    return done, n_outdated


def _record_of(path: Path) -> dict[str, Any] | None:
    """Return what a part is made of; None if it is not a part."""
    import pyarrow
    import pyarrow.parquet

    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
    except (pyarrow.ArrowException, OSError):
        return None
    return json.loads(metadata[RECORD]) if RECORD in metadata else None


def _summary_of(path: Path) -> Done:
    import pyarrow.parquet

    spend = pyarrow.parquet.read_table(path, columns=["spend"], partitioning=None)["spend"].to_numpy()
    return Done(len(spend), float(spend.sum()), float(spend.max(initial=0.0)))
