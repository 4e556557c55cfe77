"""What was declared: prices, bundles, and which feature requires which, checked and in one normal form.

Features become column indices here, so that nothing behind this file has to look up a name.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from thrifty.costs.errors import shown
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
    def parse(cls, costs: Any, bundles: Any, requires: Any, unit: Any) -> Declaration:
        """Check what a user wrote."""
        if not isinstance(unit, str):
            raise CostError(f"unit is {shown(unit)}. Pass text, such as 'CAD'.")
        names, prices = _parse_costs(costs)
        plain = cls(names, prices, (), ((),) * len(prices), unit)
        return replace(
            plain,
            bundles=tuple(plain._parse_bundle(*item) for item in _items(bundles, "bundles")),
            requires=plain._parse_requires(_items(requires, "requires")),
        )

    def __post_init__(self) -> None:
        if len(self.column_of) < len(self.labels):
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

    def column(self, feature: Any, source: str) -> int:
        """Return the column of a feature given by name or index; `source` says in an error where it stood."""
        if isinstance(feature, str) and feature in self.column_of:
            return self.column_of[feature]
        if _is_integer(feature) and 0 <= feature < len(self.prices):
            return int(feature)
        raise CostError(
            f"{source} lists {shown(feature)}, which is no feature. "
            f"Pass the name of a feature, or its index from 0 to {len(self.prices) - 1}."
        )

    def columns(self, features: Any, source: str) -> tuple[int, ...]:
        """Return the columns of several features."""
        if isinstance(features, str) or not isinstance(features, Iterable):
            raise CostError(f"{source} is {shown(features)}. Pass a list of features.")
        return tuple(self.column(feature, source) for feature in features)

    def distinct_columns(self, features: Any, source: str) -> tuple[int, ...]:
        """Return the columns of several features, none of them listed twice."""
        columns = self.columns(features, source)
        if len({*columns}) < len(columns):
            twice = next(column for k, column in enumerate(columns) if column in columns[:k])
            raise CostError(f"{source} lists {self.called([twice])[0]!r} twice. List every feature once.")
        return columns

    def called(self, columns: Iterable[int]) -> tuple[Any, ...]:
        """Return what the user calls these columns: their names, or their indices where they have none."""
        names = self.names
        return tuple(columns) if names is None else tuple(names[column] for column in columns)

    def behind(self, feature: int, kept: Collection[int] = ()) -> tuple[set[int], set[int]]:
        """Follow `requires` from a feature: the kept ones where the walk ends, the others that it passes."""
        ends, passed, ahead = set(), set(), list(self.requires[feature])
        while ahead:
            step = ahead.pop()
            if step in kept:
                ends.add(step)
            elif step not in passed:
                passed.add(step)
                ahead.extend(self.requires[step])
        return ends - {feature}, passed

    def renamed(self, names: Iterable[Any]) -> Declaration:
        """Return the same declaration under other feature names."""
        return replace(self, names=tuple(parse_name(name) for name in names))

    def as_arrays(self) -> dict[str, Any]:
        """Return the declaration in a few flat arrays, which are short on disk however many bundles there are."""
        members, requires = [bundle.members for bundle in self.bundles], self.requires
        return {
            "names": None if self.names is None else np.array(self.names),
            "prices": np.array([math.nan if price is None else price for price in self.prices]),
            "bundle_names": np.array([bundle.name for bundle in self.bundles], dtype=np.str_),
            "bundle_prices": np.array([bundle.price for bundle in self.bundles], dtype=float),
            "members": _flat(members),
            "n_members": np.array([*map(len, members)], dtype=np.int64),
            "requires": _flat(requires),
            "n_requires": np.array([*map(len, requires)], dtype=np.int64),
            "unit": self.unit,
        }

    @classmethod
    def from_arrays(
        cls,
        names: Any,
        prices: Any,
        bundle_names: Any,
        bundle_prices: Any,
        members: Any,
        n_members: Any,
        requires: Any,
        n_requires: Any,
        unit: Any,
    ) -> Declaration:
        """Check what `as_arrays` returned as if a user had written it."""
        own = [None if math.isnan(price) else price for price in prices.tolist()]
        contents = zip(_parts(members, n_members), bundle_prices.tolist(), strict=True)
        return cls.parse(
            own if names is None else dict(zip(names.tolist(), own, strict=True)),
            dict(zip(bundle_names.tolist(), contents, strict=True)),
            dict(zip(range(len(own)), _parts(requires, n_requires), strict=True)),
            unit,
        )

    def _parse_bundle(self, name: Any, content: Any) -> Bundle:
        source = f"bundle {shown(name)}"
        if not isinstance(content, Sequence) or isinstance(content, str) or len(content) != 2:
            raise CostError(f"{source} is {shown(content)}. Pass a pair (members, price).")
        members = self.distinct_columns(content[0], source)
        if not members:
            raise CostError(f"{source} is empty. List its members, or leave the bundle out.")
        return Bundle(parse_name(name), tuple(sorted(members)), parse_price(content[1], source))

    def _parse_requires(self, items: Iterable[tuple[Any, Any]]) -> tuple[tuple[int, ...], ...]:
        requires: list[tuple[int, ...]] = [()] * len(self.prices)
        for feature, required in items:
            column = self.column(feature, "requires")
            # That a feature requires itself goes without saying.
            others = self.distinct_columns(required, f"requires[{shown(feature)}]")
            requires[column] = tuple(sorted({*others} - {column}))
        return tuple(requires)


def _flat(parts: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([column for part in parts for column in part], dtype=np.int64)


def _parts(flat: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    return [part.tolist() for part in np.split(flat, np.cumsum(lengths[:-1]))] if lengths.size else []


def default_names(count: int) -> tuple[str, ...]:
    """Return what features without names are called."""
    return tuple(f"x{j}" for j in range(count))


def parse_name(name: Any) -> str:
    """Return the name of a feature or bundle, or raise a CostError that shows what is none."""
    if isinstance(name, str) and name:
        return str(name)
    raise CostError(f"{shown(name)} is not a name. Name features and bundles with non-empty text.")


def parse_price(value: Any, owner: str) -> float:
    """Return a price as a float, or raise a CostError that names whose it is."""
    if isinstance(value, Real | Decimal) and not isinstance(value, bool):
        try:
            # Through text, because a float32 of 0.1 means 0.1 and not the 0.10000000149 that it widens to.
            price = float(str(value) if isinstance(value, np.floating) else value)
        except OverflowError:
            price = math.inf
        if 0 <= price < math.inf:
            return abs(price)  # no -0.0
    raise CostError(f"the price of {owner} is {shown(value)}. A price must be a finite number, 0 or more.")


def _parse_costs(costs: Any) -> tuple[tuple[str, ...] | None, tuple[float | None, ...]]:
    if isinstance(costs, str | os.PathLike):
        raise CostError(f"costs is {shown(costs)}. To read a price list, pass CostModel.from_file({str(costs)!r}).")
    try:
        names, values = _named(costs) if hasattr(costs, "items") else (None, list(costs))
    except TypeError:
        raise CostError(f"costs is {shown(costs)}. Pass one price per feature, or {{name: price}}.") from None
    if not values:
        raise CostError("costs is empty. Pass one price per feature.")
    labels = range(len(values)) if names is None else names
    prices = [
        None if value is None else parse_price(value, f"feature {label!r}")
        for label, value in zip(labels, values, strict=True)
    ]
    return names, tuple(prices)


def _named(costs: Any) -> tuple[tuple[str, ...] | None, list[Any]]:
    """Take a dict, or a pandas Series, apart; a Series without text in its index is a mere array."""
    keys, values = [key for key, _ in costs.items()], [value for _, value in costs.items()]
    if not isinstance(costs, Mapping) and not all(isinstance(key, str) for key in keys):
        return None, values
    return tuple(parse_name(key) for key in keys), values


def _items(mapping: Any, argument: str) -> Iterable[tuple[Any, Any]]:
    if mapping is None:
        return ()
    if not isinstance(mapping, Mapping):
        raise CostError(f"{argument} is {shown(mapping)}. Pass a dict.")
    return mapping.items()


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
