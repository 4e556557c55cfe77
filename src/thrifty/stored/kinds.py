"""Kinds of stored fields: how a value is written as a node of JSON, and what a node must satisfy to be read."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from thrifty.stored.medium import Place, shown

MAX_WHOLE = 2**63 - 1
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Kind(ABC):
    """The kind of a field."""

    required = True  # whether an estimator must have the attribute

    @abstractmethod
    def write(self, value: Any, place: Place) -> Any:
        """Return a value as a node of JSON."""

    @abstractmethod
    def read(self, node: Any, place: Place) -> Any:
        """Return the value of a node; raise ModelFileError if it is not of this kind."""


class Array(Kind):
    """An array of numbers.

    Parameters
    ----------
    dtype : str
        Such as "float64".
    *shape : str, int or None
        The length of each axis, or its name; None for any length. Axes with the same name in one structure must have
        the same length. The name of a `Whole` field of the structure stands for its value.
    low, high : float, optional
        Smallest and largest number.
    below : str or int, optional
        All numbers are smaller than this, which may be the name of a length.
    finite : bool, default=False
        Whether infinity and NaN are refused.
    """

    def __init__(
        self,
        dtype: str,
        *shape: str | int | None,
        low: float | None = None,
        high: float | None = None,
        below: str | int | None = None,
        finite: bool = False,
    ):
        self.dtype, self.shape = np.dtype(dtype), shape
        self.low, self.high, self.below, self.finite = low, high, below, finite

    def write(self, value: Any, place: Place) -> Any:
        """Append the bytes; return the dtype and the shape."""
        array = np.asarray(value)
        castable = np.can_cast(array.dtype, self.dtype, "same_kind") or array.size == 0
        place.require(castable, f"has dtype {array.dtype}; expected {self.dtype}")
        array = array.astype(self.dtype)
        self._check(array, place)
        return place.medium.array(array)

    def read(self, node: Any, place: Place) -> np.ndarray:
        """Return the array."""
        array = place.medium.array(node, place)
        place.require(array.dtype == self.dtype, f"has dtype {array.dtype}; expected {self.dtype}")
        self._check(array, place)
        return array

    def _check(self, array: np.ndarray, place: Place) -> None:
        fits = array.ndim == len(self.shape)
        place.require(fits and same_lengths(array.shape, self.shape, place), self._misfit(array, place))
        if not array.size:
            return
        place.require(not self.finite or np.isfinite(array).all(), "has numbers that are not finite")
        place.require(self.low is None or not (array < self.low).any(), f"has numbers below {self.low}")
        place.require(self.high is None or not (array > self.high).any(), f"has numbers above {self.high}")
        if self.below is not None:
            end = place.sizes[self.below] if isinstance(self.below, str) else self.below
            place.require(not (array >= end).any(), f"has numbers that are not below {end}")

    def _misfit(self, array: np.ndarray, place: Place) -> str:
        expected = ", ".join(f"{name} = {place.sizes.get(name, '?')}" for name in map(str, self.shape))
        return f"has shape {array.shape}; expected ({expected})"


def same_lengths(lengths: tuple[int, ...], names: tuple[str | int | None, ...], place: Place) -> bool:
    """Tell whether lengths agree with those of the same names; a new name takes the length."""
    return all(
        name is None or length == (name if isinstance(name, int) else place.sizes.setdefault(name, length))
        for length, name in zip(lengths, names, strict=True)
    )


@dataclass(frozen=True)
class Labels(Kind):
    """An array of classes or names: numbers, True and False, or text.

    Parameters
    ----------
    length : str, optional
        The name of the length.
    """

    length: str | None = None

    def write(self, value: Any, place: Place) -> Any:
        """Append the bytes; text in an array of objects is marked."""
        array = np.asarray(value)
        if array.dtype.kind != "O":
            place.require(array.dtype.kind in "biufU", f"has dtype {array.dtype}, which a file cannot hold")
            self._check(array, place)
            return place.medium.array(array)
        text = np.array(array.tolist(), dtype=np.str_) if array.size else np.empty(0, "<U1")
        same = all(isinstance(each, str) for each in array.tolist()) and text.tolist() == array.tolist()
        place.require(same, "has objects that are not text, which a file cannot hold. Convert them to text")
        self._check(text, place)
        return {"objects": place.medium.array(text)}

    def read(self, node: Any, place: Place) -> np.ndarray:
        """Return the array, of objects if it was one."""
        are_objects = isinstance(node, dict) and set(node) == {"objects"}
        array = place.medium.array(node["objects"] if are_objects else node, place)
        place.require(not are_objects or array.dtype.kind == "U", "has objects that are not text")
        self._check(array, place)
        return array.astype(object) if are_objects else array

    def _check(self, array: np.ndarray, place: Place) -> None:
        place.require(array.ndim == 1, f"has shape {array.shape}; expected one axis")
        if self.length is not None:
            same = same_lengths(array.shape, (self.length,), place)
            place.require(same, f"has {len(array)} entries; expected {place.sizes[self.length]}")


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


@dataclass(frozen=True)
class ListOf(Kind):
    """A list of values of one kind.

    Parameters
    ----------
    each : Kind
    low, high : int, optional
        Smallest and largest number of entries.
    """

    each: Kind
    low: int = 0
    high: int = MAX_WHOLE

    def write(self, value: Any, place: Place) -> list[Any]:
        """Return the list of nodes."""
        entries = list(value)
        self._check(entries, place)
        return [self.each.write(entry, place.inside(f"[{k}]")) for k, entry in enumerate(entries)]

    def read(self, node: Any, place: Place) -> Any:
        """Return the list of values."""
        place.require(type(node) is list, f"is {shown(node)}; expected a list")
        self._check(node, place)
        return [self.each.read(entry, place.inside(f"[{k}]")) for k, entry in enumerate(node)]

    def _check(self, entries: list[Any], place: Place) -> None:
        in_range = self.low <= len(entries) <= self.high
        place.require(in_range, f"has {len(entries)} entries; expected from {self.low} to {self.high}")


class TupleOf(ListOf):
    """A tuple of values of one kind."""

    def read(self, node: Any, place: Place) -> tuple[Any, ...]:
        """Return the tuple of values."""
        return tuple(super().read(node, place))


@dataclass(frozen=True)
class Texts(Kind):
    """An array of text with a name for its length, stored as a list.

    Parameters
    ----------
    length : str
        The name of the length.
    """

    length: str

    def write(self, value: Any, place: Place) -> list[str]:
        """Return the list of texts."""
        texts = [TEXT.write(each, place) for each in np.asarray(value).tolist()]
        self._check(texts, place)
        return texts

    def read(self, node: Any, place: Place) -> np.ndarray:
        """Return an array of objects."""
        place.require(type(node) is list, f"is {shown(node)}; expected a list")
        self._check(node, place)
        texts = np.empty(len(node), dtype=object)
        texts[:] = [TEXT.read(each, place) for each in node]
        return texts

    def _check(self, texts: list[Any], place: Place) -> None:
        same = same_lengths((len(texts),), (self.length,), place)
        place.require(same, f"has {len(texts)} entries; expected {place.sizes[self.length]}")


TEXT = Text()


@dataclass(frozen=True)
class MappingOf(Kind):
    """A dict with text as keys.

    Parameters
    ----------
    each : Kind
        The kind of the values.
    """

    each: Kind

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return the dict of nodes."""
        place.require(isinstance(value, Mapping), f"is {shown(value)}; expected a dict")
        return {
            TEXT.write(name, place): self.each.write(entry, place.inside(str(name))) for name, entry in value.items()
        }

    def read(self, node: Any, place: Place) -> dict[str, Any]:
        """Return the dict of values."""
        place.require(type(node) is dict, f"is {shown(node)}; expected a dict")
        return {TEXT.read(name, place): self.each.read(entry, place.inside(name)) for name, entry in node.items()}


