"""Kinds of single values: numbers, flags and text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from thrifty.stored.kinds import Kind
from thrifty.stored.medium import Place, shown

MAX_WHOLE = 2**63 - 1
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Number(Kind):
    """A real number.

    Parameters
    ----------
    low, high : float, optional
        Smallest and largest value.
    finite : bool, default=False
        Whether infinity and NaN are refused.
    """

    low: float = -math.inf
    high: float = math.inf
    finite: bool = False

    def write(self, value: Any, place: Place) -> Any:
        """Return the number; infinity and NaN become text."""
        is_real = isinstance(value, Real) and not isinstance(value, bool)
        place.require(is_real, f"is {shown(value)}; expected a number")
        number = self._checked(float(value), place)
        return number if math.isfinite(number) else str(number)

    def read(self, node: Any, place: Place) -> float:
        """Return the number."""
        if type(node) is str and node in NOT_FINITE:
            return self._checked(NOT_FINITE[node], place)
        is_real = type(node) is float or (type(node) is int and abs(node) <= MAX_WHOLE)
        place.require(is_real, f"is {shown(node)}; expected a number")
        return self._checked(float(node), place)

    def _checked(self, number: float, place: Place) -> float:
        place.require(not self.finite or math.isfinite(number), f"is {number}; expected a finite number")
        in_range = not (number < self.low or number > self.high)
        place.require(in_range, f"is {number}; expected a number from {self.low} to {self.high}")
        return number


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number.

    Parameters
    ----------
    low, high : int, optional
        Smallest and largest value.
    """

    low: int = -MAX_WHOLE
    high: int = MAX_WHOLE

    def write(self, value: Any, place: Place) -> int:
        """Return the number."""
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        place.require(is_whole, f"is {shown(value)}; expected a whole number")
        return self._checked(int(value), place)

    def read(self, node: Any, place: Place) -> int:
        """Return the number."""
        place.require(type(node) is int, f"is {shown(node)}; expected a whole number")
        return self._checked(node, place)

    def _checked(self, number: int, place: Place) -> int:
        in_range = self.low <= number <= self.high
        place.require(in_range, f"is {shown(number)}; expected a whole number from {self.low} to {self.high}")
        name = place.at.rpartition(".")[2]
        same = name.endswith("]") or place.sizes.setdefault(name, number) == number
        place.require(same, f"is {number}; expected {place.sizes.get(name)}")
        return number


class Flag(Kind):
    """True or False."""

    def write(self, value: Any, place: Place) -> bool:
        """Return the flag."""
        place.require(isinstance(value, bool | np.bool_), f"is {shown(value)}; expected True or False")
        return bool(value)

    def read(self, node: Any, place: Place) -> bool:
        """Return the flag."""
        place.require(type(node) is bool, f"is {shown(node)}; expected True or False")
        return node


class Text(Kind):
    """Text.

    Parameters
    ----------
    *choices : str
        The valid texts; any text is valid if there are none.
    """

    def __init__(self, *choices: str):
        self.choices = choices

    def write(self, value: Any, place: Place) -> str:
        """Return the text."""
        return self.read(str(value) if isinstance(value, str) else value, place)

    def read(self, node: Any, place: Place) -> str:
        """Return the text."""
        place.require(type(node) is str and is_unicode(node), f"is {shown(node)}; expected text")
        known = not self.choices or node in self.choices
        place.require(known, f"is {shown(node)}; expected one of {', '.join(self.choices)}")
        return node


def is_unicode(text: str) -> bool:
    """Tell whether a text has only characters that can be encoded; JSON can spell others."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


TEXT = Text()


class Plain(Kind):
    """Text, True, False, or a finite number."""

    def write(self, value: Any, place: Place) -> Any:
        """Return the value in the types of Python."""
        return self.read(value.item() if isinstance(value, np.generic) else value, place)

    def read(self, node: Any, place: Place) -> Any:
        """Return the value."""
        if type(node) is str:
            return TEXT.read(node, place)
        finite = type(node) is float and math.isfinite(node)
        known = finite or type(node) is bool or (type(node) is int and abs(node) <= MAX_WHOLE)
        place.require(known, f"is {shown(node)}; expected text, a finite number, True or False")
        return node


class FeatureId(Kind):
    """The name of a feature, or its position if it has no name."""

    def write(self, value: Any, place: Place) -> str | int:
        """Return the name or the position."""
        return TEXT.write(value, place) if isinstance(value, str) else Whole(0).write(value, place)

    def read(self, node: Any, place: Place) -> str | int:
        """Return the name or the position."""
        return TEXT.read(node, place) if type(node) is str else Whole(0).read(node, place)
