"""Rows with given values: a few by sessions, because that is fast for one row; many in one batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from thrifty.models.session import Acquire, read_number, refusal
from thrifty.models.tables.fields import EXPECTED
from thrifty.models.tables.table_model import TableModel
from thrifty.runtime.trace import plain
from thrifty.serving.served_model import ServedModel

FEW = 4  # rows that are faster one by one than in a batch
Values = Mapping[str, Any]


def predict_rows(
    served: ServedModel, rows: Sequence[Values], cap: float | None, budget: float | None
) -> dict[str, Any]:
    """Predict rows. A batch and sessions of the same rows agree, so it does not matter which of them is used."""
    for number, row in enumerate(rows):
        _refuse_unknown(served, number, row)
    predict = _one_by_one if len(rows) <= FEW else _in_a_batch
    predictions = predict(served, rows, served.limited(cap), budget)
    mean = sum(each["spend"] for each in predictions) / len(predictions) if predictions else 0.0
    return {"predictions": predictions, "mean_spend": mean}


def _one_by_one(
    served: ServedModel, rows: Sequence[Values], cap: float | None, budget: float | None
) -> list[dict[str, Any]]:
    return [_by_session(served, number, row, cap, budget) for number, row in enumerate(rows)]


def _by_session(
    served: ServedModel, number: int, row: Values, cap: float | None, budget: float | None
) -> dict[str, Any]:
    session, acquired = served.at(budget).session(cap), []
    while isinstance(step := session.next(), Acquire):
        names = [served.names[feature] for feature in step.features]
        for name in names:
            _refuse_missing(number, row, name)
        session.observe({feature: row[name] for feature, name in zip(step.features, names, strict=True)})
        acquired += names
    return served.answer(step) | {"spend": float(session.spend), "acquired": acquired}


def _in_a_batch(
    served: ServedModel, rows: Sequence[Values], cap: float | None, budget: float | None
) -> list[dict[str, Any]]:
    model, names = served.at(budget), list(served.fields)
    bought = model.acquire(_table(served, rows, names), cap)
    columns = [[names[j] for j in np.flatnonzero(marks).tolist()] for marks in bought.acquired]
    for number, (row, acquired) in enumerate(zip(rows, columns, strict=True)):
        for name in acquired:
            _refuse_missing(number, row, name)
            _refuse_unreadable(served, name, row[name])
    probabilities: list[Any] = served.probabilities(bought.score) or [None] * len(rows)
    lines = zip(
        bought.prediction.tolist(), probabilities, bought.score.tolist(), bought.spend.tolist(), columns,
        bought.exit.tolist(), strict=True,
    )  # fmt: skip
    keys = ("prediction", "probability", "score", "spend", "acquired", "exit")
    return [dict(zip(keys, plain(line), strict=True)) for line in lines]


def _table(served: ServedModel, rows: Sequence[Values], names: Sequence[str]) -> Any:
    """Return rows in the form that the model takes; what a row does not have is missing."""
    if isinstance(served.model, TableModel):
        return pd.DataFrame([[row.get(name) for name in names] for row in rows], columns=names, dtype=object)
    values = np.array([[_number(row.get(name)) for name in names] for row in rows])
    return pd.DataFrame(values, columns=names) if hasattr(served.model, "feature_names_in_") else values


def _number(value: Any) -> float:
    """Return a number; NaN if it cannot be read, which is refused only if the row acquires it."""
    try:
        return read_number(value)
    except ValueError:
        return np.nan


def _refuse_unreadable(served: ServedModel, name: str, value: Any) -> None:
    try:
        served.fields[name].encode(value)
    except ValueError as error:
        raise refusal(name, value, EXPECTED[served.fields[name].kind]) from error


def _refuse_unknown(served: ServedModel, number: int, row: Values) -> None:
    if unknown := [name for name in row if name not in served.fields]:
        raise ValueError(
            f"row {number} has {unknown[0]!r}, which is not a column of the model. See the features of GET /model."
        )


def _refuse_missing(number: int, row: Values, name: str) -> None:
    if name not in row:
        raise ValueError(
            f"row {number}: the model asks for {name!r}, which the row does not have. Pass its value, or null if it is "
            "unavailable."
        )
