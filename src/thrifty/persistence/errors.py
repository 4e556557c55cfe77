"""Error messages about model files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thrifty.exceptions import ModelFileError

MAX_LENGTH = 300  # characters of a message that contains values from a file


@contextmanager
def framed(before: str = "", after: str = "") -> Iterator[None]:
    """Add a text before and after the message of every ModelFileError that is raised in the context."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{before}{error}{after}") from error.__cause__


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn every exception in the context into a ModelFileError of one line and limited length."""
    try:
        yield
    except Exception as error:
        raise ModelFileError(f"{what}: {one_line(error)}.") from error


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line without a final full stop, with the type unless it is a ValueError."""
    message = " ".join(str(error)[: 4 * MAX_LENGTH].split()).rstrip(".")
    message = message if len(message) <= MAX_LENGTH else f"{message[:MAX_LENGTH]}..."
    if isinstance(error, ValueError) and message:
        return message
    return f"{type(error).__name__}{message and f': {message}'}"


def refuse_unless(condition: Any, message: str) -> None:
    """Raise ModelFileError with this message unless the condition holds."""
    if not condition:
        raise ModelFileError(message)
