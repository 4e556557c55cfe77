"""Sessions over HTTP ask, charge and answer as sessions of the model; a retry is harmless."""

import time

import numpy as np
import pytest

from serving.driven import answer, finish
from serving.started import started
from thrifty import Acquire, CostWeightedL1Classifier, save


def local_steps(model, row, cap=None):
    """Return the steps of a session of the model, the spend after each, and its end."""
    session, steps = model.session(cap), []
    while isinstance(step := session.next(), Acquire):
        session.observe({feature: row[feature] for feature in step.features})
        steps.append((list(step.features), step.cost, session.spend, step.explanation))
    return steps, step, session.spend


@pytest.mark.parametrize("cap", [None, 12.0, 0.0])
@pytest.mark.parametrize("number", [0, 3, 100])
def test_a_session_is_the_session_of_the_model(on_tree, tree, heart, number, cap):
    row = heart.rows[number]
    states = finish(on_tree, row, **({} if cap is None else {"cap": cap}))
    steps, stop, spend = local_steps(tree, row, cap)
    last = states[-1]
    assert [(each["features"], each["cost"]) for each in last["history"]] == [step[:2] for step in steps]
    assert [each["spend"] for each in states[1:]] == [step[2] for step in steps]
    assert last["spend"] == spend
    assert last["saved"] == pytest.approx(heart.costs.total - spend)
    assert last["result"]["prediction"] == stop.prediction
    assert last["result"]["score"] == stop.score
    assert (last["result"]["reason"], last["result"]["exit"]) == (stop.reason, stop.exit)
    assert last["cap"] == cap


def test_asks_tell_kinds_and_prices_that_add_up_to_the_cost(on_tree, heart):
    for state in finish(on_tree, heart.rows[0]):
        assert sum(ask["price"] for ask in state["asks"]) == pytest.approx(state["cost"])
    first = on_tree.post("/sessions", json={}).json()["asks"][0]
    assert first == {"feature": "age", "price": 1.0, "kind": "number", "levels": None, "range": [29.0, 77.0]}


def test_belief_is_what_the_model_answers_if_it_may_not_spend_more(on_tree, tree, heart):
    for state in finish(on_tree, heart.rows[5]):
        expected = tree.predict_proba(heart.X[5:6], cap=state["spend"])[0]
        assert list(state["belief"].values()) == pytest.approx(expected)
        assert list(state["belief"]) == ["absent", "present"]
    assert [each["belief"] for each in state["history"]][-1] == state["belief"]


def test_the_path_leads_through_the_stages_of_the_outline(on_tree, heart):
    def numbered(stage):
        stages = [stage]
        for child in stage["children"]:
            stages += numbered(child)
        return stages

    stages = numbered(on_tree.get("/model").json()["outline"]["stages"])
    for number in range(20):
        states = finish(on_tree, heart.rows[number])
        assert states[0]["path"] == []
        for state in states[1:]:
            bought = [name for number in state["path"] for name in stages[number]["buys"]]
            assert bought == [name for each in state["history"] for name in each["features"]]
            for parent, child in zip(state["path"], state["path"][1:], strict=False):
                assert stages[child] in stages[parent]["children"]
        assert stages[state["path"][-1]]["paid"] == state["spend"]


def test_an_unavailable_value_is_charged_and_not_asked_for_again(on_adaptive, adaptive, heart):
    row = {**heart.rows[3], "cp": None}
    states = finish(on_adaptive, row)
    assert states[-1]["history"][0]["values"] == {"cp": None}
    steps, stop, _ = local_steps(adaptive, row, 200.0)
    assert [each["features"] for each in states[-1]["history"]] == [step[0] for step in steps]
    assert [each["explanation"] for each in states[-1]["history"]] == [step[3] for step in steps]
    assert states[-1]["result"]["prediction"] == stop.prediction
    assert states[-1]["explanation"] == stop.explanation


def test_budgets_choose_operating_points(on_adaptive, adaptive, heart):
    spends = [finish(on_adaptive, heart.rows[3], budget=budget)[-1]["spend"] for budget in (5, 150)]
    assert spends[0] < spends[1]
    assert spends == [local_steps(adaptive.at_budget(budget), heart.rows[3], 200.0)[2] for budget in (5, 150)]


def test_the_cap_of_the_service_holds_for_everyone(on_adaptive, heart):
    assert finish(on_adaptive, heart.rows[3])[-1]["cap"] == 200.0
    refused = on_adaptive.post("/sessions", json={"cap": 201})
    assert refused.status_code == 422
    assert refused.json()["detail"] == "cap is 201; this service allows at most 200. Pass a smaller cap."


def test_a_budget_needs_operating_points(on_tree):
    refused = on_tree.post("/sessions", json={"budget": 5})
    assert refused.status_code == 422
    assert "the model has one operating point only" in refused.json()["detail"]


def test_a_repeated_answer_is_charged_once(on_tree, heart):
    start = on_tree.post("/sessions", json={}).json()
    first = answer(on_tree, start, heart.rows[0])
    again = answer(on_tree, start, heart.rows[0])
    assert again.status_code == 200
    assert again.json() == first.json()
    assert on_tree.get(f"/sessions/{start['id']}").json() == first.json()


