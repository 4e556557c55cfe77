"""One row's way through a model: what it asks for, what that costs and why, what is found, and how it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.cli.served import Served
from thrifty.models.session import Acquire, Feature, Stop

Fetch = Callable[["Item"], Any]  # returns the value of what is asked for, None if it is unavailable

ALMOST = 0.999
DECIMALS = 9  # of prices that are counted exactly
WHY = {
    "done": "for such a row nothing more would be worth its price",
    "cap": "the next purchase would break the cap",
}


@dataclass(frozen=True)
class Item:
    """One thing to get: its name, what sessions call it, and what has to be paid for it now, unit by unit."""

    name: str
    feature: Feature
    bill: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Step:
    """What was asked for together, what was found, and what has been paid after it."""

    items: tuple[Item, ...]
    values: tuple[Any, ...]
    cost: float
    spend: float


@dataclass(frozen=True)
class Trace:
    """A row from the first question to the answer."""

    steps: tuple[Step, ...]
    prediction: Any
    probability: float | None
    spend: float
    saved: float
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as plain values."""
        return {
            "steps": [
                {
                    "bought": {item.name: value for item, value in zip(step.items, step.values, strict=True)},
                    "bill": [{"for": unit, "cost": price} for item in step.items for unit, price in item.bill],
                    "cost": step.cost,
                    "spend": step.spend,
                }
                for step in self.steps
            ],
            "prediction": self.prediction,
            "probability": self.probability,
            "spend": self.spend,
            "saved": self.saved,
            "reason": self.reason,
        }


def trace(served: Served, fetch: Fetch, cap: float | None = None) -> Trace:
    """Drive a session to its answer, one thing at a time."""
    session, till, steps = served.model.session(cap), Till(served), []
    while isinstance(step := session.next(), Acquire):
        items = tuple(till.charge(feature) for feature in step.features)
        values = tuple(map(fetch, items))
        session.observe({item.feature: value for item, value in zip(items, values, strict=True)})
        steps.append(Step(items, values, step.cost, session.spend))
    return _told(served, tuple(steps), step, session.spend)


def _told(served: Served, steps: tuple[Step, ...], stop: Stop, spend: float) -> Trace:
    prediction = stop.prediction.item() if hasattr(stop.prediction, "item") else stop.prediction
    probability = None
    if served.classes is not None:
        probability = float(served.probabilities(np.asarray(stop.score)[None]).max())
    return Trace(steps, prediction, probability, spend, round(served.costs.total - spend, DECIMALS), stop.reason)


class Till:
    """What a row has paid for so far; tells what is still to be paid for a feature, unit by unit."""

    def __init__(self, served: Served):
        self._served = served
        self._paid = np.zeros(len(served.costs.unit_names), dtype=bool)

    def charge(self, feature: Feature) -> Item:
        """Pay for a feature."""
        costs, column = self._served.costs, list(self._served.ids).index(feature)
        due = np.flatnonzero(costs.requirement[column] & ~self._paid)
        self._paid[due] = True
        bill = tuple((costs.unit_names[unit], float(costs.unit_costs[unit])) for unit in due)
        return Item(self._served.name_of(feature), feature, bill)


def bill_text(served: Served, item: Item) -> str:
    """Write what a thing costs: what is shared by its name, then its own price."""
    shared = [f"{unit} {served.amount(price)}" for unit, price in item.bill if unit != item.name]
    own = [served.amount(price) for unit, price in item.bill if unit == item.name]
    return " + ".join([*shared, *own]) or "nothing more"


def verdict(served: Served, told: Trace) -> str:
    """Say how it ended."""
    sure = "" if told.probability is None else f", {certainty(told.probability)} sure"
    total, saved = served.amount(served.costs.total), served.amount(max(told.saved, 0.0))
    return f"Answer: {answer_text(told.prediction)}{sure}, for {served.amount(told.spend)}; {saved} of {total} saved."


def answer_text(prediction: Any) -> str:
    """Write a class as it is, a number to six digits."""
    return f"{prediction:.6g}" if isinstance(prediction, float) else str(prediction)


def certainty(probability: float) -> str:
    """Write a probability; nothing is ever quite certain.

    >>> certainty(0.8514), certainty(0.99999)
    ('85.1%', 'over 99.9%')
    """
    return "over 99.9%" if probability > ALMOST else f"{probability:.1%}"


def fetch_from(values: Mapping[str, Any]) -> Fetch:
    """Return what looks a value up; what is not there is unavailable."""
    return lambda item: values.get(item.name)
