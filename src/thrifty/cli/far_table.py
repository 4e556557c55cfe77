"""A folder of Parquet files as a Dask DataFrame: partitions are files, which workers read when they need them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.cli.tables.parquet import ParquetTable
from thrifty.cli.tables.parquet_folder import ParquetFolder
from thrifty.cli.tables.table_file import refuse_missing_queries


@dataclass(frozen=True)
class FileReader:
    """Reads the rows of a file that have a target.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns and types of all files.
    columns : sequence of str
        The features.
    target : str
    kind : str
        The type of the targets, in all files.
    groups : dict
        The columns of queries and groups, by the option that names them. No entry may be missing.
    """

    schema: Any
    columns: Sequence[str]
    target: str
    kind: str
    groups: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, path: Path) -> Any:
        """Return a DataFrame of the features and the target."""
        with ParquetTable(path, self.schema) as table:
            frame = self.typed(table.read())
        for option, name in self.groups.items():
            refuse_missing_queries(frame[name], str(path), option)
        for name in frame.select_dtypes("floating"):
            if (odd := np.flatnonzero(np.isinf(frame[name]))).size:
                raise ValueError(
                    f"{path}: {name!r} is {frame[name].iloc[odd[0]]} in row {frame.index[odd[0]] + 1}; expected finite "
                    "numbers, or nothing if they are unavailable. Correct the file."
                )
        return frame

    def typed(self, frame: Any) -> Any:
        """Return the rows that have a target, with targets of one type."""
        frame = frame[[*self.columns, self.target, *dict.fromkeys(self.groups.values())]]
        known = frame[frame[self.target].notna()]
        return known.assign(**{self.target: known[self.target].astype(self.kind)})


def far_frame(
    rows: ParquetFolder, columns: Sequence[str], target: str, task: str | None, groups: Mapping[str, str]
) -> Any:
    """Return the features, the targets, and other columns of a folder as a Dask DataFrame.

    Parameters
    ----------
    rows : ParquetFolder
    columns : sequence of str
        The features.
    target : str
        The column with the targets. Rows without one are left out.
    task : str or None
        "classification", "regression", "ranking", or None.
    groups : dict
        The columns of queries and groups, by the option that names them.
    """
    from thrifty.distributed import clusters

    reader = FileReader(rows.schema, columns, target, kind_of_targets(rows, target, task), groups)
    files = [path.absolute() for path in rows.files]  # workers may run in other folders
    return clusters.frame(reader, files, reader.typed(rows.empty()))


def kind_of_targets(rows: ParquetFolder, target: str, task: str | None) -> str:
    """Return the type of the targets: that of the column, but numbers that are all whole are integers."""
    import pyarrow

    kind = rows.schema.field(target).type
    if pyarrow.types.is_boolean(kind):
        return "bool"
    if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
        if task in ("regression", "ranking"):
            raise ValueError(f"--target is {target!r}, which has type {kind}; {task} needs numbers.")
        return "str"
    if task == "regression":
        return "float64"
    if pyarrow.types.is_integer(kind) or all(_are_whole(path, target) for path in rows.files):
        return "int64"
    return "str" if task == "classification" else "float64"


def _are_whole(path: Path, target: str) -> bool:
    import pyarrow.parquet

    from thrifty.cli.search import LARGEST_WHOLE

    values = pyarrow.parquet.read_table(path, columns=[target], partitioning=None)[target].drop_null().to_numpy()
    return bool(((values == values.round()) & (abs(values) <= LARGEST_WHOLE)).all())
