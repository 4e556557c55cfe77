"""A session: the acquisition of one row, which asks for features step by step and ends with a prediction.

    session = model.session(cap=150)
    while isinstance(step := session.next(), Acquire):
        session.observe({feature: fetch(feature) for feature in step.features})
    step.prediction

A session acquires the same features as batch prediction of the same row, pays the same and predicts the same.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from thrifty.costs.notebook import described, table
from thrifty.exceptions import SessionError
from thrifty.stored.medium import shown

Feature = str | int


@dataclass(frozen=True, slots=True)
class Acquire:
    """A request for features, with what the session charges for this step.

    Attributes
    ----------
    features : tuple of str or int
        The features to fetch and to pass to ``observe``. It is empty if the step evaluates a part of the model that
        costs something but needs no further feature: confirm such a step with ``observe({})``.
    cost : float
        What the step adds to ``session.spend``: the units of the features that are not paid for yet, and the
        evaluation that has become necessary since the step before. The sum over all steps is the spend of the row.
    explanation : str
        Why the model asks for them, if it can tell; otherwise empty.
    """

    features: tuple[Feature, ...]
    cost: float
    explanation: str = ""

    def __repr__(self) -> str:
        return _without_empty_explanation(self)


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a session.

    Attributes
    ----------
    prediction : object
        The prediction.
    score : float or ndarray of shape (n_classes,)
        What the prediction is made from: the value itself in regression, log-odds in classification.
    exit : int
        Where the row ended: a node or stage of the model, or -1 if it could not afford the first one.
    reason : {"done", "cap", "stopped"}
        Why it ended: nothing more is needed; the next step would exceed the cap; or it did not end yet, and this is
        its answer so far.
    explanation : str
        The reason in words, if the model can tell more; otherwise empty.
    """

    prediction: Any
    score: Any
    exit: int
    reason: str
    explanation: str = ""

    def __repr__(self) -> str:
        return _without_empty_explanation(self)


