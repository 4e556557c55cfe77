"""How cost errors show a value, and say where it stood."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from thrifty.exceptions import CostError


def shown(value: Any) -> str:
    """Return a value as a message shows it: NumPy's scalars like Python's."""
    return repr(value.item() if isinstance(value, np.generic) else value)


@contextmanager
def located(place: str) -> Iterator[None]:
    """Begin every CostError raised inside with the place, such as a file or a line of it."""
    try:
        yield
    except CostError as error:
        raise CostError(f"{place}: {error}") from None
