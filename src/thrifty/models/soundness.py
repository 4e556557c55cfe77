"""Checks of what was loaded from a file, before a kernel follows its indices without checking them."""

from typing import Any

import numpy as np


def require(condition: Any, otherwise: str) -> None:
    """Raise ValueError with the message `otherwise` unless the condition holds."""
    if not condition:
        raise ValueError(otherwise)


def is_numbers(array: Any, *shape: int) -> bool:
    """Tell whether kernels can read an array: float64, contiguous, of this shape."""
    return is_array(array, *shape) and array.dtype == np.float64 and array.flags.c_contiguous


def is_whole_numbers(array: Any, *shape: int) -> bool:
    """Tell whether an object is an array of whole numbers of this shape."""
    return is_array(array, *shape) and np.issubdtype(array.dtype, np.integer)


def is_array(array: Any, *shape: int) -> bool:
    """Tell whether an object is an array of this shape."""
    return isinstance(array, np.ndarray) and array.shape == shape
