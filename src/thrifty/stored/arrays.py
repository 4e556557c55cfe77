"""Kinds of arrays: of numbers, of classes, of names, and of the lengths of parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.stored.kinds import Kind
from thrifty.stored.medium import Place, shown
from thrifty.stored.values import TEXT


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
