"""An estimator made ready for derived columns: what its parameters say of raw columns is said of those."""

from typing import Any

import numpy as np
from sklearn.base import clone

from thrifty.costs import CostModel
from thrifty.models.parameters import is_whole
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.fields import CATEGORY


def prepared(estimator: Any, encoder: TableEncoder, costs: CostModel) -> Any:
    """Return a clone of an estimator with what its parameters say of raw columns said of derived ones."""
    ready = clone(estimator).set_params(costs=encoder.derived_costs(costs))
    parameters = {} if encoder.one_to_one else ready.get_params(deep=False)
    if "factors" in parameters:
        from thrifty.models.policies.factors import Factors

        raw = Factors.of(costs, ready.factors, "TableModel").groups
        ready.set_params(factors=[np.flatnonzero(np.isin(encoder.source_, group)) for group in raw])
    if parameters.get("categorical_features") is not None:
        ready.set_params(categorical_features=_derived_columns(ready.categorical_features, encoder))
    return ready


def _derived_columns(listed: Any, encoder: TableEncoder) -> list[int]:
    """Return the derived columns of raw ones given by name, position or mask; categories have been taken apart."""
    array, fields = np.asarray(listed), encoder.fields_
    given = np.flatnonzero(array) if array.dtype == bool else array
    columns = [encoder.field_of.get(each, each) for each in given.tolist()]
    if strange := [column for column in columns if not is_whole(column, 0) or column >= len(fields)]:
        raise ValueError(f"TableModel: categorical_features lists {strange[0]!r}, which is no column of X.")
    return [int(encoder.starts[column]) for column in columns if fields[column].kind != CATEGORY]
