"""Files that are written whole or not at all: under another name first, under their own once complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield where to write; at the end the file takes its place, and after an error or Ctrl-C nothing is left of it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "hello.txt")) as unfinished:
    ...         _ = unfinished.write_text("hello")
    ...     [each.name for each in Path(folder).iterdir()]
    ['hello.txt']
    """
    place = Path(os.path.realpath(path))  # a link goes on pointing to the file
    unfinished = place.with_name(f".{token_hex(8)}.unfinished")
    try:
        yield unfinished
        _flush(unfinished)
        os.replace(unfinished, place)
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _flush(path: Path) -> None:
    """Wait until the content is on the disk: a name that outlives a power cut is not to outlive its content."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
