"""A case from its start to its end, in a browser."""

import json

import pytest

from serving.page.served_models import MARKUP, N_FITTED
from thrifty.costs.amounts import amount
from thrifty.models.session import drive


def sentences(visit):
    return visit.text(".says")


def sent_values(visit):
    """Return the bodies of all answers that were sent."""
    posts = [each for each in visit.sent if each.method == "POST"]
    return [json.loads(each.post_data) for each in posts]


@pytest.mark.parametrize("name", ["adaptive", "tree"])
def test_whole_case_by_keyboard_alone(name, service, visit, models, heart):
    person = heart.X.iloc[N_FITTED + 3]
    seen = visit(service(name).url)
    seen.start("A new case")
    while not seen.is_done():
        assert seen.focused() in {f"Value of {seen.asked()[0]}", seen.asked()[0]}  # the first field has the focus
        seen.answer(*(person[test] for test in seen.asked()))
    session = models[name].session()
    stop = drive(session, lambda test: person[test])
    assert seen.text(".result h2") == f"The answer: {stop.prediction}"
    assert seen.text(".result .tile:nth-child(1) b") == amount(session.spend, "CAD")
    assert seen.text(".result .tile:nth-child(2) b") == amount(models[name].cost_model_.total, "CAD")
    assert "Why it stopped: " in seen.text(".result")
    assert seen.has_focus(".result h2")
    seen.tab_to(".result button")
    seen.press("Enter")
    seen.page.locator("#start-form").wait_for()
    assert seen.has_focus("#start-form input")


def test_example_fills_in_its_values(service, visit, models, heart):
    seen = visit(service("adaptive").url)
    seen.start("case 2")
    seen.finish()
    session = models["adaptive"].session()
    stop = drive(session, lambda test: heart.X.iloc[N_FITTED + 1][test])
    assert seen.text(".result h2") == f"The answer: {stop.prediction}"
    assert seen.text(".spend .large") == amount(session.spend, "CAD")


def test_each_step_says_price_reason_and_belief(service, visit):
    seen = visit(service("adaptive").url)
    seen.start("case 1")
    assert seen.text(".question .cost strong") == "1 CAD"
    assert "Why: the model expects this to be worth" in seen.text(".question .why")
    before = seen.text(".belief .bars")
    assert "%" in before
    assert "0 CAD" in seen.text(".spend")
    seen.confirm()
    assert seen.text(".spend .large") == "1 CAD"
    assert seen.text(".belief .bars") != before
    assert seen.page.locator(".history tbody tr").count() == 1
    assert "Spend so far: 1 CAD." in seen.page.locator("#news").text_content()  # for screen readers


def test_unavailable_test(service, visit, models, heart):
    seen = visit(service("adaptive").url)
    seen.start("case 1")
    first = seen.asked()[0]
    seen.tab_to(".question .buttons button:not(.primary)")
    assert seen.focused() == "Not available"
    seen.after(lambda: seen.press("Enter"))
    assert f"{first}: not available" in seen.text(".history")
    assert sent_values(seen)[-1] == {"step": 0, "values": {first: None}}
    seen.finish()
    session = models["adaptive"].session()
    person = heart.X.iloc[N_FITTED]
    stop = drive(session, lambda test: None if test == first else person[test])
    assert seen.text(".result h2") == f"The answer: {stop.prediction}"
    assert seen.text(".spend .large") == amount(session.spend, "CAD")


def test_unavailable_test_among_others(service, visit):
    seen = visit(service("tree").url)
    seen.start("case 1")
    tests = seen.asked()
    assert len(tests) > 1
    seen.tab_to(".question .row:nth-child(2) [type=checkbox]")
    assert seen.focused() == f"not available: {tests[1]}"
    seen.press("Space")
    seen.confirm()
    sent = sent_values(seen)[-1]["values"]
    assert sent[tests[1]] is None
    assert sent[tests[0]] is not None


def test_wrong_value_is_told_and_can_be_corrected(service, visit):
    seen = visit(service("adaptive").url)
    seen.start("A new case")
    seen.press("Enter")
    assert seen.text(".field .wrong") == "Type a value, or say that the test is not available."
    seen.page.keyboard.type("many")
    seen.press("Enter")
    assert seen.text(".field .wrong") == '"many" is not a number. Type a number such as 12 or 3.5.'
    assert seen.page.locator(".question input").get_attribute("aria-invalid") == "true"
    assert seen.has_focus(".question input")
    seen.press("Control+A")
    seen.answer("3")
    assert seen.step() == "Step 2"


