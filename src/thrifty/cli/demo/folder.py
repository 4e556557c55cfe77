"""The folder that results go to: refused before the work if it cannot be written, filled at once after it."""

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory


def refuse_unwritable(folder: Path) -> None:
    """Raise an OSError that says what to do if nothing could be written there."""
    if folder.exists() and not folder.is_dir():
        raise OSError(f"--output is '{folder}', which is a file. Pass a folder, or the name of one to be made.")
    if folder.parent.exists() and not folder.parent.is_dir():
        raise OSError(f"--output is '{folder}', but '{folder.parent}' is a file. Pass another folder.")
    if not folder.exists() and not folder.parent.is_dir():
        raise OSError(f"--output is '{folder}', but there is no folder '{folder.parent}'. Make it first.")
    try:
        _staging(folder).cleanup()
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise OSError(f"--output is '{folder}', where nothing can be written ({reason}). Pass another.") from error


def write_all(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write all files beside their places and only then move them there; return where they are."""
    places = [folder / name for name in files]
    with _staging(folder) as staging:
        for name, content in files.items():
            Path(staging, name).write_bytes(content)
        folder.mkdir(exist_ok=True)
        if taken := [place for place in places if place.is_dir()]:
            raise OSError(f"'{taken[0]}' is a folder where a file is to be written. Move it, or pass another --output.")
        for place in places:
            os.replace(Path(staging, place.name), place)
    return places


def _staging(folder: Path) -> TemporaryDirectory:
    """Make a hidden folder on the same disk, so that moving a file is one step."""
    return TemporaryDirectory(prefix=".thrifty-", dir=folder if folder.exists() else folder.parent)
