"""Arguments of constructors: plain values, arrays, structures of thrifty, and unfitted estimators of scikit-learn.

JSON has None, True and False, text, numbers and lists. Every other type is a dict with one key, its tag::

    {"float": "inf"}   {"tuple": [...]}   {"dict": [[key, value], ...]}   {"range": [0, 5, 1]}   {"decimal": "0.1"}
    {"array": ...}     {"scalar": ...}    {"structure": ...}   {"scikit-learn": ...}   {"random state": ...}
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from thrifty.stored.arrays import Array, Labels
from thrifty.stored.kinds import Kind
from thrifty.stored.medium import Place, shown
from thrifty.stored.scikit_learn import is_listed, read_estimator, write_estimator
from thrifty.stored.structures import is_stored, read_structure, write_structure
from thrifty.stored.values import MAX_WHOLE, NOT_FINITE, TEXT, Number, Whole

MAX_RANGE = 2**20
MAX_DECIMAL = 100  # digits, and size of the exponent
MERSENNE_WORDS = 624
MERSENNE = (
    ("key", Array("uint32", MERSENNE_WORDS)),
    ("pos", Whole(0, MERSENNE_WORDS)),
    ("has_gauss", Whole(0, 1)),
    ("cached_gaussian", Number()),
)
HINTS = {
    "lightgbm": "Pass the model fitted: a fitted booster is stored as a Forest",
    "xgboost": "Pass the model fitted: a fitted booster is stored as a Forest",
    "pandas": "Pass a dict, an array or a CostModel",
}


class Parameter(Kind):
    """An argument of a constructor."""

    def write(self, value: Any, place: Place) -> Any:
        """Return the node of a value of any type that can be stored."""
        plain = value is None or type(value) in (bool, str) or (type(value) is int and abs(value) <= MAX_WHOLE)
        if plain or (type(value) is float and math.isfinite(value)):
            return value
        if type(value) is list:
            return self._write_all(value, place)
        if is_stored(type(value)):
            return {"structure": write_structure(value, place)}
        if is_listed(value):
            return {"scikit-learn": write_estimator(value, place, self)}
        for kind, (tag, write, _) in TAGS.items():
            if type(value) is kind or (kind is np.generic and isinstance(value, np.generic)):
                return {tag: write(self, value, place)}
        return write_foreign(value, place) if place.medium.keep_foreign else _refuse(value, place)

    def read(self, node: Any, place: Place) -> Any:
        """Return the value of a node."""
        if type(node) is list:
            return self._read_all(node, place)
        if type(node) is not dict:
            is_plain = type(node) is not int or abs(node) <= MAX_WHOLE
            place.require(is_plain and node != math.inf and node != -math.inf, f"is {shown(node)}, which is too large")
            return TEXT.read(node, place) if type(node) is str else node
        place.require(len(node) == 1, "is not a value that a file may hold")
        tag, content = next(iter(node.items()))
        place.require(tag in READERS, f"is a value of an unknown type {shown(tag)}")
        return READERS[tag](self, content, place)

    def _write_all(self, values: Any, place: Place) -> list[Any]:
        return [self.write(each, place.inside(f"[{k}]")) for k, each in enumerate(values)]

    def _read_all(self, nodes: Any, place: Place) -> list[Any]:
        place.require(type(nodes) is list, f"is {shown(nodes)}; expected a list")
        return [self.read(each, place.inside(f"[{k}]")) for k, each in enumerate(nodes)]

    # Types with a tag

    def _read_float(self, content: Any, place: Place) -> float:
        place.require(type(content) is str and content in NOT_FINITE, "is not a number")
        return NOT_FINITE[content]

    def _read_tuple(self, content: Any, place: Place) -> tuple[Any, ...]:
        return tuple(self._read_all(content, place))

    def _write_dict(self, value: dict[Any, Any], place: Place) -> list[Any]:
        return [self._write_all(item, place) for item in value.items()]

    def _read_dict(self, content: Any, place: Place) -> dict[Any, Any]:
        place.require(type(content) is list, "is not a dict")
        items = [self._read_all(item, place) for item in content]
        usable = all(len(item) == 2 and _can_be_key(item[0]) for item in items)
        place.require(usable, "has a key that is not a number, text, True or False, or a tuple of these")
        return dict(items)

    def _write_range(self, value: range, place: Place) -> list[int]:
        place.require(len(value) <= MAX_RANGE, f"is a range of more than {MAX_RANGE} numbers. Pass an array")
        return [value.start, value.stop, value.step]

    def _read_range(self, content: Any, place: Place) -> range:
        whole = type(content) is list and all(type(each) is int and abs(each) <= MAX_WHOLE for each in content)
        place.require(whole and len(content) == 3 and content[2] != 0, "is not a range")
        # len() of a larger range would raise OverflowError
        place.require(
            abs(content[1] - content[0]) <= MAX_RANGE * abs(content[2]), f"is a range of more than {MAX_RANGE}"
        )
        return range(*content)

    def _write_decimal(self, value: Decimal, place: Place) -> str:
        self._read_decimal(str(value), place)
        return str(value)

    def _read_decimal(self, content: Any, place: Place) -> Decimal:
        place.require(type(content) is str and len(content) <= 2 * MAX_DECIMAL, "is not a decimal number")
        try:
            number = Decimal(content)
        except InvalidOperation:
            place.refuse("is not a decimal number")
        sized = number.is_finite() and abs(number.adjusted()) <= MAX_DECIMAL
        place.require(sized, f"is a decimal number with an exponent beyond {MAX_DECIMAL}")
        return number

    def _write_array(self, value: np.ndarray, place: Place) -> Any:
        if value.dtype.kind in "OU":
            return Labels().write(value, place)
        place.require(value.dtype.kind in "biuf", f"has dtype {value.dtype}, which a file cannot hold")
        return place.medium.array(value)

    def _read_array(self, content: Any, place: Place) -> np.ndarray:
        are_objects = isinstance(content, dict) and set(content) == {"objects"}
        return Labels().read(content, place) if are_objects else place.medium.array(content, place)

    def _write_scalar(self, value: np.generic, place: Place) -> Any:
        place.require(value.dtype.kind in "biufU", f"is of type {value.dtype}, which a file cannot hold")
        return place.medium.array(np.asarray(value))

    def _read_scalar(self, content: Any, place: Place) -> Any:
        array = place.medium.array(content, place)
        place.require(array.ndim == 0, "is not a single number")
        return array[()]

    def _write_random_state(self, value: np.random.RandomState, place: Place) -> dict[str, Any]:
        state: Any = value.get_state(legacy=True)
        place.require(state[0] == "MT19937", f"is a random state of {state[0]}; expected MT19937")
        inner = place._replace(sizes={})
        return {
            name: kind.write(each, inner.inside(name)) for (name, kind), each in zip(MERSENNE, state[1:], strict=True)
        }

    def _read_random_state(self, content: Any, place: Place) -> np.random.RandomState:
        complete = isinstance(content, dict) and set(content) == {name for name, _ in MERSENNE}
        place.require(complete, "is not a random state")
        inner = place._replace(sizes={})
        state: Any = ("MT19937", *(kind.read(content[name], inner.inside(name)) for name, kind in MERSENNE))
        random = np.random.RandomState(0)
        random.set_state(state)
        return random

    def _read_structure(self, content: Any, place: Place) -> Any:
        return read_structure(content, place)

    def _read_scikit_learn(self, content: Any, place: Place) -> Any:
        return read_estimator(content, place, self)

    def _read_foreign(self, content: Any, place: Place) -> Any:
        kept = place.medium.foreign
        place.require(kept is not None, "is an object of another library")
        place.require(type(content) is int and 0 <= content < len(kept), "refers to an object that does not exist")
        return kept[content]


KEYS = (str, bool, int, float, np.generic)
TAGS: dict[type, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    float: ("float", lambda _, value, place: str(value), Parameter._read_float),
    tuple: ("tuple", Parameter._write_all, Parameter._read_tuple),
    dict: ("dict", Parameter._write_dict, Parameter._read_dict),
    range: ("range", Parameter._write_range, Parameter._read_range),
    Decimal: ("decimal", Parameter._write_decimal, Parameter._read_decimal),
    np.ndarray: ("array", Parameter._write_array, Parameter._read_array),
    np.generic: ("scalar", Parameter._write_scalar, Parameter._read_scalar),
    np.random.RandomState: ("random state", Parameter._write_random_state, Parameter._read_random_state),
}
READERS: dict[str, Callable[..., Any]] = {
    **{tag: read for tag, _, read in TAGS.values()},
    "structure": Parameter._read_structure,
    "scikit-learn": Parameter._read_scikit_learn,
    "foreign": Parameter._read_foreign,
}


def _can_be_key(value: Any) -> bool:
    if type(value) is tuple:
        return all(isinstance(each, KEYS) for each in value)
    return isinstance(value, KEYS)


def write_foreign(value: Any, place: Place) -> dict[str, int]:
    """Keep an object of another library as it is, and return its number."""
    place.medium.foreign.append(value)
    return {"foreign": len(place.medium.foreign) - 1}


def _refuse(value: Any, place: Place) -> Any:
    package = type(value).__module__.partition(".")[0]
    hint = HINTS.get(package, "Pass a plain value, an array, or an estimator of thrifty")
    trusted = ", or save the model with allow_scikit_learn=True" if package == "sklearn" else ""
    return place.refuse(
        f"is {shown(value)} of type {type(value).__name__}, which a model file cannot hold. {hint}{trusted}"
    )


class OrForeign(Kind):
    """An object that has a structure in thrifty, or an object of another library if the file may hold it.

    Parameters
    ----------
    kind : Kind
        The kind of the structure.
    reason : str
        Why other objects are refused, and what to do.
    """

    def __init__(self, kind: Kind, reason: str):
        self.kind, self.reason = kind, reason

    def write(self, value: Any, place: Place) -> Any:
        """Return the node of the structure, or the number of the foreign object."""
        if is_stored(type(value)):
            return {"structure": self.kind.write(value, place)}
        place.require(place.medium.keep_foreign, f"is a fitted {type(value).__name__}. {self.reason}")
        return write_foreign(value, place)

    def read(self, node: Any, place: Place) -> Any:
        """Return the object."""
        is_node = isinstance(node, dict) and len(node) == 1
        place.require(is_node and {*node} <= {"structure", "foreign"}, f"is {shown(node)}; expected a structure")
        if "structure" in node:
            return self.kind.read(node["structure"], place)
        return Parameter().read(node, place)
