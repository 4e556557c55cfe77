"""Rows with given values. A few are read cell by cell: the checks of a table take longer than the prediction."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from thrifty.models.acquisition import Acquisition
from thrifty.models.base import BudgetedEstimator
from thrifty.models.session import refusal
from thrifty.models.tables.fields import EXPECTED, Field
from thrifty.models.tables.reading import ReadTable
from thrifty.models.tables.table_model import TableModel
from thrifty.runtime.trace import plain
from thrifty.serving.served_model import ServedModel

FEW = 8  # rows that are faster cell by cell than as a table
KEYS = ("prediction", "probability", "score", "spend", "acquired", "exit")
Values = Mapping[str, Any]


def predict_rows(
    served: ServedModel, rows: Sequence[Values], cap: float | None, budget: float | None
) -> dict[str, Any]:
    """Predict rows; raise ValueError if a row has an unknown column, or lacks a value that the model asks for."""
    model, limit = served.at(budget), served.limited(cap)
    if not rows:
        return {"predictions": [], "mean_spend": 0.0}
    for number, row in enumerate(rows):
        _refuse_unknown(served, number, row)
    by_cell = model._takes_numbers and (len(rows) <= FEW or not isinstance(model, TableModel))
    acquire = _acquire_cells if by_cell else _acquire_table
    bought = acquire(model, served.fields, rows, limit)
    names = list(served.fields)
    acquired = [[names[j] for j in np.flatnonzero(marks).tolist()] for marks in bought.acquired]
    for number, (row, columns) in enumerate(zip(rows, acquired, strict=True)):
        _refuse_unusable(served, number, row, columns)
    return {"predictions": list(_plain(served, bought, acquired)), "mean_spend": float(bought.spend.mean())}


def _acquire_cells(
    model: BudgetedEstimator, fields: Mapping[str, Field], rows: Sequence[Values], cap: float | None
) -> Acquisition:
    cells = [[number for name, field in fields.items() for number in _numbers(field, row.get(name))] for row in rows]
    numbers = np.array(cells)
    return model._acquire_checked(ReadTable(numbers, []) if isinstance(model, TableModel) else numbers, cap)


def _numbers(field: Field, value: Any) -> list[float]:
    """Return the derived values of a cell; a cell that cannot be read is refused later, if the row acquires it."""
    try:
        return field.encode(value)
    except ValueError:
        return [np.nan]


def _acquire_table(
    model: BudgetedEstimator, fields: Mapping[str, Field], rows: Sequence[Values], cap: float | None
) -> Acquisition:
    columns = {name: pd.Series([row.get(name) for row in rows], dtype=object) for name in fields}
    table = pd.DataFrame(columns)
    return model.acquire(table if hasattr(model, "feature_names_in_") else table.to_numpy(), cap)


def _plain(served: ServedModel, bought: Acquisition, acquired: list[list[str]]) -> Iterator[dict[str, Any]]:
    probabilities: list[Any] = served.probabilities(bought.score) or [None] * len(acquired)
    columns = (bought.prediction, bought.score, bought.spend, bought.exit)
    prediction, score, spend, exits = (np.asarray(each).tolist() for each in columns)
    for line in zip(prediction, probabilities, score, spend, acquired, exits, strict=True):
        yield dict(zip(KEYS, plain(line), strict=True))


def _refuse_unknown(served: ServedModel, number: int, row: Values) -> None:
    if unknown := [name for name in row if name not in served.fields]:
        raise ValueError(
            f"row {number} has {unknown[0]!r}, which is not a column of the model. See the features of GET /model."
        )


def _refuse_unusable(served: ServedModel, number: int, row: Values, acquired: Sequence[str]) -> None:
    """Raise an error if a value that the model asked for is not given, or cannot be read."""
    for name in acquired:
        if name not in row:
            raise ValueError(
                f"row {number}: the model asks for {name!r}, which the row does not have. Pass its value, or null if "
                "it is unavailable."
            )
        if not served.model._takes_numbers:  # the model has checked the value
            continue
        try:
            served.fields[name].encode(row[name])
        except ValueError as error:
            raise refusal(name, row[name], EXPECTED[served.fields[name].kind]) from error
