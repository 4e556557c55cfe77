"""Check the arguments of a cost model and store them in one normal form.

Names of features are translated to column indices here. The other modules work with column indices only.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from thrifty.costs.errors import format_value
from thrifty.exceptions import CostError

_NONE: frozenset[int] = frozenset()


class Bundle(NamedTuple):
    """A price that a row pays once, with the first member that it acquires."""

    name: str
    members: tuple[int, ...]
    price: float


@dataclass(frozen=True)
class Declaration:
    """The immutable content of a cost model.

    Attributes
    ----------
    names : tuple of str, or None
        Names of the features; None if they have no names.
    prices : tuple of float or None, one entry per feature
        Each feature's own price; None if it does not have one.
    bundles : tuple of Bundle
        Prices that several features share.
    requires : tuple of tuples of int, one entry per feature
        Columns that each feature requires directly.
    unit : str
        Unit of the prices, such as "CAD".
    """

    names: tuple[str, ...] | None
    prices: tuple[float | None, ...]
    bundles: tuple[Bundle, ...]
    requires: tuple[tuple[int, ...], ...]
    unit: str

    @classmethod
    def parse(cls, costs: Any, bundles: Any, requires: Any, unit: Any) -> Declaration:
        """Check the arguments of `CostModel` and return them as a declaration."""
        if not isinstance(unit, str):
            raise CostError(f"unit is {format_value(unit)}. Pass text, such as 'CAD'.")
        names, prices = _parse_costs(costs)
        plain = cls(names, prices, (), ((),) * len(prices), unit)
        return replace(
            plain,
            bundles=tuple(plain._parse_bundle(*item) for item in _items(bundles, "bundles")),
            requires=plain._parse_requires(_items(requires, "requires")),
        )

    def __post_init__(self) -> None:
        if len(self.column_of) < len(self.labels):
            repeated = next(name for j, name in enumerate(self.labels) if self.column_of[name] != j)
            raise CostError(f"the feature name {format_value(repeated)} appears twice. Give each feature its own name.")
        for bundle in self.bundles:
            if bundle.name in self.column_of:
                raise CostError(f"bundle {format_value(bundle.name)} has the name of a feature. Rename the bundle.")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the features; x0, x1, ... if the features have no names."""
        return default_names(len(self.prices)) if self.names is None else self.names

    @cached_property
    def column_of(self) -> dict[str, int]:
        """Column index of each label."""
        return {label: j for j, label in enumerate(self.labels)}

    def column(self, feature: Any, source: str) -> int:
        """Return the column index of a feature given by name or index.

        An error message starts with `source`, the name of the argument that holds the feature.
        """
        if isinstance(feature, str) and feature in self.column_of:
            return self.column_of[feature]
        if _is_integer(feature) and 0 <= feature < len(self.prices):
            return int(feature)
        raise CostError(
            f"{source} lists {format_value(feature)}, which is not a feature. "
            f"Pass the name of a feature, or its index from 0 to {len(self.prices) - 1}."
        )

    def columns(self, features: Any, source: str) -> tuple[int, ...]:
        """Return the column indices of several features."""
        if isinstance(features, str) or not isinstance(features, Iterable):
            raise CostError(f"{source} is {format_value(features)}. Pass a list of features.")
        return tuple(self.column(feature, source) for feature in features)

    def distinct_columns(self, features: Any, source: str) -> tuple[int, ...]:
        """Return the column indices of several features; raise a CostError if one appears twice."""
        columns = self.columns(features, source)
        if len({*columns}) < len(columns):
            [repeated] = self.names_or_indices([first_repeated(columns)])
            raise CostError(f"{source} lists {format_value(repeated)} twice. List every feature once.")
        return columns

    def names_or_indices(self, columns: Iterable[int]) -> tuple[Any, ...]:
        """Return the names of columns, or their indices if the features have no names."""
        names = self.names
        return tuple(columns) if names is None else tuple(names[column] for column in columns)

    def required_by(self, feature: int, kept: Collection[int] = ()) -> tuple[Set[int], Set[int]]:
        """Return the features that a feature requires, directly or through others, as two sets.

        The first set holds required features that are in `kept`; the search does not go beyond them. The second set
        holds all other required features.
        """
        if not self.requires[feature]:
            return _NONE, _NONE
        kept_found, others, pending = set(), set(), list(self.requires[feature])
        while pending:
            required = pending.pop()
            if required in kept:
                kept_found.add(required)
            elif required not in others:
                others.add(required)
                pending.extend(self.requires[required])
        return kept_found - {feature}, others

    def renamed(self, names: Iterable[Any]) -> Declaration:
        """Return a copy with other feature names."""
        return replace(self, names=tuple(parse_name(name) for name in names))

    def as_arrays(self) -> dict[str, Any]:
        """Return the declaration as names and flat arrays, which stay small on disk even with many bundles."""
        members, requires = [bundle.members for bundle in self.bundles], self.requires
        return {
            "names": self.names,
            "prices": np.array([math.nan if price is None else price for price in self.prices]),
            "bundle_names": tuple(bundle.name for bundle in self.bundles),
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
        """Rebuild a declaration from the arrays of `as_arrays`, with the same checks as for user input."""
        own = [None if math.isnan(price) else price for price in prices.tolist()]
        contents = zip(_parts(members, n_members), bundle_prices.tolist(), strict=True)
        return cls.parse(
            own if names is None else dict(zip(names, own, strict=True)),
            dict(zip(bundle_names, contents, strict=True)),
            {j: those for j, those in enumerate(_parts(requires, n_requires)) if those},
            unit,
        )

    def _parse_bundle(self, name: Any, content: Any) -> Bundle:
        source = f"bundle {format_value(name)}"
        if not isinstance(content, Sequence) or isinstance(content, str) or len(content) != 2:
            raise CostError(f"{source} is {format_value(content)}. Pass a pair (members, price).")
        members = self.distinct_columns(content[0], source)
        if not members:
            raise CostError(f"{source} is empty. List its members, or leave the bundle out.")
        return Bundle(parse_name(name), tuple(sorted(members)), parse_price(content[1], "bundle", name))

    def _parse_requires(self, items: Iterable[tuple[Any, Any]]) -> tuple[tuple[int, ...], ...]:
        requires: list[tuple[int, ...]] = [()] * len(self.prices)
        for feature, required in items:
            column = self.column(feature, "requires")
            # Every feature requires itself, so this entry is redundant.
            others = self.distinct_columns(required, f"requires[{format_value(feature)}]")
            requires[column] = tuple(sorted({*others} - {column}))
        return tuple(requires)


def _flat(parts: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([column for part in parts for column in part], dtype=np.int64)


def _parts(flat: np.ndarray, lengths: np.ndarray) -> list[list[int]]:
    values, ends = flat.tolist(), np.cumsum(lengths).tolist()
    return [values[first:last] for first, last in pairwise([0, *ends])]


def first_repeated(values: Iterable[Any]) -> Any:
    """Return the first value that appeared before; None if all values are different."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def default_names(count: int) -> tuple[str, ...]:
    """Return the names x0, x1, ... for features without names."""
    return tuple(f"x{j}" for j in range(count))


def parse_name(name: Any) -> str:
    """Return the name of a feature or bundle; raise a CostError if it is not non-empty text."""
    if isinstance(name, str) and name:
        return str(name)
    raise CostError(f"{format_value(name)} is not a name. Name features and bundles with non-empty text.")


def parse_price(value: Any, kind: str, name: Any) -> float:
    """Return a price as a float; raise a CostError that names its owner if it is not a finite number >= 0."""
    if type(value) is float or (isinstance(value, Real | Decimal) and not isinstance(value, bool)):
        try:
            # Convert float32 through text, because 0.1 as float32 would become 0.10000000149 as float64.
            price = float(str(value) if isinstance(value, np.floating) and not isinstance(value, float) else value)
        except OverflowError:
            price = math.inf
        if 0 <= price < math.inf:
            return abs(price)  # turns -0.0 into 0.0
    owner = f"{kind} {format_value(name)}"
    raise CostError(f"the price of {owner} is {format_value(value)}. A price must be a finite number, 0 or more.")


def _parse_costs(costs: Any) -> tuple[tuple[str, ...] | None, tuple[float | None, ...]]:
    if isinstance(costs, str | os.PathLike):
        advice = f"To read a file, pass CostModel.from_file({format_value(str(costs))})."
        raise CostError(f"costs is {format_value(costs)}. {advice}")
    refuse_unordered(costs, "costs")
    try:
        names, values = _named(costs) if hasattr(costs, "items") else (None, list(costs))
    except TypeError:
        raise CostError(f"costs is {format_value(costs)}. Pass one price per feature, or {{name: price}}.") from None
    if not values:
        raise CostError("there are no prices. Pass one price per feature.")
    labels = range(len(values)) if names is None else names
    prices = [
        None if value is None else parse_price(value, "feature", label)
        for label, value in zip(labels, values, strict=True)
    ]
    return names, tuple(prices)


def refuse_unordered(values: Any, argument: str) -> None:
    """Raise a CostError if values that need an order come as a set, which has none."""
    if isinstance(values, set | frozenset):
        raise CostError(f"{argument} is a set, which has no order. Pass a list.")


def _named(costs: Any) -> tuple[tuple[str, ...] | None, list[Any]]:
    """Return the names and values of a dict or pandas Series; a Series whose index is not all text has no names."""
    keys, values = [key for key, _ in costs.items()], [value for _, value in costs.items()]
    if not isinstance(costs, Mapping) and not all(isinstance(key, str) for key in keys):
        return None, values
    return tuple(parse_name(key) for key in keys), values


def _items(mapping: Any, argument: str) -> Iterable[tuple[Any, Any]]:
    if mapping is None:
        return ()
    if not isinstance(mapping, Mapping):
        raise CostError(f"{argument} is {format_value(mapping)}. Pass a dict.")
    return mapping.items()


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
