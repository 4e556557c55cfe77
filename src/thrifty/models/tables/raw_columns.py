"""The raw columns of a fitted model, by name."""

from typing import Any

from thrifty.models.outline import Columns
from thrifty.models.tables.fields import NUMBER, Field
from thrifty.models.tables.table_model import TableModel


def fields_of(model: Any) -> dict[str, Field]:
    """Return the raw columns of a model by name. Columns of a model without names are called x0, x1, ...

    >>> from thrifty import CostWeightedL1Regressor
    >>> fields_of(CostWeightedL1Regressor(costs={"rooms": 1.0}).fit([[0.0], [1.0]], [0.0, 1.0]))["rooms"].kind
    'number'
    """
    names = list(Columns.of(model.cost_model_).names)
    if isinstance(model, TableModel):
        return dict(zip(names, model.encoder_.fields_, strict=True))
    return {name: Field(name, NUMBER) for name in names}
