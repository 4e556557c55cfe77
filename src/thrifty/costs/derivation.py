"""Declarations made from others: of some features, of the columns of a table, of computed features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thrifty.costs.declaration import Bundle, Declaration, default_names, parse_name, parse_price
from thrifty.costs.errors import shown
from thrifty.costs.units import Units
from thrifty.exceptions import CostError


def select(declared: Declaration, features: Any) -> Declaration:
    """Return the declaration of some features; what they require of the others turns into bundles."""
    columns = declared.distinct_columns(features, "select")
    if not columns:
        raise CostError("select lists no feature. List at least one.")
    place = {column: k for k, column in enumerate(columns)}
    ends, passed = zip(*(declared.behind(column, place) for column in columns), strict=True)
    names = None if declared.names is None else declared.called(columns)
    return Declaration(
        names=names,
        prices=tuple(declared.prices[column] for column in columns),
        bundles=_bundles_among(declared, columns, passed, {*(names or default_names(len(columns)))}),
        requires=tuple(tuple(sorted(place[end] for end in required)) for required in ends),
        unit=declared.unit,
    )


def _bundles_among(
    declared: Declaration, columns: Sequence[int], passed: Sequence[set[int]], taken: set[str]
) -> tuple[Bundle, ...]:
    """Return the bundles of a selection: the declared ones, and one for each price left behind."""
    left_behind = [
        Bundle(declared.labels[column], (column,), price)
        for column in sorted(set().union(*passed))
        if (price := declared.prices[column]) is not None
    ]
    reach = [{column, *others} for column, others in zip(columns, passed, strict=True)]
    bundles = []
    for name, sharers, price in (*declared.bundles, *left_behind):
        if members := tuple(k for k, reached in enumerate(reach) if not reached.isdisjoint(sharers)):
            bundles.append(Bundle(_free_name(name, taken), members, price))
    return tuple(bundles)


def align(declared: Declaration, n_features: int, feature_names: Sequence[str] | None) -> Declaration:
    """Return the declaration in the order of a table's columns: by name where both sides have names."""
    if feature_names is not None and declared.names is not None:
        return _align_by_name(declared, tuple(feature_names))
    if len(declared.prices) != n_features:
        raise CostError(
            f"costs has {len(declared.prices)} entries but X has {n_features} features. "
            "Pass one cost per column, or a CostModel with names."
        )
    return declared if feature_names is None else declared.renamed(feature_names)


def _align_by_name(declared: Declaration, columns: tuple[str, ...]) -> Declaration:
    unpriced = [name for name in columns if name not in declared.column_of]
    strangers = [name for name in declared.labels if name not in columns]
    if unpriced and strangers:
        raise CostError(
            f"costs has no price for column {shown(unpriced[0])} of X, but one for {strangers[0]!r}, which is no "
            "column. Are they meant to be the same?"
        )
    for name in unpriced:
        raise CostError(f"costs has no price for column {shown(name)} of X. Add one, or drop the column.")
    for name in strangers:
        raise CostError(f"costs names {name!r}, which is no column of X. Remove it, or add the column.")
    return declared if columns == declared.names else select(declared, columns)


def derive(
    declared: Declaration, units: Units, requires: Any, evaluation_costs: Any, names: Iterable[str] | None
) -> Declaration:
    """Return the declaration of features computed from these ones, whose units turn into bundles."""
    reads = _reading_matrix(declared, requires)
    given = None if names is None else tuple(parse_name(name) for name in names)
    labels = _one_each(default_names(len(reads)) if given is None else given, len(reads), "names")
    prices = _one_each(evaluation_costs, len(reads), "evaluation_costs")
    return Declaration(
        names=given,
        prices=tuple(parse_price(p, f"derived feature {label!r}") for p, label in zip(prices, labels, strict=True)),
        bundles=_units_as_bundles(units, reads, {*labels}),
        requires=((),) * len(reads),
        unit=declared.unit,
    )


def _reading_matrix(declared: Declaration, requires: Any) -> np.ndarray:
    width = len(declared.prices)
    if isinstance(requires, np.ndarray) and requires.dtype == bool and requires.shape[1:] == (width,):
        reads = requires
    elif isinstance(requires, Sequence) and not isinstance(requires, str):
        reads = np.zeros((len(requires), width), dtype=bool)
        for t, features in enumerate(requires):
            reads[t, list(declared.columns(features, f"requires[{t}]"))] = True
    else:
        raise CostError(
            f"requires is {_outline(requires)}. Pass a boolean matrix of shape (t, {width}), "
            "or a list with the features that each derived one reads."
        )
    if len(reads) == 0:
        raise CostError("requires is empty. Pass what each derived feature reads.")
    return reads


def _outline(value: Any) -> str:
    return f"an array of {value.dtype} {value.shape}" if isinstance(value, np.ndarray) else shown(value)


def _units_as_bundles(units: Units, reads: np.ndarray, taken: set[str]) -> tuple[Bundle, ...]:
    needs = reads.astype(np.float32) @ units.requirement > 0
    return tuple(
        Bundle(_free_name(name, taken), tuple(np.flatnonzero(needed).tolist()), cost)
        for name, cost, needed in zip(units.names, units.costs.tolist(), needs.T, strict=True)
        if needed.any()
    )


def _one_each(values: Any, count: int, argument: str) -> list[Any]:
    each = [values] * count if np.ndim(values) == 0 else list(values)
    if len(each) != count:
        raise CostError(f"{argument} has {len(each)} entries for {count} derived features. Pass one each.")
    return each


def _free_name(name: str, taken: set[str]) -> str:
    """Prime the name until it is free, then take it."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name
