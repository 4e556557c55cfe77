"""Checks that outputs can be written, made before any work starts, and files that are written all together."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile


def refuse_output(
    option: str,
    path: Path,
    *,
    formats: Sequence[str] = (),
    inputs: Sequence[Path | None] = (),
    force: bool = True,
) -> None:
    """Raise an error if a file cannot or must not be written.

    Parameters
    ----------
    option : str
        The option that names the file, for messages.
    path : Path
        The file.
    formats : sequence of str
        The suffixes that its name may have; any if there are none.
    inputs : sequence of Path or None
        Files that the command reads, and that must not be replaced.
    force : bool, default=True
        Whether an existing file may be replaced.
    """
    if formats and path.suffix.lower() not in formats:
        raise ValueError(f"{option} is '{path}'; expected a name that ends in {' or '.join(formats)}.")
    refuse_unwritable(path)
    for source in inputs:
        if source is not None and path.exists() and source.exists() and path.samefile(source):
            raise ValueError(f"{option} is '{path}', which the command reads. Pass another name.")
    if path.exists() and not force:
        raise ValueError(f"{option} is '{path}', which exists already. Pass another name, or --force.")


def refuse_unwritable(path: Path) -> None:
    """Raise OSError if a file cannot be written at a path, for whatever reason."""
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise OSError(f"'{path}' is a folder. Pass the name of a file in it.")
    if real.exists() and not real.is_file():
        raise OSError(f"'{path}' is not a regular file, so it cannot be replaced. Pass another name.")
    for parent in real.parents:
        if parent.exists() and not parent.is_dir():
            raise OSError(f"'{path}' cannot be written, because '{parent}' is a file, not a folder. Pass another name.")
    if not real.parent.is_dir():
        raise OSError(f"'{path}' cannot be written: there is no folder '{real.parent}'. Make it first.")
    _refuse_failed_trial(path, real)


def _refuse_failed_trial(path: Path, real: Path) -> None:
    """Raise OSError unless a file can be made in the folder, and an existing file can be changed."""
    try:
        with TemporaryFile(dir=real.parent):  # where the system can, it has no name, so that nothing is left behind
            if os.path.lexists(real):
                real.open("r+b").close()
    except OSError as error:
        raise OSError(f"'{path}' cannot be written ({_reason(error)}). Pass another name.") from error


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
        raise OSError(
            f"--output is '{folder}', where nothing can be written ({_reason(error)}). Pass another."
        ) from error


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


def _reason(error: OSError) -> str:
    return (error.strerror or "unknown reason").lower()
