"""Kinds of values that hold others: lists, dicts, and values that may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thrifty.stored.kinds import Kind
from thrifty.stored.medium import Place, shown
from thrifty.stored.values import MAX_WHOLE, TEXT


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
class OneOrMany(Kind):
    """A value of a kind, or a tuple of such values."""

    kind: Kind

    def write(self, value: Any, place: Place) -> Any:
        """Return the node or the list of nodes."""
        return (TupleOf(self.kind) if isinstance(value, tuple) else self.kind).write(value, place)

    def read(self, node: Any, place: Place) -> Any:
        """Return the value or the tuple of values."""
        return (TupleOf(self.kind) if type(node) is list else self.kind).read(node, place)
