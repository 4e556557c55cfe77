"""The bytes of arrays: written one after another, and read once in the same order.

An array in the tree of nodes is ``{"dtype": "<f8", "shape": [3, 2], "at": 0}``. Its bytes begin where those of the
array before it end. So no two arrays share bytes, and all arrays together are as large as the file says.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple, NoReturn

import numpy as np

from thrifty.exceptions import ModelFileError

DTYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
TEXT_DTYPE = re.compile(r"<U[1-9]\d{0,6}")
MAX_DIMENSIONS = 4
MAX_LENGTH = 2**40  # of an axis; only arrays without elements can be longer than their bytes
MAX_DEPTH = 40  # of the tree of nodes
MAX_SHOWN = 60  # characters of a value in an error message
LAST_CODE_POINT, SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)


class Place(NamedTuple):
    """Where in a model a node is.

    Attributes
    ----------
    medium : Writer or Reader
    at : str
        The name for error messages, such as ``tree_.upper``.
    sizes : dict
        The named lengths of the structure that the node belongs to, such as its number of nodes.
    depth : int
    """

    medium: Any
    at: str = ""
    sizes: dict[str, int] = {}  # noqa: RUF012 - every structure passes its own
    depth: int = 0

    def inside(self, name: str) -> Place:
        """Return the place of a part, given its name or its position in brackets."""
        self.require(self.depth < MAX_DEPTH, f"is nested more than {MAX_DEPTH} levels deep")
        at = self.at + name if name.startswith("[") else f"{self.at}.{name}".lstrip(".")
        return self._replace(at=at, depth=self.depth + 1)

    def require(self, condition: Any, otherwise: str) -> None:
        """Raise ModelFileError about this place unless the condition holds."""
        if not condition:
            self.refuse(otherwise)

    def refuse(self, what: str) -> NoReturn:
        """Raise ModelFileError about this place."""
        raise ModelFileError(f"{self.at[-MAX_SHOWN * 2 :] or 'the model'} {what}")


class Writer:
    """Collects the bytes of arrays, and what cannot be stored natively.

    Parameters
    ----------
    keep_foreign : bool, default=False
        Whether fitted estimators of scikit-learn may be kept as they are, for a file that only people who trust its
        author can load.
    """

    def __init__(self, keep_foreign: bool = False):
        self.keep_foreign = keep_foreign
        self.foreign: list[Any] = []
        self.known: dict[int, tuple[int, Any]] = {}  # objects that are stored once: number and object, by id
        self._blocks: list[bytes] = []
        self._size = 0

    def array(self, array: np.ndarray) -> dict[str, Any]:
        """Append the bytes of an array, and return its node."""
        block = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        node = {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "at": self._size}
        self._blocks.append(block)
        self._size += len(block)
        return node

    def content(self) -> bytes:
        """Return the bytes of all arrays."""
        return b"".join(self._blocks)


class Reader:
    """Reads arrays from the bytes that a `Writer` collected.

    Parameters
    ----------
    content : bytes
    foreign : list, optional
        The foreign objects of the file, if they may be used.
    """

    def __init__(self, content: bytes, foreign: list[Any] | None = None):
        self.foreign = foreign
        self.known: list[Any] = []
        self._content, self._at = memoryview(content), 0

    def array(self, node: Any, place: Place) -> np.ndarray:
        """Return the next array, whose node must say so; its size is compared before memory is taken."""
        is_node = isinstance(node, dict) and set(node) == {"dtype", "shape", "at"}
        place.require(is_node, f"is {shown(node)}; expected an array")
        dtype, shape = node["dtype"], node["shape"]
        known = isinstance(dtype, str) and (dtype in DTYPES or TEXT_DTYPE.fullmatch(dtype))
        place.require(known, f"has dtype {shown(dtype)}, which a file may not hold")
        lengths = isinstance(shape, list) and all(type(each) is int and 0 <= each < MAX_LENGTH for each in shape)
        place.require(lengths and len(shape) <= MAX_DIMENSIONS, f"has shape {shown(shape)}, which is not valid")
        end = self._at + math.prod(shape) * np.dtype(dtype).itemsize
        fits = type(node["at"]) is int and node["at"] == self._at and end <= len(self._content)
        place.require(fits, "does not have the bytes that it claims")
        array = np.frombuffer(self._content[self._at : end], dtype=dtype).reshape(shape).copy()
        self._at = end
        _refuse_invalid(array, place)
        return array

    def require_complete(self) -> None:
        """Raise ModelFileError if there are bytes that belong to no array."""
        if self._at != len(self._content):
            raise ModelFileError("the file has bytes that belong to no array")


def _refuse_invalid(array: np.ndarray, place: Place) -> None:
    """Refuse bytes that are not True or False, or not characters."""
    if array.dtype.kind == "b":
        place.require((array.view(np.uint8) <= 1).all(), "has a byte that is neither True nor False")
    if array.dtype.kind == "U":
        codes = array.reshape(-1).view(np.uint32)
        first, last = SURROGATES
        valid = (codes <= LAST_CODE_POINT).all() and not ((codes >= first) & (codes <= last)).any()
        place.require(valid, "has a number that is not a character")


def shown(value: Any) -> str:
    """Return a value for an error message, in one line of limited length."""
    if isinstance(value, str):
        value = value[: MAX_SHOWN + 1]
    elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    elif isinstance(value, list | dict | tuple) and len(value) > 6:
        return f"a {type(value).__name__} of {len(value)} entries"
    elif isinstance(value, list | dict | tuple) and any(isinstance(each, list | dict | str) for each in value):
        return f"a {type(value).__name__}"
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
