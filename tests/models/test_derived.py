"""Sessions on derived columns: sources are asked for once, and every cost is announced."""

import numpy as np
import pytest

from thrifty import Acquire, CostModel, SessionError, Stop
from thrifty.models.derived import Derivation, DerivedColumns, DerivedSession
from thrifty.models.session import Session


class Sums(DerivedColumns):
    """Derived column k is the sum of source columns 0 to k."""

    def sources(self, derived):
        return range(max(derived, default=-1) + 1)

    def values(self, derived, held):
        return [sum(held[j] for j in range(k + 1)) for k in derived]


class Scripted(Session):
    """Asks for derived columns in a fixed order, at fixed costs, and ends with what it was told."""

    def __init__(self, *steps):
        super().__init__()
        self.steps, self.heard = list(steps), []

    def _plan(self):
        return Acquire(*self.steps[0]) if self.steps else Stop(self.heard, 0.0, 0, "done")

    def _receive(self, values):
        self.heard += values
        self.spend += self.steps.pop(0)[1]


def drive(session, values):
    announced, asked = 0.0, []
    while isinstance(step := session.next(), Acquire):
        asked.append(step)
        announced += step.cost
        session.observe({feature: values[feature] for feature in step.features})
        assert session.spend == pytest.approx(announced)
    return asked, step


def test_sources_that_are_held_are_not_asked_for_again_and_their_cost_is_announced_later():
    inner = Scripted(((1,), 3.0), ((0,), 0.5), ((2,), 4.0))
    asked, stop = drive(DerivedSession(inner, Sums(), ["a", "b", "c"]), {"a": 1.0, "b": 2.0, "c": 3.0})
    assert asked == [Acquire(("a", "b"), 3.0), Acquire(("c",), 4.5)]
    assert stop.prediction == [3.0, 1.0, 6.0]


def test_evaluation_after_the_last_source_is_a_step_without_features():
    inner = Scripted(((1,), 3.0), ((0,), 0.5), ((), 0.25))
    asked, stop = drive(DerivedSession(inner, Sums(), ["a", "b"]), {"a": 1.0, "b": 2.0})
    assert asked == [Acquire(("a", "b"), 3.0), Acquire((), 0.75)]
    assert stop.prediction == [3.0, 1.0]


def test_explanations_are_those_of_the_model():
    inner = Scripted(((1,), 3.0, "they help"), ((0,), 0.5, "it is cheap"), ((), 0.25, "it is late"))
    asked, _ = drive(DerivedSession(inner, Sums(), ["a", "b"]), {"a": 1.0, "b": 2.0})
    assert [step.explanation for step in asked] == ["they help", "it is late"]


def test_what_costs_nothing_and_needs_nothing_is_not_announced():
    asked, _ = drive(DerivedSession(Scripted(((0,), 1.0), ((0,), 0.0)), Sums(), ["a"]), {"a": 1.0})
    assert asked == [Acquire(("a",), 1.0)]


def test_a_value_that_cannot_be_read_is_refused_and_can_be_given_again():
    session = DerivedSession(Scripted(((0,), 1.0)), Sums(), ["a"])
    session.next()
    with pytest.raises(SessionError, match="feature 'a' was observed as 'x'; expected a finite number, or None"):
        session.observe({"a": "x"})
    session.observe({"a": 2.0})
    assert session.next().prediction == [2.0]


def test_raw_columns_are_found_by_name_and_by_position():
    derivation = Derivation(CostModel({"a": 1.0, "b": 2.0}), np.array([0, 1, 1]), np.array([False, True]))
    assert (derivation.position("b"), derivation.position(0)) == (1, 0)
    with pytest.raises(ValueError, match="'c' is not a column of X"):
        derivation.position("c")
    with pytest.raises(ValueError, match="2 is not a column of X"):
        derivation.position(2)