@dataclass(frozen=True)
class PairsOf(Kind):
    """A dict whose keys are not text, stored as a list of pairs.

    Parameters
    ----------
    key, each : Kind
        The kinds of the keys and of the values.
    """

    key: Kind
    each: Kind

    def write(self, value: Any, place: Place) -> list[list[Any]]:
        """Return the list of pairs."""
        place.require(isinstance(value, Mapping), f"is {shown(value)}; expected a dict")
        pairs = [(place.inside(f"[{k}]"), *pair) for k, pair in enumerate(value.items())]
        return [[self.key.write(key, inner), self.each.write(entry, inner)] for inner, key, entry in pairs]

    def read(self, node: Any, place: Place) -> dict[Any, Any]:
        """Return the dict."""
        are_pairs = type(node) is list and all(type(pair) is list and len(pair) == 2 for pair in node)
        place.require(are_pairs, f"is {shown(node)}; expected a list of pairs")
        pairs = [(place.inside(f"[{k}]"), *pair) for k, pair in enumerate(node)]
        entries = {self.key.read(key, inner): self.each.read(entry, inner) for inner, key, entry in pairs}
        place.require(len(entries) == len(node), "has a key twice")
        return entries


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


@dataclass(frozen=True)
class OrNone(Kind):
    """A value of a kind, or None."""

    kind: Kind

    def write(self, value: Any, place: Place) -> Any:
        """Return the node."""
        return None if value is None else self.kind.write(value, place)

    def read(self, node: Any, place: Place) -> Any:
        """Return the value."""
        return None if node is None else self.kind.read(node, place)


