"""Formatting of cost errors: how a value is shown, and where it was found."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from thrifty.exceptions import CostError


def format_value(value: Any) -> str:
    """Return the repr of a value; NumPy scalars look like Python numbers."""
    return repr(value.item() if isinstance(value, np.generic) else value)


@contextmanager
def prefix_errors(place: str) -> Iterator[None]:
    """Add a prefix, such as a file name or a line number, to every CostError raised inside."""
    try:
        yield
    except CostError as error:
        raise CostError(f"{place}: {error}") from None
