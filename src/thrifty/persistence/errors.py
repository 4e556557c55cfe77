"""How errors about model files say which file, or which model, they are about."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thrifty.exceptions import ModelFileError


@contextmanager
def framed(before: str = "", after: str = "") -> Iterator[None]:
    """Put something before and after the message of every ModelFileError raised inside."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{before}{error}{after}") from error.__cause__


def one_line(error: BaseException) -> str:
    """Return what an error says, in one line without a full stop."""
    said = " ".join(str(error).split()).rstrip(".")
    return said if isinstance(error, ModelFileError) else f"{type(error).__name__}{said and f': {said}'}"


def refuse_unless(fine: Any, message: str) -> None:
    """Refuse what is not fine."""
    if not fine:
        raise ModelFileError(message)
