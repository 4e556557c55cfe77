"""Build a declaration from another one.

`select` keeps some of the features. `align` matches the features with the columns of a table X, by name or by position.
`derive` declares new features that are computed from the declared ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from thrifty.costs.declaration import Bundle, Declaration, default_names, parse_name, parse_price, refuse_unordered
from thrifty.costs.distinct_names import DistinctNames
from thrifty.costs.errors import format_value
from thrifty.costs.units import Units, marks_of
from thrifty.exceptions import CostError

_MAX_NEEDED = 2**25  # pairs of a derived feature and a unit that it needs; more would take gigabytes


def select(declared: Declaration, features: Any) -> Declaration:
    """Return the declaration of some features.

    A selected feature may require features that are not selected. Their prices become bundles, so that every set of
    selected features costs the same as before.
    """
    refuse_unordered(features, "select")
    columns = declared.distinct_columns(features, "select")
    if not columns:
        raise CostError("select is empty. List at least one feature.")
    position = {column: k for k, column in enumerate(columns)}
    required, dropped = zip(*(declared.required_by(column, position) for column in columns), strict=True)
    names = None if declared.names is None else declared.names_or_indices(columns)
    return Declaration(
        names=names,
        prices=tuple(declared.prices[column] for column in columns),
        bundles=_selected_bundles(declared, columns, dropped, DistinctNames(names or default_names(len(columns)))),
        requires=tuple(tuple(sorted(position[column] for column in others)) for others in required),
        unit=declared.unit,
    )


def _selected_bundles(
    declared: Declaration, columns: Sequence[int], dropped: Sequence[Set[int]], names: DistinctNames
) -> tuple[Bundle, ...]:
    """Return the bundles of a selection: the declared ones, and one for each price of a dropped feature.

    `dropped` holds, for each selected column, the features that it requires and that are not selected.
    """
    dropped_prices = [
        Bundle(declared.labels[column], (column,), price)
        for column in sorted(set().union(*dropped))
        if (price := declared.prices[column]) is not None
    ]
    if not (declared.bundles or dropped_prices):
        return ()
    needed_by = defaultdict(list)  # positions of the selected columns that need each declared column
    for k, (column, others) in enumerate(zip(columns, dropped, strict=True)):
        for needed in (column, *others):
            needed_by[needed].append(k)
    bundles = []
    for name, old_members, price in (*declared.bundles, *dropped_prices):
        if members := {k for column in old_members for k in needed_by.get(column, ())}:
            bundles.append(Bundle(names.add(name), tuple(sorted(members)), price))
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
    known = {*columns}
    unknown = [name for name in declared.labels if name not in known]
    if unpriced and unknown:
        column, name = format_value(unpriced[0]), format_value(unknown[0])
        raise CostError(
            f"costs has no price for column {column} of X, but one for {name}, which is not a column. "
            "Check the spelling of both names."
        )
    for name in unpriced:
        raise CostError(f"costs has no price for column {format_value(name)} of X. Add one, or drop the column.")
    for name in unknown:
        problem = f"costs has a price for {format_value(name)}, which is not a column of X"
        raise CostError(f"{problem}. Remove it, or add the column.")
    return declared if columns == declared.names else select(declared, columns)


def derive(
    declared: Declaration, units: Units, requires: Any, evaluation_costs: Any, names: Iterable[str] | None
) -> Declaration:
    """Return the declaration of features that are computed from the declared ones.

    Each unit of the declared features becomes a bundle. Its members are the derived features that need the unit.
    """
    reads = _reads_matrix(declared, requires)
    n_derived = reads.shape[0]
    parsed_names = None if names is None else tuple(parse_name(name) for name in names)
    labels = default_names(n_derived) if parsed_names is None else parsed_names
    labels = tuple(_one_per_feature(labels, n_derived, "names"))
    prices = _one_per_feature(evaluation_costs, n_derived, "evaluation_costs")
    return Declaration(
        names=parsed_names,
        prices=tuple(map(parse_price, prices, repeat("derived feature"), labels)),
        bundles=_units_as_bundles(units, reads, DistinctNames(labels)),
        requires=((),) * n_derived,
        unit=declared.unit,
    )


def _reads_matrix(declared: Declaration, requires: Any) -> csr_array:
    """Return a sparse boolean matrix (n_derived, n_features): which features each derived feature reads."""
    width = len(declared.prices)
    if (isinstance(requires, np.ndarray) or issparse(requires)) and requires.dtype == bool:
        matches = requires.ndim == 2 and requires.shape[1] == width
        reads = csr_array(requires) if matches else None
    elif isinstance(requires, Sequence) and not isinstance(requires, str):
        columns = ({*declared.columns(features, f"requires[{t}]")} for t, features in enumerate(requires))
        reads = marks_of((sorted(each) for each in columns), shape=(len(requires), width))
    else:
        reads = None
    if reads is None:
        raise CostError(
            f"requires is {_describe(requires)}. Pass a boolean matrix of shape (t, {width}), "
            "or one list of features for each derived feature."
        )
    if reads.shape[0] == 0:
        raise CostError("requires is empty. Pass the features that each derived feature reads.")
    return reads


def _describe(value: Any) -> str:
    return f"an array of {value.dtype} {value.shape}" if hasattr(value, "dtype") else format_value(value)


def _units_as_bundles(units: Units, reads: csr_array, names: DistinctNames) -> tuple[Bundle, ...]:
    n_needed = int(np.diff(units.requirement.indptr)[reads.indices].sum())
    if n_needed > _MAX_NEEDED:
        raise CostError(
            f"derived features need {n_needed} units; expected at most {_MAX_NEEDED}. Declare fewer bundles, or derive "
            "fewer features."
        )
    needs = (reads @ units.requirement).astype(bool).tocsc()
    needs.sort_indices()
    features = needs.indices.tolist()
    members = [tuple(features[first:last]) for first, last in pairwise(needs.indptr.tolist())]
    return tuple(
        Bundle(names.add(name), those, cost)
        for name, cost, those in zip(units.names, units.costs.tolist(), members, strict=True)
        if those
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
