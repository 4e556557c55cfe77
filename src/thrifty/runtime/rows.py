"""A row on its way to an answer: its session, what sources delivered to it, what it is charged, and its trace."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from thrifty.costs import CostModel, Ledger
from thrifty.exceptions import SessionError
from thrifty.models.session import Acquire, Feature, Session, Stop
from thrifty.runtime.sources.base import Source
from thrifty.runtime.trace import FAILED, Call, Step


@dataclass(frozen=True)
class ModelColumns:
    """The columns that a model asks for.

    Attributes
    ----------
    names : dict
        The name of each feature; sessions of models without names ask for column numbers.
    positions : dict
        The position of each feature in the cost model.
    providers : dict
        The source of each feature that has one.
    costs : CostModel
        The prices.
    """

    names: Mapping[Feature, str]
    positions: Mapping[Feature, int]
    providers: Mapping[Feature, Source]
    costs: CostModel


@dataclass(slots=True)
class Delivery:
    """What one call of a source brought for one row.

    Attributes
    ----------
    outcome : str
        As in `Call`.
    values : dict
        The values that arrived, by name; None if a value is unavailable.
    problems : dict
        What is wrong with the others, by name.
    error : str
        What is wrong with the call as a whole.
    attempts, started, elapsed, n_rows
        As in `Call`.
    """

    outcome: str
    values: dict[str, Any] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    error: str = ""
    attempts: int = 0
    started: float = 0.0
    elapsed: float = 0.0
    n_rows: int = 1


class Row:
    """One row of a batch that an engine predicts.

    Parameters
    ----------
    key : object
        The key of the row.
    session : Session
        A new session of the model.
    columns : ModelColumns
    charge_failures : bool
        Whether calls that were made and failed are charged.
    redacted : container of str
        Features whose values are left out of the trace.
    """

    def __init__(
        self, key: Any, session: Session, columns: ModelColumns, charge_failures: bool, redacted: Container[str]
    ):
        self.key, self._session, self._columns = key, session, columns
        self._charge_failures, self._redacted = charge_failures, redacted
        self._ledger = Ledger(columns.costs)
        self._deliveries: dict[str, Delivery] = {}
        self._recorded: set[str] = set()  # sources whose call is in the trace
        self._asked: list[Feature] = []
        self._all_charged = True
        self.steps: list[Step] = []
        self.step: Acquire | Stop | None = None

    def advance(self, now: float) -> bool:
        """Pass what was delivered to the session, and ask it for its next step that needs a feature.

        Parameters
        ----------
        now : float
            Seconds since the row began.

        Returns
        -------
        bool
            False when the session has ended.
        """
        if isinstance(self.step, Acquire):
            self._receive(self.step, now)
        self.step = self._session.next()
        while isinstance(self.step, Acquire) and not self.step.features:  # evaluation of the model
            self.steps.append(Step((), self.step.cost, self.step.explanation, ()))
            self._session.observe({})
            self.step = self._session.next()
        return isinstance(self.step, Acquire)

    def sources_to_call(self) -> set[str]:
        """Return the names of the sources that the current step needs and that were not called for the row yet."""
        assert isinstance(self.step, Acquire)
        return {self._columns.providers[feature].name for feature in self.step.features} - self._deliveries.keys()

    def deliver(self, source: Source, delivery: Delivery) -> None:
        """Take what a call brought."""
        self._deliveries[source.name] = delivery

    @property
    def spend(self) -> float:
        """What the row is charged: what the session announced, less what was not bought."""
        if self._all_charged:
            return self._session.spend
        asked = Ledger(self._columns.costs, (self._columns.positions[feature] for feature in self._asked))
        evaluation = max(self._session.spend - asked.spent, 0.0)
        return self._ledger.spent + evaluation

    @property
    def failure(self) -> Call | None:
        """The first call of the row that failed."""
        return next((call for step in self.steps for call in step.calls if call.outcome in FAILED), None)

    def _receive(self, step: Acquire, now: float) -> None:
        """Pass the values of a step to the session, and record its calls."""
        by_source: dict[str, list[Feature]] = {}
        for feature in step.features:
            by_source.setdefault(self._columns.providers[feature].name, []).append(feature)
        unread = self._observe(step)
        calls = tuple(
            self._call(name, features, unread, now if name in self._recorded else None)
            for name, features in by_source.items()
        )
        self._recorded |= by_source.keys()
        names = tuple(self._columns.names[feature] for feature in step.features)
        self.steps.append(Step(names, step.cost, step.explanation, calls))
        self._asked += step.features

    def _value(self, feature: Feature) -> Any:
        delivery = self._deliveries[self._columns.providers[feature].name]
        return delivery.values.get(self._columns.names[feature])

    def _observe(self, step: Acquire) -> dict[Feature, str]:
        """Pass the values of a step to the session; return what is wrong with those that it cannot read."""
        values = {feature: self._value(feature) for feature in step.features}
        try:
            self._session.observe(values)
        except SessionError:
            return self._observe_readable(values)
        return {}

    def _observe_readable(self, values: dict[Feature, Any]) -> dict[Feature, str]:
        """Pass values one at a time; those that the session cannot read are unavailable."""
        unread = {}
        for feature, value in values.items():
            try:
                self._session.observe({feature: value})
            except SessionError as error:
                unread[feature] = str(error)
                self._session.observe({feature: None})
        return unread

    def _call(self, source: str, features: list[Feature], unread: Mapping[Feature, str], now: float | None) -> Call:
        """Charge some features of a source, and return the record of their call.

        `now` is the time if an earlier call has brought the features, so that no call was made for this step.
        """
        delivery = self._deliveries[source]
        names = {feature: self._columns.names[feature] for feature in features}
        problems = {
            feature: problem
            for feature, name in names.items()
            if (problem := unread.get(feature) or delivery.problems.get(name, ""))
        }
        outcome = "invalid" if problems and delivery.outcome in ("ok", "cached") else delivery.outcome
        made = delivery.attempts > 0 and (now is None or delivery.outcome == "ok")
        paid = self._charge_failures or delivery.outcome in ("ok", "missing")
        exempt = {} if self._charge_failures else problems
        return Call(
            source=source,
            features=tuple(names.values()),
            outcome=outcome,
            cost=self._charge(features, [each for each in features if made and paid and each not in exempt]),
            started=delivery.started if now is None else now,
            elapsed=delivery.elapsed if now is None else 0.0,
            attempts=delivery.attempts if now is None else 0,
            n_rows=delivery.n_rows,
            error="; ".join(each for each in (delivery.error, *problems.values()) if each),
            values=self._shown(names, unread, delivery),
        )

    def _charge(self, features: list[Feature], charged: list[Feature]) -> float:
        """Pay for some of the features that the session has announced; return what that costs."""
        self._all_charged &= len(charged) == len(features)
        return sum(self._ledger.buy(self._columns.positions[feature]) for feature in charged)

    def _shown(
        self, names: Mapping[Feature, str], unread: Mapping[Feature, str], delivery: Delivery
    ) -> dict[str, Any] | None:
        """Return the values for the trace, without redacted ones."""
        shown = {
            name: None if feature in unread else delivery.values.get(name)
            for feature, name in names.items()
            if name not in self._redacted
        }
        return shown or None
