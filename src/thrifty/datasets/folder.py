"""Read data sets from the folder that the environment variable THRIFTY_DATA names.

These data sets are not part of the package because of their size or their licence.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.datasets.sources import Source
from thrifty.exceptions import DatasetNotFoundError

VARIABLE = "THRIFTY_DATA"


def is_present(source: Source) -> bool:
    """Return whether the file of a data set is in the data folder."""
    path = _path(source)
    return path is not None and path.is_file()


def read_arrays(name: str, source: Source) -> dict[str, Any]:
    """Return all arrays of a data set, and the content of its JSON file, if it has one, under the name of that file."""
    path = _path(source)
    if path is None or not path.is_file():
        raise DatasetNotFoundError(_not_found_message(name, source, path))
    with np.load(path, allow_pickle=False) as file:
        arrays: dict[str, Any] = dict(file)
    if missing := [key for key in source.arrays if key not in arrays]:
        raise DatasetNotFoundError(f"data set {name!r}: {path} lacks {', '.join(missing)}. {_layout(source)}")
    if source.companion:
        companion = path.with_name(source.companion)
        if not companion.is_file():
            raise DatasetNotFoundError(f"data set {name!r}: {companion} does not exist. {_layout(source)}")
        arrays[companion.stem] = json.loads(companion.read_text(encoding="utf-8"))
    return arrays


def _path(source: Source) -> Path | None:
    folder = os.environ.get(VARIABLE)
    return Path(folder) / source.file if folder else None


def _not_found_message(name: str, source: Source, path: Path | None) -> str:
    problem = f"{source.file}, but {VARIABLE} is not set" if path is None else f"{path}, which does not exist"
    return (
        f"data set {name!r} needs the file {problem}. Set the environment variable {VARIABLE} to your data folder. "
        f"The data set is published as {source.published}. {_layout(source)}"
    )


def _layout(source: Source) -> str:
    companion = f", and {source.companion} in the same folder" if source.companion else ""
    arrays = ", ".join(source.arrays)
    return f"Store it as {source.file}, written by numpy.savez with the arrays {arrays}{companion}."
