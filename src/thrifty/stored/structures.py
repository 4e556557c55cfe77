"""Structures: classes that declare their stored fields, and the register of these classes.

The fields of a class are those of its bases and its own. A structure is made again from its fields by `__setstate__`,
by the constructor if it is a dataclass or a named tuple, or else by setting its attributes. An estimator is made by its
constructor; then its fitted attributes are set, and `refuse_unsound` compares its parts.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from inspect import isabstract
from typing import Any, TypeVar

from thrifty.stored.kinds import Kind
from thrifty.stored.medium import Place, shown

Declared = TypeVar("Declared", bound=type)
_REGISTER: dict[str, type] = {}


def stored(**fields: Kind) -> Callable[[Declared], Declared]:
    """Declare the stored fields of a class.

    Parameters
    ----------
    **fields : Kind
        The kind of each field, in addition to the fields of the bases.

    Returns
    -------
    callable
        A decorator of the class.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from thrifty.stored import Number, stored
    >>> @stored(low=Number(), high=Number())
    ... @dataclass
    ... class Limits:
    ...     low: float
    ...     high: float
    """

    def declare(cls: Declared) -> Declared:
        cls._stored = fields  # type: ignore[attr-defined]
        register(cls)
        return cls

    return declare


def register(cls: type) -> None:
    """Let model files contain a class; classes that are not of this package are ignored."""
    if cls.__module__.split(".")[0] == "thrifty" and not cls.__name__.startswith("_"):
        known = _REGISTER.setdefault(cls.__name__, cls)
        if known.__module__ != cls.__module__:
            raise TypeError(f"{cls.__name__} is declared in {known.__module__} and in {cls.__module__}. Rename one.")
        _REGISTER[cls.__name__] = cls


def is_stored(cls: type) -> bool:
    """Tell whether model files may contain objects of a class."""
    return _REGISTER.get(cls.__name__) is cls


def find(name: str) -> type | None:
    """Return the registered class of a name; modules of this package are imported if it is not known yet."""
    if name not in _REGISTER and name in (package := import_module("thrifty")).__all__:
        getattr(package, name)
    if name not in _REGISTER:
        models = import_module("thrifty.models")
        for module in pkgutil.walk_packages(models.__path__, "thrifty.models."):
            import_module(module.name)
    return _REGISTER.get(name)


def fields_of(cls: type) -> dict[str, Kind]:
    """Return the stored fields of a class; those of its bases come first."""
    return {name: kind for base in reversed(cls.__mro__) for name, kind in vars(base).get("_stored", {}).items()}


class Structure(Kind):
    """An object of a class that declares its fields.

    Parameters
    ----------
    *classes : type
        The object is of one of these classes, or of a subclass.
    """

    def __init__(self, *classes: type):
        self.classes = classes

    def write(self, value: Any, place: Place) -> Any:
        """Return the node of an object."""
        place.require(isinstance(value, self.classes), f"is a {type(value).__name__}; expected {self._expected()}")
        return write_structure(value, place)

    def read(self, node: Any, place: Place) -> Any:
        """Return the object of a node."""
        return read_structure(node, place, self.classes)

    def _expected(self) -> str:
        return " or ".join(each.__name__ for each in self.classes)


def write_structure(value: Any, place: Place) -> dict[str, Any]:
    """Return the node of an object; an immutable object that several parts share is written once."""
    cls, known = type(value), place.medium.known
    place.require(is_stored(cls), f"is a {cls.__name__}, which is not a class of thrifty")
    once = getattr(cls, "_stored_once", False)
    if once and id(value) in known:
        return {"class": cls.__name__, "same": known[id(value)][0]}
    fields = _fields(cls, state := _state(value), place)
    place = place._replace(sizes={})
    entries = {name: kind.write(state[name], place.inside(name)) for name, kind in fields.items() if name in state}
    if once:
        known[id(value)] = (len(known), value)
    return {"class": cls.__name__, "fields": entries}


def read_structure(node: Any, place: Place, classes: tuple[type, ...] = (object,)) -> Any:
    """Return the object of a node, after checking its class and all its fields."""
    is_node = isinstance(node, dict) and type(node.get("class")) is str
    place.require(is_node and len(node) == 2, f"is {shown(node)}; expected a structure")
    cls = find(node["class"])
    usable = cls is not None and issubclass(cls, classes) and not isabstract(cls) and _is_complete(cls)
    place.require(usable, f"is a structure {shown(node['class'])}, which cannot be there")
    assert cls is not None
    if "same" in node:
        return _known(node["same"], cls, place)
    entries = node.get("fields")
    place.require(isinstance(entries, dict), "has no fields")
    fields, place = _fields(cls, entries, place), place._replace(sizes={})
    state = {name: kind.read(entries[name], place.inside(name)) for name, kind in fields.items() if name in entries}
    built = _build(cls, state)
    if getattr(cls, "_stored_once", False):
        place.medium.known.append(built)
    return built


def _known(number: Any, cls: type, place: Place) -> Any:
    known = place.medium.known
    found = type(number) is int and 0 <= number < len(known) and type(known[number]) is cls
    place.require(found, "refers to an object that does not come before it")
    return known[number]


def _fields(cls: type, state: Mapping[str, Any], place: Place) -> dict[str, Kind]:
    """Return the fields of an object with this state, after checking that none is missing or unknown."""
    fields = fields_of(cls)
    if is_estimator(cls):
        from thrifty.stored.parameters import Parameter

        parameters = {name: fields.pop(name, Parameter()) for name in cls._get_param_names()}  # type: ignore[attr-defined]
        fields = parameters | (fields if set(fields) & set(state) else {})  # the second part if it is fitted
    if unknown := sorted(set(state) - set(fields)):
        place.refuse(f"has {shown(unknown[0])}, which {cls.__name__} does not declare as stored")
    if missing := [name for name, kind in fields.items() if kind.required and name not in state]:
        place.refuse(f"has no {missing[0]}, which a {cls.__name__} needs")
    return fields


def _is_complete(cls: type) -> bool:
    """Tell whether a class can have objects: bases of estimators do not have a `fit`."""
    return not is_estimator(cls) or hasattr(cls, "fit")


def is_estimator(cls: type) -> bool:
    """Tell whether a class is an estimator, whose constructor only assigns its parameters."""
    return hasattr(cls, "_get_param_names")


def _state(value: Any) -> Mapping[str, Any]:
    cls = type(value)
    if is_estimator(cls):
        return value._state_to_store()
    if hasattr(cls, "__setstate__"):
        return value.__getstate__()
    return {name: getattr(value, name) for name in fields_of(cls)}


def _build(cls: Any, state: dict[str, Any]) -> Any:
    if is_estimator(cls):
        return _built_estimator(cls, state)
    if is_dataclass(cls) or issubclass(cls, tuple):
        return cls(**state)
    built = cls.__new__(cls)
    if hasattr(cls, "__setstate__"):
        built.__setstate__(state)
    else:
        vars(built).update(state)
    return built


def _built_estimator(cls: Any, state: dict[str, Any]) -> Any:
    parameters = cls._get_param_names()
    estimator = cls(**{name: state[name] for name in parameters})
    fitted = {name: value for name, value in state.items() if name not in parameters}
    if fitted:
        vars(estimator).update(fitted)
        estimator._complete_loaded()
        estimator.refuse_unsound()
    return estimator