def test_other_values_or_another_step_are_a_conflict(on_tree, heart):
    start = on_tree.post("/sessions", json={}).json()
    answer(on_tree, start, heart.rows[0])
    other = answer(on_tree, start, {**heart.rows[0], "age": 1.0})
    assert other.status_code == 409
    assert "step 0 was answered with other values" in other.json()["detail"]
    later = on_tree.post(f"/sessions/{start['id']}", json={"step": 7, "values": {}})
    assert later.status_code == 409
    assert "step is 7, but the session waits for step 1" in later.json()["detail"]
    huge = on_tree.post(f"/sessions/{start['id']}", json={"step": 10**400, "values": {}})
    assert "step is a number of 1329 bits, but the session waits for step 1" in huge.json()["detail"]


def test_an_ended_session_takes_no_more_answers(on_tree, heart):
    last = finish(on_tree, heart.rows[0])[-1]
    refused = on_tree.post(f"/sessions/{last['id']}", json={"step": last["step"], "values": {}})
    assert refused.status_code == 409
    assert "the session has ended" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"agee": 1.0}, "observed ['agee'], but the step asks for ['age', 'sex', 'cp', 'trestbps']"),
        ({"age": 1.0}, "'sex' is missing. Pass its value, or null if it is unavailable."),
        (
            {"age": "old", "sex": 1, "cp": 1, "trestbps": 1},
            "feature 'age' was observed as 'old'; expected a finite number, or null if it is unavailable.",
        ),
    ],
)
def test_a_wrong_answer_is_refused_and_changes_nothing(on_tree, heart, values, sentence):
    start = on_tree.post("/sessions", json={}).json()
    refused = on_tree.post(f"/sessions/{start['id']}", json={"step": 0, "values": values})
    assert refused.status_code == 422
    assert sentence in refused.json()["detail"]
    assert on_tree.get(f"/sessions/{start['id']}").json() == start
    assert answer(on_tree, start, heart.rows[0]).status_code == 200


def test_deleted_sessions_are_gone(on_tree):
    place = on_tree.post("/sessions", json={}).headers["location"]
    assert on_tree.delete(place).status_code == 204
    for reply in (on_tree.get(place), on_tree.delete(place), on_tree.post(place, json={"step": 0, "values": {}})):
        assert reply.status_code == 404
        assert "there is no such session" in reply.json()["detail"]


def test_mixed_columns(on_rent, rent, flats):
    row = {"rooms": 3, "town": "Ulm", "lift": True, "built": "1999-01-31"}
    last = finish(on_rent, row)[-1]
    assert last["result"]["prediction"] == pytest.approx(local_steps(rent, row)[1].prediction)
    assert last["belief"] == {"value": last["result"]["prediction"]}


def test_sessions_outlive_the_service_in_a_file(files, tmp_path, heart):
    store = ("--store", tmp_path / "sessions.sqlite")
    with started(files / "tree.thrifty", *store) as server, server.http() as http:
        state = answer(http, http.post("/sessions", json={}).json(), heart.rows[0]).json()
    with started(files / "tree.thrifty", *store) as server, server.http() as http:
        assert http.get(f"/sessions/{state['id']}").json() == state
        assert answer(http, state, heart.rows[0]).json()["step"] == 2


def test_a_session_does_not_go_on_with_another_model(files, tmp_path, heart):
    store = ("--store", tmp_path / "sessions.sqlite")
    with started(files / "tree.thrifty", *store) as server, server.http() as http:
        state = answer(http, http.post("/sessions", json={}).json(), heart.rows[0]).json()
    with started(files / "adaptive.thrifty", *store) as server, server.http() as http:
        for reply in (http.get(f"/sessions/{state['id']}"), answer(http, state, heart.rows[0])):
            assert reply.status_code == 404


def test_values_that_overflow_a_score_leave_no_belief(files, tmp_path, heart):
    three = CostWeightedL1Classifier(costs=heart.costs).fit(heart.X / 1000, np.digitize(heart.X["thalach"], [130, 160]))
    save(three, tmp_path / "three.thrifty")
    with started(tmp_path / "three.thrifty") as server, server.http() as http:
        states = finish(http, dict.fromkeys(heart.X, 1e308))
        assert states[0]["belief"] is not None
        assert states[-1]["belief"] is None
        assert states[-1]["result"]["probability"] is None
        row = dict.fromkeys(heart.X, 1e308)
        assert http.post("/predict/rows", json={"rows": [row]}).json()["predictions"][0]["probability"] is None


def test_sessions_expire(files):
    with (
        started(files / "tree.thrifty", "--session-seconds", "1") as server,
        server.http() as http,
    ):
        before = time.time()
        state = http.post("/sessions", json={}).json()
        assert before + 1 <= state["expires"] <= time.time() + 1
        time.sleep(max(0.0, state["expires"] - time.time()) + 0.01)
        assert http.get(f"/sessions/{state['id']}").status_code == 404
