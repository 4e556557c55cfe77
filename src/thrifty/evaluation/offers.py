"""What can be bought and cancelled as one: the columns of a bundle, or a single column."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from thrifty.costs import CostModel
from thrifty.models.tables.columns import column_names, is_frame

BETWEEN_BUNDLES = " + "


@dataclass(frozen=True)
class Offer:
    """Columns that are bought together.

    Attributes
    ----------
    name : str
        The name of the column, or of the bundles.
    columns : ndarray of int
        Positions of the columns.
    """

    name: str
    columns: np.ndarray


def offers(costs: CostModel) -> list[Offer]:
    """Return the columns by bundle, and the other columns one by one; bundles that share a column are one offer."""
    names = names_of(costs)
    position = {key: j for j, key in enumerate(costs.names or range(costs.n_features))}
    merged: list[tuple[list[str], set[int]]] = []
    for bundle, (members, _) in costs.bundles.items():
        columns, titles = {position[each] for each in members}, [str(bundle)]
        for other in [each for each in merged if each[1] & columns]:
            merged.remove(other)
            columns, titles = columns | other[1], [*other[0], *titles]
        merged.append((titles, columns))
    bundled = set().union(*(columns for _, columns in merged))
    alone = [([names[j]], {j}) for j in range(costs.n_features) if j not in bundled]
    return [Offer(BETWEEN_BUNDLES.join(titles), np.array(sorted(columns))) for titles, columns in [*merged, *alone]]


def names_of(costs: CostModel) -> list[str]:
    """Return the names of the columns; columns without names are called x0, x1, ..."""
    return [str(name) for name in costs.names or (f"x{j}" for j in range(costs.n_features))]


def added_by(offer: Offer, acquired: np.ndarray, costs: CostModel) -> np.ndarray:
    """Return what the columns of an offer add to what each row pays for its columns."""
    others = acquired.copy()
    others[:, offer.columns] = False
    return costs.of(acquired) - costs.of(others)


def without_columns(X: Any, columns: np.ndarray) -> Any:
    """Return a table with no value in some columns."""
    if not is_frame(X):
        values = np.array(X)
        values = values.astype(float if values.dtype.kind in "biuf" else object)
        values[:, columns] = np.nan
        return values
    names = [column_names(X)[j] for j in columns]
    if isinstance(X, pd.DataFrame):
        frame = X.copy()
        frame[names] = np.nan
        return frame
    typed = nw.from_native(X, eager_only=True)
    return typed.with_columns(**{name: nw.lit(None, dtype=typed[name].dtype) for name in names}).to_native()
