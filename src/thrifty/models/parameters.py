"""Checks of parameters that estimators share."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np


def is_whole(value: Any, minimum: int) -> bool:
    """Tell whether a parameter is a whole number, not a bool, of at least `minimum`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= minimum


def is_number(value: Any, minimum: float = -np.inf) -> bool:
    """Tell whether a parameter is a finite real number, not a bool, of at least `minimum`."""
    return isinstance(value, Real) and not isinstance(value, bool) and minimum <= float(value) < np.inf


def is_flag(value: Any) -> bool:
    """Tell whether a parameter is True or False."""
    return isinstance(value, bool | np.bool_)


def ascending_cost_weights(cost_weights: Any, owner: str) -> list[float]:
    """Return the cost weights of a sweep in ascending order.

    Raises
    ------
    ValueError
        If they are not a list of numbers of at least 0. The message begins with `owner`.
    """
    if not isinstance(cost_weights, Iterable) or not (listed := list(cost_weights)):
        raise ValueError(f"{owner}: cost_weights is {cost_weights!r}; expected a list of numbers.")
    for weight in listed:
        if not is_number(weight, 0):
            raise ValueError(f"{owner}: cost_weight is {weight!r}; expected a number of at least 0.")
    return sorted(map(float, listed))
