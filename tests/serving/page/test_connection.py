"""Connections that break, sessions that expire, and services that need a token."""

import pytest

from serving.page.served_models import N_FITTED
from thrifty.costs.amounts import amount
from thrifty.models.session import drive

LOST = ("Failed to load resource",)  # what the browser itself writes about a request that fails
BROKEN = "The connection to the server is broken."


def test_service_killed_in_the_middle_of_a_case(own_service, visit, models, heart):
    service = own_service("adaptive")
    seen = visit(service.url)
    seen.expected = LOST
    seen.start("case 1")
    seen.confirm()
    service.kill()
    seen.press("Enter")
    seen.page.get_by_text(BROKEN).wait_for()
    assert seen.step() == "Step 2"
    seen.after(service.restart)
    assert seen.step() == "Step 3"
    assert seen.text("#notice") == "The connection is back."
    seen.confirm()
    assert seen.text("#notice") == ""  # it has been read by then
    seen.finish()
    session = models["adaptive"].session()
    stop = drive(session, lambda test: heart.X.iloc[N_FITTED][test])
    assert seen.text(".result h2") == f"The answer: {stop.prediction}"
    assert seen.text(".spend .large") == amount(session.spend, "CAD")


def test_network_away_for_a_while(service, visit):
    seen = visit(service("tree").url)
    seen.expected = LOST
    seen.start("case 1")
    seen.context.set_offline(True)
    seen.press("Enter")
    seen.page.get_by_text(BROKEN).wait_for()
    seen.press("Enter")  # pressing again must not send a second answer
    seen.after(lambda: seen.context.set_offline(False))
    assert seen.step() == "Step 2"


def test_lost_reply_is_charged_once(service, visit):
    seen = visit(service("adaptive").url)
    seen.expected = LOST
    seen.start("case 1")
    lost = []

    def lose_first(route):
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch().status)  # the service has the answer; the page never hears of it
            route.abort()
        else:
            route.continue_()

    seen.page.route("**/sessions/*", lose_first)
    seen.confirm()
    assert lost == [200]
    assert seen.step() == "Step 2"
    assert seen.text(".spend .large") == "1 CAD"


def test_start_while_the_service_is_away(own_service, visit):
    service = own_service("tree")
    seen = visit(service.url)
    seen.expected = LOST
    seen.page.locator("#start-form").wait_for()
    service.kill()
    seen.page.locator("#start-form button").press("Enter")
    seen.page.get_by_text(BROKEN).wait_for()
    with seen.page.expect_request("**/sessions"):
        seen.page.get_by_role("button", name="Try now").press("Enter")
    service.restart()
    seen.page.locator(".question").wait_for()


def test_expired_case_is_told(service, visit):
    seen = visit(service("adaptive").url)
    seen.expected = LOST
    seen.start("case 1")
    seen.confirm()
    case = seen.page.evaluate("JSON.parse(sessionStorage.getItem('thrifty-case')).id")
    service("adaptive").call("DELETE", f"/sessions/{case}")
    seen.press("Enter")
    seen.page.get_by_role("heading", name="This case has expired").wait_for()
    assert seen.page.locator(".history tbody tr").count() == 1  # the answers can still be read
    seen.tab_to(".ask button")
    seen.press("Enter")
    seen.page.locator("#start-form").wait_for()


def test_token_is_asked_for(own_service, visit, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("correct-horse-battery-staple-0123456789\n")
    seen = visit(own_service("tree", "--token-file", tokens).url)
    seen.expected = LOST
    seen.page.locator("#token input").wait_for()
    assert seen.has_focus("#token input")
    seen.page.keyboard.type("wrong")
    seen.press("Enter")
    seen.page.get_by_text("The server refused this token.").wait_for()
    seen.page.keyboard.type("correct-horse-battery-staple-0123456789")
    seen.press("Enter")
    seen.start("case 1")
    seen.finish()
    assert seen.page.locator("#token").is_hidden()


@pytest.mark.parametrize("name", ["adaptive", "tree"])
def test_no_token_no_field(name, service, visit):
    seen = visit(service(name).url)
    seen.page.locator("#start-form").wait_for()
    assert seen.page.locator("#token").is_hidden()
