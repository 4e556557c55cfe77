"""Write files atomically: a file is complete, or it is unchanged."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replace a file by a new one once the new one is complete.

    The new file is written under a temporary name in the same folder. After an error or Ctrl-C it is deleted, and the
    old file is unchanged.

    Parameters
    ----------
    path : pathlib.Path
        The file to replace or create.

    Yields
    ------
    pathlib.Path
        Where to write the new file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "hello.txt")) as unfinished:
    ...         _ = unfinished.write_text("hello")
    ...     [each.name for each in Path(folder).iterdir()]
    ['hello.txt']
    """
    target = Path(os.path.realpath(path))  # if the path is a symbolic link, replace the file that it points to
    unfinished = target.with_name(f".{token_hex(8)}.unfinished")
    try:
        yield unfinished
        _flush(unfinished)
        os.replace(unfinished, target)
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _flush(path: Path) -> None:
    """Wait until the content is on disk, so that a power failure cannot leave a renamed file without content."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
