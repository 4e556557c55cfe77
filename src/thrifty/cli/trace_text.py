"""The trace of one row as text: a table of its steps, and sentences about its end."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.table import Table

from thrifty.cli.loaded_model import LoadedModel
from thrifty.cli.terminal import console, plain_table, print_json
from thrifty.cli.traces import EVALUATION, Item, Step, Trace, fetch_from, trace_row
from thrifty.models.tables.fields import text_of

NO_COLUMN = "evaluation, no column needed"
REASONS = {
    "done": "the model needs no more columns for this row",
    "cap": "the next step would exceed the cap",
}


def print_trace(loaded: LoadedModel, values: Mapping[str, Any], cap: float | None, *, as_json: bool) -> None:
    """Trace a row of known values, and print its steps."""
    trace = trace_row(loaded, fetch_from(values), cap)
    if as_json:
        print_json(trace.as_dict())
        return
    out = console()
    out.print(step_table(loaded, trace) if trace.steps else "Nothing is asked for.")
    for sentence in ending(loaded, trace):
        out.print(sentence)


def step_table(loaded: LoadedModel, trace: Trace) -> Table:
    """Return the steps of a trace as a table for the terminal."""
    table = plain_table(_="right", bought_and_found="left", cost="right", paid="right", answer_so_far="left")
    for cells in step_cells(loaded, trace):
        table.add_row(*cells)
    return table


def step_cells(loaded: LoadedModel, trace: Trace) -> list[list[str]]:
    """Return for each step its number, what was found, its cost, the spend, and the answer after it.

    The explanation of a step is a line of its own, with nothing in the other cells.
    """
    found = {item.name: value for step in trace.steps for item, value in zip(step.items, step.values, strict=True)}
    row = pd.DataFrame([{name: found.get(name) for name in loaded.names}], dtype=object)
    lines = []
    for number, step in enumerate(trace.steps, start=1):
        cost, paid = loaded.amount(step.cost), loaded.amount(step.spend)
        lines.append([str(number), findings_text(step), cost, paid, _answer(loaded, row, step.spend)])
        if step.explanation:
            lines.append(["", step.explanation, "", "", ""])
    return lines


def _answer(loaded: LoadedModel, row: pd.DataFrame, cap: float) -> str:
    """Return the prediction of a row that may spend no more than a cap."""
    acquisition = loaded.acquire(row, cap)
    prediction = prediction_text(acquisition.prediction[0])
    if loaded.classes is None:
        return prediction
    return f"{prediction}, {loaded.probabilities(acquisition.score).max():.0%}"


def findings_text(step: Step) -> str:
    """Return the columns of a step with their values."""
    found = [
        f"{item.name}: {'unavailable' if value is None else text_of(value)}"
        for item, value in zip(step.items, step.values, strict=True)
    ]
    if not found:
        return NO_COLUMN
    return ", ".join(found) + (f" + {EVALUATION}" if step.evaluation else "")


def ending(loaded: LoadedModel, trace: Trace) -> list[str]:
    """Return why a trace ended, and its prediction, as sentences."""
    sure = "" if trace.probability is None else f", {certainty(trace.probability)} sure"
    total, saved = loaded.amount(loaded.model.cost_model_.total), loaded.amount(max(trace.saved, 0.0))
    answer = f"{prediction_text(trace.prediction)}{sure}, for {loaded.amount(trace.spend)}"
    why = trace.explanation or REASONS[trace.reason]
    return [f"Stopped: {trace.reason}; {why}.", f"Answer: {answer}; {saved} of {total} saved."]


def purchase_text(loaded: LoadedModel, step: Step) -> str:
    """Return what a step bought, for how much, and why."""
    names = ", ".join(item.name for item in step.items) or EVALUATION
    return f"bought {names} for {loaded.amount(step.cost)}: {step.explanation}"


def bill_text(loaded: LoadedModel, item: Item) -> str:
    """Return what an item costs: shared units with their names, then its own price."""
    shared = [f"{unit} {loaded.amount(price)}" for unit, price in item.bill if unit != item.name]
    own = [loaded.amount(price) for unit, price in item.bill if unit == item.name]
    return " + ".join([*shared, *own]) or "nothing more"


def prediction_text(prediction: Any) -> str:
    """Return a class as it is, a number with six significant digits."""
    return f"{prediction:.6g}" if isinstance(prediction, float) else str(prediction)


def certainty(probability: float) -> str:
    """Return a probability in percent; never 100%.

    >>> certainty(0.8514), certainty(0.99999)
    ('85.1%', 'over 99.9%')
    """
    return "over 99.9%" if probability > 0.999 else f"{probability:.1%}"
