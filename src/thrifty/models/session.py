"""One row's acquisition: a conversation that asks for features and ends with an answer.

    session = model.session(cap=150)
    while isinstance(step := session.next(), Acquire):
        session.observe({feature: fetch(feature) for feature in step.features})
    step.prediction

A session asks for exactly what batch prediction would buy for the same row, pays the same, answers the same.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thrifty.exceptions import SessionError

Feature = str | int


@dataclass(frozen=True, slots=True)
class Acquire:
    """Please get these features; together they cost this much more than what is paid already."""

    features: tuple[Feature, ...]
    cost: float


@dataclass(frozen=True, slots=True)
class Stop:
    """The answer, where the row ended, and why it goes no further: "done", or "cap" if it could not pay."""

    prediction: Any
    score: Any
    exit: int
    reason: str


class Session(ABC):
    """One row's acquisition, driven by :meth:`next` and :meth:`observe` in turn.

    What is asked for need not be had. ``observe({feature: None})`` says that a feature is unavailable: the session
    goes on with what it has, or another way, as batch prediction does where X holds NaN, and never asks for it again.
    It is charged all the same, as in a batch: the test was ordered, though no result came of it. So what a row spends
    depends on what it asks for alone, and a cap holds whatever is unavailable.

    A subclass plans the next step (:meth:`_plan`) and takes the values of the one it planned (:meth:`_receive`);
    where values are not numbers, it also says how to read them (:meth:`_read`).

    Attributes
    ----------
    spend : float
        What has been paid so far for the features observed.
    """

    spend: float = 0.0

    def __init__(self) -> None:
        self._step: Acquire | Stop | None = None
        self._told: dict[Feature, Any] = {}

    def next(self) -> Acquire | Stop:
        """Tell what to do now; the same step again until its features have been observed.

        After a part of them was observed the rest is asked for at a cost of 0, for the step was announced with its
        whole cost.
        """
        if self._step is None:
            self._step = self._plan()
        if self._told and isinstance(self._step, Acquire):
            return Acquire(tuple(f for f in self._step.features if f not in self._told), 0.0)
        return self._step

    def observe(self, values: Mapping[Any, Any]) -> None:
        """Take the values of the features asked for, all at once or in parts; None or NaN: it is unavailable."""
        if not isinstance(self._step, Acquire):
            raise SessionError(f"nothing is being asked for, got {list(values)}. Call next() first.")
        told = {**self._told, **values} if self._told else values
        asked = self._step.features
        if len(told) != len(asked) or (complete := _in_order(told, asked)) is None:
            self._observe_part(told, asked)
        else:
            self._receive(self._read_all(asked, complete))
            self._step, self._told = None, {}

    def _observe_part(self, told: Mapping[Any, Any], asked: Sequence[Feature]) -> None:
        if unasked := [f for f in told if f not in asked]:
            raise SessionError(f"observed {unasked}, but asked for {list(asked)}. Observe what is asked for.")
        for feature, value in told.items():
            self._read(feature, value)
        self._told = dict(told)

    def _read_all(self, features: Sequence[Feature], values: list[Any]) -> list[Any]:
        """Check the values one by one only if their sum shows that something is missing or amiss."""
        try:
            plain = math.isfinite(math.fsum(values))
        except (TypeError, ValueError, OverflowError):
            plain = False
        return values if plain else [self._read(f, value) for f, value in zip(features, values, strict=True)]

    def _read(self, feature: Feature, value: Any) -> Any:
        """Return an observed value as `_receive` takes it; SessionError if it makes no sense."""
        try:
            number = math.nan if value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.inf
        if math.isinf(number):
            raise SessionError(f"feature {feature!r} was observed as {value!r}; expected a finite number, or None.")
        return number

    @abstractmethod
    def _plan(self) -> Acquire | Stop:
        """Decide the next step from the values received so far."""

    @abstractmethod
    def _receive(self, values: list[Any]) -> None:
        """Take the values of the planned step, in the order it asked for them; NaN is unavailable."""


def drive(session: Session, fetch: Callable[[Any], Any]) -> Stop:
    """Run a session to its answer, fetching one feature at a time.

    >>> from thrifty import CostWeightedL1Regressor
    >>> model = CostWeightedL1Regressor(cost_weight=0.01).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> round(float(drive(model.session(), lambda feature: 1.5).prediction), 2)
    1.5
    """
    while isinstance(step := session.next(), Acquire):
        session.observe({feature: fetch(feature) for feature in step.features})
    return step


def _in_order(told: Mapping[Any, Any], asked: Sequence[Feature]) -> list[Any] | None:
    try:
        return [told[f] for f in asked]
    except KeyError:
        return None
