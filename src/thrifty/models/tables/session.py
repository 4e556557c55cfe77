"""A session that speaks of raw columns, for one that speaks of derived ones."""

from collections.abc import Sequence
from typing import Any

from thrifty.exceptions import SessionError
from thrifty.models.session import Acquire, Feature, Session, Stop
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.fields import EXPECTED


class TableSession(Session):
    """One row of a table: it asks for a raw column once, and tells the inner session every value derived from it.

    Values are observed as people write them: text for categories, ``"59"`` for numbers, ``"yes"`` or ``"no"`` for
    booleans, ``"2024-01-31"`` for dates.

    Parameters
    ----------
    inner : Session
        Of the derived columns, by label or by position.
    encoder : TableEncoder
    """

    def __init__(self, inner: Session, encoder: TableEncoder):
        super().__init__()
        self._inner, self._encoder = inner, encoder
        self._held: dict[int, list[float]] = {}  # by field, what was derived from its value
        self._wanted: dict[Feature, tuple[int, int]] = {}  # by what the inner session waits for, field and place in it
        self._asked: list[int] = []
        self._unannounced = 0.0

    def _plan(self) -> Acquire | Stop:
        while isinstance(step := self._inner.next(), Acquire):
            self._wanted = {feature: self._encoder.place_of[feature] for feature in step.features}
            self._asked = [j for j in dict.fromkeys(field for field, _ in self._wanted.values()) if j not in self._held]
            self._unannounced += step.cost
            if self._asked or self._unannounced:  # what is evaluated may cost, though nothing more is to be observed
                return Acquire(tuple(self._encoder.fields_[j].name for j in self._asked), self._unannounced)
            self._tell()
        self.spend = self._inner.spend
        return step

    def _receive(self, values: list[list[float]]) -> None:
        self._held.update(zip(self._asked, values, strict=True))
        self._unannounced = 0.0
        self._tell()

    def _tell(self) -> None:
        self._inner.observe({feature: self._held[field][k] for feature, (field, k) in self._wanted.items()})
        self.spend = self._inner.spend

    def _read_all(self, features: Sequence[Feature], values: list[Any]) -> list[list[float]]:
        return [self._read(feature, value) for feature, value in zip(features, values, strict=True)]

    def _read(self, feature: Feature, value: Any) -> list[float]:
        field = self._encoder.field_of[feature]
        try:
            return self._encoder.encode(field, value)
        except ValueError as error:
            kind = self._encoder.fields_[field].kind
            raise SessionError(
                f"feature {feature!r} was observed as {value!r}; expected {EXPECTED[kind]}, or None."
            ) from error
