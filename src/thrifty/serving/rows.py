"""Rows with given values. A few are read cell by cell: the checks of a table take longer than the prediction."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from thrifty.models.acquisition import Acquisition
from thrifty.models.base import BudgetedEstimator
from thrifty.models.row_positions import drawn_position
from thrifty.models.tables.fields import EXPECTED, NUMBER, Field
from thrifty.models.tables.reading import ReadTable
from thrifty.models.tables.table_model import TableModel
from thrifty.runtime.trace import plain
from thrifty.serving.served_model import ServedModel
from thrifty.stored.medium import shown

FEW = 8  # rows that are faster cell by cell than as a table
EXACT = 2**53  # whole numbers up to this one are exact as floats
Values = Mapping[str, Any]


def predict_rows(
    served: ServedModel, rows: Sequence[Values], cap: float | None, budget: float | None
) -> dict[str, Any]:
    """Predict rows; raise ValueError if a row has an unknown column, or lacks a value that the model asks for."""
    limit = served.limited(cap)
    if not rows:
        return {"predictions": [], "mean_spend": 0.0}
    model = served.at(budget).for_positions(drawn_position() + np.arange(len(rows)))
    for number, row in enumerate(rows):
        _refuse_unknown(served, number, row)
    by_cell = model._takes_numbers and (len(rows) <= FEW or not isinstance(model, TableModel))
    bought = (_acquire_cells if by_cell else _acquire_table)(model, served.fields, rows, limit)
    acquired = [[served.columns[j] for j in np.flatnonzero(marks).tolist()] for marks in bought.acquired]
    for number, (row, columns) in enumerate(zip(rows, acquired, strict=True)):
        _refuse_missing(number, row, columns)
    spend = bought.spend.tolist()
    predictions = list(_plain(served, bought, acquired, spend))
    return {"predictions": predictions, "mean_spend": sum(spend) / len(spend)}


def _acquire_cells(
    model: BudgetedEstimator, fields: Mapping[str, Field], rows: Sequence[Values], cap: float | None
) -> Acquisition:
    unreadable: dict[tuple[int, str], Any] = {}
    cells = np.array([_numbers(fields, number, row, unreadable) for number, row in enumerate(rows)])
    bought = model._acquire_checked(ReadTable(cells, []) if isinstance(model, TableModel) else cells, cap)
    for (number, name), value in unreadable.items():
        if bought.acquired[number, list(fields).index(name)]:
            expected = EXPECTED[fields[name].kind]
            raise ValueError(f"row {number}: {name!r} is {shown(value)}; expected {expected}, or None.")
    return bought


def _numbers(
    fields: Mapping[str, Field], number: int, row: Values, unreadable: dict[tuple[int, str], Any]
) -> list[float]:
    """Return the derived values of a row; remember the values that cannot be read."""
    numbers: list[float] = []
    for name, field in fields.items():
        value: Any = row.get(name)
        kind = type(value)
        if field.kind == NUMBER and (kind is float or (kind is int and -EXACT < value < EXACT)):
            numbers.append(value)  # the usual case, without the checks of other types
            continue
        try:
            numbers += field.encode(value)
        except ValueError:
            numbers.append(np.nan)
            unreadable[number, name] = value
    return numbers


def _acquire_table(
    model: BudgetedEstimator, fields: Mapping[str, Field], rows: Sequence[Values], cap: float | None
) -> Acquisition:
    columns = {name: pd.Series([row.get(name) for row in rows], dtype=object) for name in fields}
    table = pd.DataFrame(columns)
    return model.acquire(table if hasattr(model, "feature_names_in_") else table.to_numpy(), cap)


def _plain(
    served: ServedModel, bought: Acquisition, acquired: list[list[str]], spend: list[float]
) -> Iterator[dict[str, Any]]:
    probabilities: list[Any] = served.probabilities(bought.score) or [None] * len(acquired)
    prediction, score, exits = (np.asarray(each).tolist() for each in (bought.prediction, bought.score, bought.exit))
    for i, columns in enumerate(acquired):
        yield {
            "prediction": plain(prediction[i]),
            "probability": probabilities[i],
            "score": plain(score[i]),
            "spend": spend[i],
            "acquired": columns,
            "exit": exits[i],
        }


def _refuse_unknown(served: ServedModel, number: int, row: Values) -> None:
    if not row.keys() <= served.fields.keys():
        unknown = next(name for name in row if name not in served.fields)
        raise ValueError(
            f"row {number} has {unknown!r}, which is not a column of the model. See the features of GET /model."
        )


def _refuse_missing(number: int, row: Values, acquired: Sequence[str]) -> None:
    for name in acquired:
        if name not in row:
            raise ValueError(
                f"row {number}: the model asks for {name!r}, which the row does not have. Pass its value, or null if "
                "it is unavailable."
            )
