"""Build a declaration from another one.

`select` keeps some of the features. `align` matches the features with the columns of a table X, by name or by position.
`derive` declares new features that are computed from the declared ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thrifty.costs.declaration import Bundle, Declaration, default_names, parse_name, parse_price
from thrifty.costs.errors import format_value
from thrifty.costs.units import Units
from thrifty.exceptions import CostError


def select(declared: Declaration, features: Any) -> Declaration:
    """Return the declaration of some features.

    A selected feature may require features that are not selected. Their prices become bundles, so that every set of
    selected features costs the same as before.
    """
    columns = declared.distinct_columns(features, "select")
    if not columns:
        raise CostError("select is empty. List at least one feature.")
    position = {column: k for k, column in enumerate(columns)}
    required, dropped = zip(*(declared.required_by(column, position) for column in columns), strict=True)
    names = None if declared.names is None else declared.names_or_indices(columns)
    return Declaration(
        names=names,
        prices=tuple(declared.prices[column] for column in columns),
        bundles=_selected_bundles(declared, columns, dropped, {*(names or default_names(len(columns)))}),
        requires=tuple(tuple(sorted(position[column] for column in others)) for others in required),
        unit=declared.unit,
    )


def _selected_bundles(
    declared: Declaration, columns: Sequence[int], dropped: Sequence[set[int]], used_names: set[str]
) -> tuple[Bundle, ...]:
    """Return the bundles of a selection: the declared ones, and one for each price of a dropped feature.

    `dropped` holds, for each selected column, the features that it requires and that are not selected.
    """
    dropped_prices = [
        Bundle(declared.labels[column], (column,), price)
        for column in sorted(set().union(*dropped))
        if (price := declared.prices[column]) is not None
    ]
    needed = [{column, *others} for column, others in zip(columns, dropped, strict=True)]
    bundles = []
    for name, old_members, price in (*declared.bundles, *dropped_prices):
        if members := tuple(k for k, features in enumerate(needed) if not features.isdisjoint(old_members)):
            bundles.append(Bundle(_unused_name(name, used_names), members, price))
    return tuple(bundles)


def align(declared: Declaration, n_features: int, feature_names: Sequence[str] | None) -> Declaration:
    """Return the declaration in the column order of a table; match by name if both have names, else by position."""
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
    unknown = [name for name in declared.labels if name not in columns]
    if unpriced and unknown:
        raise CostError(
            f"costs has no price for column {format_value(unpriced[0])} of X, but one for {unknown[0]!r}, which is not "
            "a column. Check the spelling of both names."
        )
    for name in unpriced:
        raise CostError(f"costs has no price for column {format_value(name)} of X. Add one, or drop the column.")
    for name in unknown:
        raise CostError(f"costs has a price for {name!r}, which is not a column of X. Remove it, or add the column.")
    return declared if columns == declared.names else select(declared, columns)


def derive(
    declared: Declaration, units: Units, requires: Any, evaluation_costs: Any, names: Iterable[str] | None
) -> Declaration:
    """Return the declaration of features that are computed from the declared ones.

    Each unit of the declared features becomes a bundle. Its members are the derived features that need the unit.
    """
    reads = _reads_matrix(declared, requires)
    parsed_names = None if names is None else tuple(parse_name(name) for name in names)
    labels = default_names(len(reads)) if parsed_names is None else parsed_names
    labels = tuple(_one_per_feature(labels, len(reads), "names"))
    prices = _one_per_feature(evaluation_costs, len(reads), "evaluation_costs")
    return Declaration(
        names=parsed_names,
        prices=tuple(parse_price(p, f"derived feature {label!r}") for p, label in zip(prices, labels, strict=True)),
        bundles=_units_as_bundles(units, reads, {*labels}),
        requires=((),) * len(reads),
        unit=declared.unit,
    )


def _reads_matrix(declared: Declaration, requires: Any) -> np.ndarray:
    """Return a boolean matrix (n_derived, n_features): which features each derived feature reads."""
    width = len(declared.prices)
    if isinstance(requires, np.ndarray) and requires.dtype == bool and requires.shape[1:] == (width,):
        reads = requires
    elif isinstance(requires, Sequence) and not isinstance(requires, str):
        reads = np.zeros((len(requires), width), dtype=bool)
        for t, features in enumerate(requires):
            reads[t, list(declared.columns(features, f"requires[{t}]"))] = True
    else:
        raise CostError(
            f"requires is {_describe(requires)}. Pass a boolean matrix of shape (t, {width}), "
            "or one list of features for each derived feature."
        )
    if len(reads) == 0:
        raise CostError("requires is empty. Pass the features that each derived feature reads.")
    return reads


def _describe(value: Any) -> str:
    return f"an array of {value.dtype} {value.shape}" if isinstance(value, np.ndarray) else format_value(value)


def _units_as_bundles(units: Units, reads: np.ndarray, used_names: set[str]) -> tuple[Bundle, ...]:
    needs = reads.astype(np.float32) @ units.requirement > 0
    return tuple(
        Bundle(_unused_name(name, used_names), tuple(np.flatnonzero(needed).tolist()), cost)
        for name, cost, needed in zip(units.names, units.costs.tolist(), needs.T, strict=True)
        if needed.any()
    )


def _one_per_feature(values: Any, n_features: int, argument: str) -> list[Any]:
    """Return one value per derived feature; a scalar is repeated."""
    repeated = [values] * n_features if np.ndim(values) == 0 else list(values)
    if len(repeated) != n_features:
        raise CostError(
            f"{argument} has {len(repeated)} entries but there are {n_features} derived features. "
            "Pass one entry per derived feature."
        )
    return repeated


def _unused_name(name: str, used_names: set[str]) -> str:
    """Append apostrophes until the name is unused, and add it to the used names."""
    while name in used_names:
        name += "'"
    used_names.add(name)
    return name
