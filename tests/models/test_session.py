"""How a session behaves when it is driven well, in parts, and badly."""

import numpy as np
import pytest
from sklearn.base import clone

from thrifty import (
    Acquire,
    ASTCClassifier,
    ASTCRegressor,
    AttentiveClassifier,
    DynamicSelectionClassifier,
    GreedyMiserClassifier,
    Session,
    SessionError,
    Stop,
    TableModel,
    ThriftyClassifier,
)
from thrifty.datasets import load_heart
from thrifty.models.session import drive


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    y = X @ [3.0, 2.0, 1.0, 0.0] + random.normal(scale=0.1, size=300)
    return ASTCRegressor(costs={"a": 1, "b": 1, "c": 1, "d": 1}, max_depth=3, node_budget=1).fit(X, y)


def test_next_repeats_itself_until_it_is_told(model):
    session = model.session()
    assert session.next() == session.next() == Acquire(("a",), 1.0)
    assert session.spend == 0
    session.observe({"a": 0.5})
    assert session.spend == 1
    assert session.next() == Acquire(("b",), 1.0)


def test_features_may_come_in_parts(model):
    X = np.array([[0.3, 0.1, -0.2, 0.0]])
    wide = ASTCRegressor(costs=dict.fromkeys("abcd", 1), max_depth=1, node_budget=4)
    wide.fit(np.random.default_rng(1).normal(size=(50, 4)), np.random.default_rng(2).normal(size=50))
    session = wide.session()
    first = session.next().features
    session.observe({first[0]: X[0, "abcd".index(first[0])]})
    assert session.next() == Acquire(first[1:], 0.0)
    session.observe({f: X[0, "abcd".index(f)] for f in first[1:]})
    assert session.next().prediction == wide.predict(X)[0]


class Explained(Session):
    """Asks for two columns at once, and says why."""

    def _plan(self):
        return Stop(1.0, 1.0, 0, "done") if self.spend else Acquire(("a", "b"), 3.0, "they help")

    def _receive(self, values):
        self.spend = 3.0


def test_the_explanation_stays_until_the_step_is_complete():
    session = Explained()
    assert repr(session.next()) == "Acquire(features=('a', 'b'), cost=3.0, explanation='they help')"
    session.observe({"a": 1.0})
    assert session.next() == Acquire(("b",), 0.0, "they help")
    session.observe({"b": 1.0})
    assert repr(session.next()) == "Stop(prediction=1.0, score=1.0, exit=0, reason='done')"


def test_drive_reaches_the_answer_of_predict(model):
    x = {"a": 0.1, "b": -1.0, "c": 2.0, "d": 0.0}
    stop = drive(model.session(), x.__getitem__)
    assert isinstance(stop, Stop)
    assert (stop.prediction, stop.reason) == (model.predict([list(x.values())])[0], "done")
    assert drive(model.session(cap=1), x.__getitem__).reason == "cap"
    assert drive(model.session(cap=0), x.__getitem__).exit == -1


def test_observing_before_being_asked_is_refused(model):
    with pytest.raises(SessionError, match=r"nothing is being asked for, got \['a'\]. Call next\(\) first."):
        model.session().observe({"a": 1.0})


def test_observing_something_else_is_refused_and_loses_nothing(model):
    session = model.session()
    session.next()
    with pytest.raises(SessionError, match=r"observed \['b'\], but asked for \['a'\]"):
        session.observe({"b": 1.0})
    assert session.next() == Acquire(("a",), 1.0)


@pytest.mark.parametrize("value", [float("inf"), "high", 10**400])
def test_a_value_that_is_no_finite_number_is_refused(model, value):
    session = model.session()
    session.next()
    with pytest.raises(SessionError, match=r"feature 'a' was observed as .*; expected a finite number, or None"):
        session.observe({"a": value})
    session.observe({"a": 1.0})
    assert isinstance(session.next(), Acquire)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_what_cannot_be_had_is_paid_for_and_filled_in(model, missing):
    x = {"a": 0.1, "b": missing, "c": 2.0, "d": 0.0}
    stop = drive(model.session(), x.__getitem__)
    batch = model.acquire([[np.nan if v is None else v for v in x.values()]])
    assert (stop.prediction, stop.exit) == (batch.prediction[0], batch.exit[0])
    assert batch.acquired[0, 1]


