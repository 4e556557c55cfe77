"""The folder named by THRIFTY_DATA, which holds the sets that are too large, or not free enough, to ship."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.datasets.sources import Source
from thrifty.exceptions import DatasetNotFoundError

VARIABLE = "THRIFTY_DATA"


def is_present(source: Source) -> bool:
    """Whether the set's file lies in the data folder."""
    path = _path(source)
    return path is not None and path.is_file()


def read_arrays(name: str, source: Source) -> dict[str, Any]:
    """All arrays of the set's file, with its JSON companion under the companion's stem."""
    path = _path(source)
    if path is None or not path.is_file():
        raise DatasetNotFoundError(_how_to_get(name, source, path))
    with np.load(path, allow_pickle=False) as file:
        arrays: dict[str, Any] = dict(file)
    if missing := [key for key in source.arrays if key not in arrays]:
        raise DatasetNotFoundError(f"data set {name!r}: {path} lacks {', '.join(missing)}. {_layout(source)}")
    if source.companion:
        companion = path.with_name(source.companion)
        if not companion.is_file():
            raise DatasetNotFoundError(f"data set {name!r}: {companion} is not there. {_layout(source)}")
        arrays[companion.stem] = json.loads(companion.read_text(encoding="utf-8"))
    return arrays


def _path(source: Source) -> Path | None:
    folder = os.environ.get(VARIABLE)
    return Path(folder) / source.file if folder else None


def _how_to_get(name: str, source: Source, path: Path | None) -> str:
    where = f"{source.file}, but {VARIABLE} is not set" if path is None else f"{path}, which is not there"
    return (
        f"data set {name!r} was looked for at {where}. Point the environment variable {VARIABLE} at your "
        f"data folder. The set is published as {source.published}. {_layout(source)}"
    )


def _layout(source: Source) -> str:
    beside = f", and {source.companion} beside it" if source.companion else ""
    arrays = ", ".join(source.arrays)
    return f"Store it as {source.file}, written by numpy.savez with the arrays {arrays}{beside}."
