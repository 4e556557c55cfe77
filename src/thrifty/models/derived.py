"""Columns that are computed from other columns: levels of a category, outputs of a tree.

A model on derived columns is served at the prices of their sources. Batch prediction computes the derived columns of
all rows; `DerivedSession` does the same for one row, step by step.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.parameters import is_whole
from thrifty.models.session import Acquire, Feature, Session, Stop, read_number, refusal


@dataclass(frozen=True, eq=False)
class Derivation:
    """Which raw column each derived column is computed from.

    Attributes
    ----------
    costs : CostModel
        The raw columns, with their names if they have names.
    source : ndarray of int, shape (n_derived,)
        The position of the raw column behind each derived column.
    one_hot : ndarray of bool, shape (n_raw,)
        The raw columns that became one derived column per level.
    """

    costs: CostModel
    source: np.ndarray
    one_hot: np.ndarray

    def position(self, column: Any) -> int:
        """Return the position of a raw column that is given by name or by position."""
        names = self.costs.names or ()
        place = names.index(column) if column in names else column
        if not is_whole(place, 0) or place >= len(self.one_hot):
            raise ValueError(f"{column!r} is not a column of X")
        return int(place)


class DerivedColumns(ABC):
    """How derived columns are computed from source columns, for one row."""

    @abstractmethod
    def sources(self, derived: Sequence[Feature]) -> Sequence[int]:
        """Return the positions of the source columns that some derived columns are computed from."""

    @abstractmethod
    def values(self, derived: Sequence[Feature], held: dict[int, Any]) -> list[float]:
        """Return the values of some derived columns, given the values of their sources by position."""

    def read(self, source: int, value: Any) -> Any:
        """Return an observed value in the form that `values` takes; raise ValueError if it is not valid."""
        return read_number(value)

    def expected(self, source: int) -> str:
        """Return what values of a source column have to be, for error messages."""
        return "a finite number"


class DerivedSession(Session):
    """One row of source columns, for a session that asks for derived columns.

    Derived columns whose sources are all held are computed without asking. What that costs is announced with the next
    sources that are asked for, or in a step without features if none follow.

    Parameters
    ----------
    inner : Session
        A session of the model on derived columns.
    columns : DerivedColumns
        How they are computed.
    ids : sequence
        Names or positions of the source columns.
    answer : callable, optional
        Returns the prediction and the score of this session from the score of `inner`. By default they are those of
        `inner`.
    """

    def __init__(
        self,
        inner: Session,
        columns: DerivedColumns,
        ids: Sequence[Feature],
        answer: Callable[[Any], tuple[Any, Any]] | None = None,
    ):
        super().__init__()
        self._answer = answer
        self._inner, self._columns, self._ids = inner, columns, ids
        self._held: dict[int, Any] = {}
        self._asked: dict[Feature, int] = {}  # source columns that the current step asks for
        self._wanted: tuple[Feature, ...] | None = None  # derived columns that the inner session waits for

    def _plan(self) -> Acquire | Stop:
        cost, explanation = 0.0, ""
        while isinstance(step := self._inner.next(), Acquire):
            cost += step.cost
            explanation = step.explanation
            self._wanted = step.features
            missing = [j for j in self._columns.sources(step.features) if j not in self._held]
            self._asked = {self._ids[j]: j for j in missing}
            if missing:
                return Acquire(tuple(self._asked), cost, explanation)
            self._answer_inner()
        self._asked, self._wanted = {}, None
        return Acquire((), cost, explanation) if cost else self._answered(step)

    def _receive(self, values: list[Any]) -> None:
        self._held.update(zip(self._asked.values(), values, strict=True))
        if self._wanted is not None:
            self._answer_inner()
        self.spend = self._inner.spend

    def _answer_now(self) -> Stop | None:
        stop = self._inner.answer_so_far()
        return None if stop is None else self._answered(stop)

    def _answered(self, stop: Stop) -> Stop:
        """Return the end of the inner session with the answer of this one."""
        if self._answer is None:
            return stop
        prediction, score = self._answer(stop.score)
        return replace(stop, prediction=prediction, score=score)

    def _read_all(self, features: Sequence[Feature], values: list[Any]) -> list[Any]:
        return [self._read(feature, value) for feature, value in zip(features, values, strict=True)]

    def _read(self, feature: Feature, value: Any) -> Any:
        source = self._asked[feature]
        try:
            return self._columns.read(source, value)
        except ValueError as error:
            raise refusal(feature, value, self._columns.expected(source)) from error

    def _answer_inner(self) -> None:
        wanted = self._wanted or ()
        self._inner.observe(dict(zip(wanted, self._columns.values(wanted, self._held), strict=True)))
