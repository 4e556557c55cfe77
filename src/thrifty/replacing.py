"""Write files atomically: a file is complete, or it is unchanged."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE, S_ISDIR, S_ISREG


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Replace a file by a new one once the new one is complete.

    The new file is written under a temporary name in the same folder, with the permissions of the old one. After an
    error or Ctrl-C it is deleted, and the old file is unchanged.

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
        _create_alike(unfinished, target)
        yield unfinished
        _flush(unfinished)
        os.replace(unfinished, target)
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _create_alike(unfinished: Path, target: Path) -> None:
    """Create an empty file with the permissions of the file that it will replace, if there is one."""
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return
    if not S_ISREG(mode) and not S_ISDIR(mode):  # a folder raises its own error when it is replaced
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(target))
    if S_ISREG(mode):
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        unfinished.chmod(S_IMODE(mode))


def _flush(path: Path) -> None:
    """Wait until the content is on disk, so that a power failure cannot leave a renamed file without content."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
