"""Formatting of cost errors: how a value is shown, and where it was found."""

import reprlib
from typing import Any

import numpy as np

from thrifty.exceptions import CostError


class _ShortRepr(reprlib.Repr):
    """The repr of a value on one line, whose length is bounded even if the value is deeply nested or very long."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 2, 100, 100

    def repr_int(self, x: int, level: int) -> str:
        try:
            return super().repr_int(x, level)
        except ValueError:  # Python does not write out integers of thousands of digits
            return f"an integer of {x.bit_length()} bits"

    def repr_instance(self, x: Any, level: int) -> str:
        return " ".join(super().repr_instance(x, level).split())


_SHORT = _ShortRepr()


def format_value(value: Any) -> str:
    """Return the repr of a value, shortened to one line; NumPy scalars look like Python numbers."""
    return _SHORT.repr(value.item() if isinstance(value, np.generic) else value)


def shorten(text: str, length: int = 300) -> str:
    """Return a text on one line, cut off if it is longer than `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 3] + "..."


class prefix_errors:  # noqa: N801 (a class, because long price lists enter it once per line)
    """Add a prefix, such as a file name or a line number, to every CostError raised inside."""

    def __init__(self, place: str):
        self._place = place

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, CostError):
            raise CostError(f"{self._place}: {error}") from None
