"""The trace of one row: what the model asks for, what that costs, what is found, and how it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.cli.loaded_model import LoadedModel
from thrifty.costs import Ledger
from thrifty.models.session import Acquire, Feature, Session, Stop

DECIMALS = 9  # of differences between amounts
EVALUATION = "evaluation"


@dataclass(frozen=True)
class Item:
    """A column that the model asks for.

    Attributes
    ----------
    name : str
        Name of the column.
    feature : str or int
        What the session calls it.
    bill : tuple of (str, float)
        Name and price of each unit that it adds to the spend.
    """

    name: str
    feature: Feature
    bill: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Step:
    """A step of a session.

    Attributes
    ----------
    items : tuple of Item
        The columns asked for; none if the step only evaluates a part of the model.
    values : tuple
        Their values; None if a value is unavailable.
    cost : float
        What the step adds to the spend.
    evaluation : float
        The part of `cost` that is not paid for columns, but for evaluating the model.
    spend : float
        The spend after the step.
    explanation : str
        Why the model asks for the columns; empty if it does not tell.
    """

    items: tuple[Item, ...]
    values: tuple[Any, ...]
    cost: float
    evaluation: float
    spend: float
    explanation: str = ""

    def bill(self) -> list[tuple[str, float]]:
        """Return all that the step pays for, with its price."""
        evaluation = [(EVALUATION, self.evaluation)] if self.evaluation else []
        return [*(part for item in self.items for part in item.bill), *evaluation]


@dataclass(frozen=True)
class Trace:
    """A row from the first step to its prediction; `explanation` may say more about the reason to stop."""

    steps: tuple[Step, ...]
    prediction: Any
    probability: float | None
    spend: float
    saved: float
    reason: str
    explanation: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as plain values, ready for JSON."""
        return {
            "steps": [
                {
                    "bought": {item.name: value for item, value in zip(step.items, step.values, strict=True)},
                    "bill": [{"for": unit, "cost": price} for unit, price in step.bill()],
                    "cost": step.cost,
                    "spend": step.spend,
                    "explanation": step.explanation,
                }
                for step in self.steps
            ],
            "prediction": self.prediction,
            "probability": self.probability,
            "spend": self.spend,
            "saved": self.saved,
            "reason": self.reason,
            "explanation": self.explanation,
        }


def trace_row(
    loaded: LoadedModel,
    fetch: Callable[[Item], Any],
    cap: float | None = None,
    on_evaluation: Callable[[float], None] = lambda cost: None,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Trace:
    """Drive a session to its end, and record each step.

    Parameters
    ----------
    loaded : LoadedModel
    fetch : callable
        Returns the value of an item, None if it is unavailable. Called item by item.
    cap : float, optional
        Hard limit on the spend.
    on_evaluation : callable, optional
        Called with the cost before a step that pays for evaluating the model.
    on_step : callable, optional
        Called with each step after its values were fetched.

    Returns
    -------
    Trace
    """
    session: Session = loaded.model.session(cap)
    ledger, steps = Ledger(loaded.model.cost_model_), []
    while isinstance(step := session.next(), Acquire):
        items = tuple(_buy(loaded, ledger, feature) for feature in step.features)
        evaluation = max(round(step.cost - sum(price for item in items for _, price in item.bill), DECIMALS), 0.0)
        if evaluation:
            on_evaluation(evaluation)
        values = tuple(map(fetch, items))
        session.observe({item.feature: value for item, value in zip(items, values, strict=True)})
        steps.append(Step(items, values, step.cost, evaluation, session.spend, step.explanation))
        on_step(steps[-1])
    return _finish(loaded, tuple(steps), step, session.spend)


def fetch_from(values: Mapping[str, Any]) -> Callable[[Item], Any]:
    """Return a function that looks up items in a row of known values; a missing value is unavailable."""
    return lambda item: values.get(item.name)


def _buy(loaded: LoadedModel, ledger: Ledger, feature: Feature) -> Item:
    column = loaded.positions[feature]
    item = Item(loaded.names[column], feature, tuple(ledger.bill(column)))
    ledger.buy(column)
    return item


def _finish(loaded: LoadedModel, steps: tuple[Step, ...], stop: Stop, spend: float) -> Trace:
    prediction = stop.prediction.item() if hasattr(stop.prediction, "item") else stop.prediction
    probability = None
    if loaded.classes is not None:
        probability = float(loaded.probabilities(np.asarray(stop.score)[None]).max())
    saved = round(loaded.model.cost_model_.total - spend, DECIMALS)
    return Trace(steps, prediction, probability, spend, saved, stop.reason, stop.explanation)