def test_what_is_unavailable_is_charged_and_not_asked_for_again(model):
    session, asked = model.session(), []
    while isinstance(step := session.next(), Acquire):
        asked += step.features
        session.observe(dict.fromkeys(step.features))
    assert asked == ["a", "b", "c"]
    assert session.spend == model.spend([[np.nan] * 4])[0] == 3
    assert np.isfinite(step.score)


def test_a_part_may_be_unavailable():
    random = np.random.default_rng(1)
    wide = ASTCRegressor(costs=dict.fromkeys("abcd", 1), max_depth=1, node_budget=4)
    wide.fit(random.normal(size=(50, 4)), random.normal(size=50))
    session = wide.session()
    first, *rest = session.next().features
    session.observe({first: None})
    assert session.next() == Acquire(tuple(rest), 0.0)
    session.observe(dict.fromkeys(rest, 0.5))
    row = [np.nan if name == first else 0.5 for name in "abcd"]
    assert session.next().prediction == wide.predict([row])[0]


def test_a_part_that_makes_no_sense_is_refused_and_loses_nothing(model):
    wide = ASTCRegressor(max_depth=1, node_budget=4)
    wide.fit(np.random.default_rng(1).normal(size=(50, 4)), np.random.default_rng(2).normal(size=50))
    session = wide.session()
    first, second, *rest = session.next().features
    session.observe({first: 1.0})
    with pytest.raises(SessionError, match="was observed as 'high'"):
        session.observe({second: "high"})
    assert session.next().features == (second, *rest)


@pytest.mark.parametrize("cap", [-1, float("nan"), "ten", [1, 2]])
def test_a_senseless_cap_is_refused(model, cap):
    with pytest.raises(ValueError, match="cap"):
        model.session(cap)


def test_observing_after_the_end_or_something_else_is_refused(model):
    session = model.session(cap=0)
    assert isinstance(session.next(), Stop)
    with pytest.raises(SessionError, match="The session has ended"):
        session.observe({"a": 1.0})
    with pytest.raises(SessionError, match="observed list; expected a dictionary"):
        model.session().observe([1.0])


@pytest.mark.parametrize(
    "estimator",
    [
        ASTCClassifier(max_depth=3, node_budget=[2, 8, 100]),
        AttentiveClassifier(),
        DynamicSelectionClassifier(),
        GreedyMiserClassifier(n_estimators=8, charge="row"),
        ThriftyClassifier(budget=60, n_estimators=20, n_rounds=1, random_state=0),
        TableModel(GreedyMiserClassifier(n_estimators=8, charge="row")),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_answer_so_far_is_that_of_a_row_that_may_not_spend_more(estimator):
    heart = load_heart(as_frame=True)
    model = clone(estimator).set_params(costs=heart.costs).fit(heart.X, heart.y)
    for k in range(0, 60, 6):
        row, session = heart.X.iloc[k], model.session()
        while isinstance(step := session.next(), Acquire):
            so_far, capped = session.answer_so_far(), model.acquire(heart.X[k : k + 1], cap=session.spend)
            assert so_far.reason == "stopped"
            assert so_far.prediction == capped.prediction[0]
            assert so_far.score == pytest.approx(capped.score[0])
            assert session.next() == step
            session.observe({feature: row[feature] for feature in step.features})
        assert session.answer_so_far() is step


def test_a_session_without_an_answer_before_its_end_says_so():
    class Asking(Session):
        def _plan(self):
            return Acquire(("age",), 1.0)

        def _receive(self, values): ...

    assert Asking().answer_so_far() is None