class Session(ABC):
    """The acquisition of one row, driven by alternating calls of :meth:`next` and :meth:`observe`.

    The sum of the costs of all steps that were observed is always `spend`, and at the end it is what batch prediction
    charges the same row.

    A feature may be unavailable: ``observe({feature: None})``. The session then treats it as batch prediction treats
    NaN, continues, and never asks for the feature again. An unavailable feature is charged like any other, because it
    was ordered. So the spend of a row depends only on what the session asks for, and a cap always holds.

    A subclass plans the next step (:meth:`_plan`) and takes the values of the step it planned (:meth:`_receive`). If
    values are not numbers it also says how to read them (:meth:`_read`).

    Attributes
    ----------
    spend : float
        What has been charged so far: the sum of the costs of the steps observed.
    """

    spend: float = 0.0

    def __init__(self) -> None:
        self._step: Acquire | Stop | None = None
        self._observed: dict[Feature, Any] = {}

    def next(self) -> Acquire | Stop:
        """Return the current step; it stays the same until its features have been observed.

        Returns
        -------
        Acquire or Stop
            After a part of the features of a step was observed, the rest is asked for at a cost of 0, because the
            step was announced with its whole cost.
        """
        if self._step is None:
            self._step = self._plan()
        if self._observed and isinstance(self._step, Acquire):
            rest = tuple(f for f in self._step.features if f not in self._observed)
            return Acquire(rest, 0.0, self._step.explanation)
        return self._step

    def observe(self, values: Mapping[Any, Any]) -> None:
        """Take the values of the features that the current step asks for, all at once or in parts.

        Parameters
        ----------
        values : dict
            ``{feature: value}``. None or NaN says that a feature is unavailable. For a step without features pass an
            empty dict.
        """
        if type(values) is not dict and not isinstance(values, Mapping):  # the first test is faster
            raise SessionError(f"observed {type(values).__name__}; expected a dictionary of features and values.")
        if not isinstance(self._step, Acquire):
            advice = "Call next() first." if self._step is None else "The session has ended."
            raise SessionError(f"nothing is being asked for, got {list(values)}. {advice}")
        observed = {**self._observed, **values} if self._observed else values
        asked = self._step.features
        if len(observed) != len(asked) or (complete := _in_order(observed, asked)) is None:
            self._observe_part(observed, asked)
        else:
            self._receive(self._read_all(asked, complete))
            self._step, self._observed = None, {}

    def answer_so_far(self) -> Stop | None:
        """Return what the session would answer if it stopped now, without stopping it.

        Returns
        -------
        Stop or None
            The end of the session if it has ended; otherwise its reason is "stopped". None if the model cannot tell.
        """
        step = self.next()
        if isinstance(step, Stop):
            return step
        answer = self._answer_now()
        return answer if answer is None or answer.reason == "stopped" else replace(answer, reason="stopped")

    def _repr_html_(self) -> str:
        step, spent = self.next(), f"{self.spend:.6g} spent so far."
        if isinstance(step, Acquire):
            rows = [["asks for", ", ".join(map(str, step.features)) or "nothing"], ["cost", f"{step.cost:.6g}"]]
        else:
            rows = [["prediction", str(step.prediction)], ["stopped", step.reason]]
        rows += [["why", step.explanation]] if step.explanation else []
        return described(type(self).__name__, spent, table(None, rows))

    def _observe_part(self, observed: Mapping[Any, Any], asked: Sequence[Feature]) -> None:
        if unasked := [f for f in observed if f not in asked]:
            raise SessionError(f"observed {unasked}, but asked for {list(asked)}. Observe what is asked for.")
        for feature, value in observed.items():
            self._read(feature, value)
        self._observed = dict(observed)

    def _read_all(self, features: Sequence[Feature], values: list[Any]) -> list[Any]:
        """Return the values as `_read` does; read single values only if their sum is not a finite number."""
        try:
            plain = math.isfinite(math.fsum(values))
        except (TypeError, ValueError, OverflowError):
            plain = False
        return values if plain else [self._read(f, value) for f, value in zip(features, values, strict=True)]

    def _read(self, feature: Feature, value: Any) -> Any:
        """Return an observed value in the form that `_receive` takes; raise SessionError if it is not valid."""
        try:
            return read_number(value)
        except ValueError as error:
            raise refusal(feature, value, "a finite number") from error

    def _answer_now(self) -> Stop | None:
        """Return the answer for the values received so far; None if there is none before the end."""
        return None

    @abstractmethod
    def _plan(self) -> Acquire | Stop:
        """Decide the next step from the values received so far; leave `spend` unchanged."""

    @abstractmethod
    def _receive(self, values: list[Any]) -> None:
        """Take the values of the planned step, in the order of its features (NaN: unavailable); update `spend`."""


def read_number(value: Any) -> float:
    """Return an observed value as a number, None as NaN; raise ValueError if it is not a finite number."""
    try:
        number = math.nan if value is None else float(value)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{value!r} is not a number") from error
    if math.isinf(number):
        raise ValueError(f"{value!r} is infinite")
    return number


def refusal(feature: Feature, value: Any, expected: str) -> SessionError:
    """Return the error about an observed value that is not valid."""
    return SessionError(f"feature {feature!r} was observed as {shown(value)}; expected {expected}, or None.")


def drive(session: Session, fetch: Callable[[Any], Any]) -> Stop:
    """Run a session to its end, fetching one feature at a time.

    Parameters
    ----------
    session : Session
    fetch : callable
        Returns the value of a feature, None if it is unavailable.

    Returns
    -------
    Stop

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> model = CostWeightedL1Regressor(cost_weight=0.01).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> round(float(drive(model.session(), lambda feature: 1.5).prediction), 2)
    1.5
    """
    while isinstance(step := session.next(), Acquire):
        session.observe({feature: fetch(feature) for feature in step.features})
    return step


def _without_empty_explanation(step: Acquire | Stop) -> str:
    shown = (each.name for each in fields(step) if each.name != "explanation" or step.explanation)
    return f"{type(step).__name__}({', '.join(f'{name}={getattr(step, name)!r}' for name in shown)})"


def _in_order(observed: Mapping[Any, Any], asked: Sequence[Feature]) -> list[Any] | None:
    """Return the observed values in the order of the features asked for; None if one is missing."""
    try:
        return [observed[f] for f in asked]
    except KeyError:
        return None
