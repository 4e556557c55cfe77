"""Checks that outputs can be written, made before any work starts, and files that are written all together."""

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory


def refuse_unwritable(path: Path) -> None:
    """Raise OSError if a file cannot be written at a path."""
    folder = path.resolve().parent
    if path.is_dir():
        raise OSError(f"'{path}' is a folder. Pass the name of a file in it.")
    if path.exists() and not path.is_file():
        raise OSError(f"'{path}' is not a regular file, so it cannot be replaced. Pass another name.")
    if not folder.is_dir():
        raise OSError(f"'{path}' cannot be written: there is no folder '{folder}'. Make it first.")
    if not os.access(folder, os.W_OK):
        raise OSError(f"'{path}' cannot be written: the folder '{folder}' is read-only. Pass another.")


def refuse_unwritable_folder(folder: Path) -> None:
    """Raise OSError if files cannot be written in a folder, which may not exist yet."""
    if folder.exists() and not folder.is_dir():
        raise OSError(f"--output is '{folder}', which is a file. Pass a folder, or the name of a new one.")
    if folder.parent.exists() and not folder.parent.is_dir():
        raise OSError(f"--output is '{folder}', but '{folder.parent}' is a file. Pass another folder.")
    if not folder.exists() and not folder.parent.is_dir():
        raise OSError(f"--output is '{folder}', but there is no folder '{folder.parent}'. Make it first.")
    try:
        _temporary_folder(folder).cleanup()
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise OSError(f"--output is '{folder}', where nothing can be written ({reason}). Pass another.") from error


def write_all(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write all files to a temporary folder, then move them to their places; return the places."""
    places = [folder / name for name in files]
    with _temporary_folder(folder) as temporary:
        for name, content in files.items():
            Path(temporary, name).write_bytes(content)
        folder.mkdir(exist_ok=True)
        if taken := [place for place in places if place.is_dir()]:
            raise OSError(f"'{taken[0]}' is a folder, but a file has this name. Move it, or pass another --output.")
        for place in places:
            os.replace(Path(temporary, place.name), place)
    return places


def _temporary_folder(folder: Path) -> TemporaryDirectory:
    """Make a hidden folder on the same disk, so that moving a file is atomic."""
    return TemporaryDirectory(prefix=".thrifty-", dir=folder if folder.exists() else folder.parent)
