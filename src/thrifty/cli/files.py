"""Files to be written: refused before the work if they cannot be."""

import os
from pathlib import Path


def refuse_unwritable(path: Path) -> None:
    """Raise an OSError that says what to do if a file cannot be written there."""
    folder = path.resolve().parent
    if path.is_dir():
        raise OSError(f"'{path}' is a folder. Pass the name of a file in it.")
    if path.exists() and not path.is_file():
        raise OSError(f"'{path}' is no plain file, so it cannot be replaced. Pass another name.")
    if not folder.is_dir():
        raise OSError(f"'{path}' cannot be written: there is no folder '{folder}'. Make it first.")
    if not os.access(folder, os.W_OK):
        raise OSError(f"'{path}' cannot be written: the folder '{folder}' is read-only. Pass another.")
