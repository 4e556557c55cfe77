"""What was declared: prices, bundles, and which feature requires which, checked and in one normal form.

Features become column indices here, so that nothing behind this file has to look up a name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from thrifty.exceptions import CostError


class Bundle(NamedTuple):
    """Something paid once per row, on behalf of all its members."""

    name: str
    members: tuple[int, ...]
    price: float


@dataclass(frozen=True)
class Declaration:
    """The frozen content of a cost model; `prices` and `requires` have one entry per feature."""

    names: tuple[str, ...] | None
    prices: tuple[float | None, ...]
    bundles: tuple[Bundle, ...]
    requires: tuple[tuple[int, ...], ...]
    unit: str

    @classmethod
    def parse(cls, costs: Any, bundles: Any, requires: Any, unit: str) -> Declaration:
        """Check what a user wrote."""
        if not isinstance(unit, str):
            raise CostError(f"unit is {unit!r}. Pass text, such as 'CAD'.")
        names, prices = _parse_costs(costs)
        plain = cls(names, prices, (), ((),) * len(prices), unit)
        return replace(
            plain,
            bundles=tuple(plain._parse_bundle(*item) for item in _items(bundles, "bundles", "{name: (members, price)}")),
            requires=plain._parse_requires(_items(requires, "requires", "{feature: features}")),
        )

    def __post_init__(self) -> None:
        for name in [*(self.names or ()), *(bundle.name for bundle in self.bundles)]:
            if not isinstance(name, str) or not name:
                raise CostError(f"{name!r} is not a name. Name features and bundles with non-empty text.")
        if len(self.column_of) < len(self.prices):
            twice = next(name for j, name in enumerate(self.labels) if self.column_of[name] != j)
            raise CostError(f"feature {twice!r} is named twice. Give every feature a name of its own.")
        for bundle in self.bundles:
            if bundle.name in self.column_of:
                raise CostError(f"bundle {bundle.name!r} has the name of a feature. Rename the bundle.")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the features; x0, x1, ... where they have none."""
        return default_names(len(self.prices)) if self.names is None else self.names

    @cached_property
    def column_of(self) -> dict[str, int]:
        """The column of each label."""
        return {label: j for j, label in enumerate(self.labels)}

    def columns(self, features: Any, source: str) -> tuple[int, ...]:
        """Return the columns of features given by name or index; an error begins with `source`."""
        if isinstance(features, str) or not isinstance(features, Iterable):
            raise CostError(f"{source} is {features!r}. Pass a list of features.")
        columns: dict[int, Any] = {}
        for feature in features:
            column = self._column(feature, source)
            if column in columns:
                raise CostError(f"{source} lists {feature!r} twice. List every feature once.")
            columns[column] = feature
        return tuple(columns)

    def _column(self, feature: Any, source: str) -> int:
        if isinstance(feature, str) and feature in self.column_of:
            return self.column_of[feature]
        if is_index(feature) and 0 <= feature < len(self.prices):
            return int(feature)
        raise CostError(
            f"{source} lists {feature!r}, which is no feature. "
            f"Pass the name of a feature, or its index from 0 to {len(self.prices) - 1}."
        )

    def _parse_bundle(self, name: Any, content: Any) -> Bundle:
        source = f"bundle {name!r}"
        if not isinstance(content, Sequence) or isinstance(content, str) or len(content) != 2:
            raise CostError(f"{source} is {content!r}. Pass a pair (members, price).")
        members = self.columns(content[0], source)
        if not members:
            raise CostError(f"{source} is empty. List its members, or leave the bundle out.")
        return Bundle(name, tuple(sorted(members)), parse_price(content[1], source))

    def _parse_requires(self, items: Iterable[tuple[Any, Any]]) -> tuple[tuple[int, ...], ...]:
        requires: list[tuple[int, ...]] = [()] * len(self.prices)
        for feature, required in items:
            column = self._column(feature, "requires")
            # That a feature requires itself goes without saying.
            requires[column] = tuple(sorted({*self.columns(required, f"requires[{feature!r}]")} - {column}))
        return tuple(requires)

    def behind(self, feature: int, kept: Collection[int] = ()) -> tuple[set[int], set[int]]:
        """Follow `requires` from a feature: the kept features where the walk ends, and the others it passes."""
        ends, passed, ahead = set(), set(), list(self.requires[feature])
        while ahead:
            step = ahead.pop()
            if step in kept:
                ends.add(step)
            elif step not in passed:
                passed.add(step)
                ahead.extend(self.requires[step])
        return ends - {feature}, passed

    def renamed(self, names: Iterable[str]) -> Declaration:
        """Return the same declaration under other feature names."""
        return replace(self, names=tuple(names))

    def select(self, columns: Sequence[int]) -> Declaration:
        """Return the declaration of these columns; what else they require turns into bundles."""
        kept = {column: k for k, column in enumerate(columns)}
        ends, passed = zip(*(self.behind(column, kept) for column in columns), strict=True)
        names = None if self.names is None else tuple(self.names[column] for column in columns)
        return Declaration(
            names,
            tuple(self.prices[column] for column in columns),
            self._bundles_of(columns, passed, names or default_names(len(columns))),
            tuple(tuple(sorted(kept[end] for end in required)) for required in ends),
            self.unit,
        )

    def _bundles_of(self, columns: Sequence[int], passed: Sequence[set[int]], labels: Sequence[str]) -> tuple[Bundle, ...]:
        left_out = ((self.labels[j], {j}, self.prices[j]) for j in sorted(set().union(*passed)))
        sources = [*self.bundles, *((name, j, price) for name, j, price in left_out if price is not None)]
        taken, bundles = {*labels}, []
        for name, sharers, price in sources:
            members = [k for k, column in enumerate(columns) if not passed[k].union([column]).isdisjoint(sharers)]
            if members:
                bundles.append(Bundle(free_name(name, taken), tuple(members), price))
        return tuple(bundles)


def default_names(count: int) -> tuple[str, ...]:
    """Return what features without names are called."""
    return tuple(f"x{j}" for j in range(count))


def free_name(name: str, taken: set[str]) -> str:
    """Prime the name until it is free, and take it."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def is_index(value: Any) -> bool:
    """Return whether a value is an integer; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def parse_price(value: Any, owner: str) -> float:
    """Return a price as a float, or raise a CostError that names whose it is."""
    if isinstance(value, (Real, Decimal)) and not isinstance(value, bool):
        try:
            # Through text, because a float32 of 0.1 means 0.1 and not the 0.10000000149 that it widens to.
            price = float(str(value) if isinstance(value, np.floating) else value)
        except OverflowError:
            price = math.inf
        if 0 <= price < math.inf:
            return price + 0.0  # no -0.0
    raise CostError(f"the price of {owner} is {value!r}. A price must be a finite number, 0 or more.")


def _parse_costs(costs: Any) -> tuple[tuple[str, ...] | None, tuple[float | None, ...]]:
    names = _names_of(costs)
    if names is not None:
        values = [costs[name] for name in names]
    elif isinstance(costs, str) or np.ndim(np.empty(0) if False else costs) != 1:
        raise CostError("")
    return None, ()


def _items(mapping: Any, argument: str, shape: str) -> Iterable[tuple[Any, Any]]:
    if mapping is None:
        return ()
    if not isinstance(mapping, Mapping):
        raise CostError(f"{argument} is {mapping!r}. Pass a dict {shape}.")
    return mapping.items()