@dataclass(frozen=True)
class Maybe(Kind):
    """An attribute of an estimator that some fitted models do not have."""

    kind: Kind
    required: bool = field(default=False, init=False)

    def write(self, value: Any, place: Place) -> Any:
        """Return the node."""
        return self.kind.write(value, place)

    def read(self, node: Any, place: Place) -> Any:
        """Return the value."""
        return self.kind.read(node, place)


@dataclass(frozen=True)
class Lengths(Kind):
    """Numbers of entries of the parts of a flat array, which add up to its length.

    Parameters
    ----------
    length : str
        The name of the number of parts.
    total : str
        The name of the length of the flat array, which is declared before.
    """

    length: str
    total: str

    def write(self, value: Any, place: Place) -> Any:
        """Append the bytes; return the dtype and the shape."""
        return self._array().write(value, place)

    def read(self, node: Any, place: Place) -> np.ndarray:
        """Return the array."""
        lengths = self._array().read(node, place)
        expected = place.sizes[self.total]
        # Each is at most the total, so a sum in Python's whole numbers is exact and the loop is short.
        complete = not (lengths > expected).any() and sum(lengths.tolist()) == expected
        place.require(complete, f"has lengths that do not add up to {expected}")
        return lengths

    def _array(self) -> Array:
        return Array("int64", self.length, low=0)


class FeatureId(Kind):
    """The name of a feature, or its position if it has no name."""

    def write(self, value: Any, place: Place) -> str | int:
        """Return the name or the position."""
        return TEXT.write(value, place) if isinstance(value, str) else Whole(0).write(value, place)

    def read(self, node: Any, place: Place) -> str | int:
        """Return the name or the position."""
        return TEXT.read(node, place) if type(node) is str else Whole(0).read(node, place)


@dataclass(frozen=True)
class OneOrMany(Kind):
    """A value of a kind, or a tuple of such values."""

    kind: Kind

    def write(self, value: Any, place: Place) -> Any:
        """Return the node or the list of nodes."""
        return (TupleOf(self.kind) if isinstance(value, tuple) else self.kind).write(value, place)

    def read(self, node: Any, place: Place) -> Any:
        """Return the value or the tuple of values."""
        return (TupleOf(self.kind) if type(node) is list else self.kind).read(node, place)