def test_limit_ends_the_case(service, visit):
    seen = visit(service("adaptive").url)
    seen.start("case 1", cap=3)
    seen.finish()
    assert "the next step would cost more than the limit of 3 CAD allows" in seen.text(".result")
    assert sent_values(seen)[0]["cap"] == 3


def test_budget_slider(service, visit):
    seen = visit(service("adaptive").url)
    seen.tab_to("[type=range]")
    shown = [sentences(seen)]
    for key in ("Home", "ArrowRight", "PageUp", "End"):
        seen.press(key)
        shown.append(sentences(seen))
    assert len(set(shown)) == len(shown)
    assert shown[1].startswith("A budget of 0 CAD buys no tests.")
    assert shown[4].startswith("A budget of 323.97 CAD buys ")
    seen.press("Home", "PageUp", "PageUp", "PageUp")
    budget = seen.text(".chosen output")
    assert seen.page.locator("[type=range]").get_attribute("aria-valuetext") == budget
    assert f"This case uses the budget of {budget}." in seen.text("#start-form")
    seen.start("case 1")
    assert amount(sent_values(seen)[0]["budget"], "CAD") == budget
    assert f"Budget: {budget} per case" in seen.text(".spend")


def test_model_without_a_curve_has_no_slider(service, visit):
    seen = visit(service("tree").url)
    seen.page.locator("#start-form").wait_for()
    assert seen.page.locator("[type=range]").count() == 0
    seen.start("case 1")
    assert "budget" not in sent_values(seen)[0]


def test_tree_lights_the_way(service, visit):
    seen = visit(service("tree").url)
    seen.start("case 1")
    assert seen.page.locator(".stage.lit").count() == 0
    assert seen.page.locator(".stage.now").inner_text().startswith("every case")
    seen.confirm()
    assert seen.page.locator(".stage.lit").count() == 1
    seen.finish()
    state = service("tree").call("GET", f"/sessions/{case_id(seen)}")
    assert seen.page.locator(".stage.lit").count() == len(state["path"]) > 1
    assert "(this case ended here)" in seen.page.locator("[aria-current=step]").text_content()


def test_list_lights_what_was_bought(service, visit):
    seen = visit(service("adaptive").url)
    seen.start("case 1")
    assert seen.text(".tests .now .name") == seen.asked()[0]
    seen.finish()
    state = service("adaptive").call("GET", f"/sessions/{case_id(seen)}")
    bought = [test for step in state["history"] for test in step["features"]]
    assert set(seen.page.locator(".tests .lit .name").all_inner_texts()) == set(bought)


def case_id(seen):
    return json.loads(seen.page.evaluate("sessionStorage.getItem('thrifty-case')"))["id"]


def test_number_is_predicted(service, visit, models, heart):
    seen = visit(service("number").url)
    seen.start("case 1")
    assert seen.page.locator(".belief .value").count() == 1
    while not seen.is_done():
        if not seen.asked():  # a step that only computes
            assert seen.has_focus(".question h2")
            assert seen.text(".question button.primary") == "Continue"
        seen.confirm()
    stop = drive(models["number"].session(), lambda test: heart.X.iloc[N_FITTED][test])
    assert seen.text(".result h2") == f"The answer: {float(f'{stop.prediction:.4g}'):g}"
    assert "computing, no test" in seen.text(".history")


def test_levels_booleans_and_names_that_are_markup(service, visit):
    seen = visit(service("mixed").url)
    assert MARKUP in seen.text("#way")
    seen.start("case 1")
    asked = []
    while not seen.is_done():
        asked += seen.asked()
        seen.confirm()
    assert MARKUP in asked
    assert {"pain", "exang"} & set(asked)
    assert MARKUP in seen.text(".history")
    assert seen.page.locator("main img").count() == 0
    for field, kind in (("pain", str), ("exang", (bool, str))):
        values = [each["values"][field] for each in sent_values(seen) if field in each.get("values", {})]
        assert all(isinstance(value, kind) for value in values)


def test_reload_goes_on_with_the_case(service, visit):
    seen = visit(service("adaptive").url)
    seen.start("case 1")
    seen.confirm()
    seen.page.reload()
    seen.page.locator("#case .step").wait_for()
    assert seen.step() == "Step 2"
    seen.finish()
