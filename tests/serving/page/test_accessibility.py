"""Nobody is left out: axe finds no violation of WCAG levels A and AA, and nothing is cut off on a small screen."""

from itertools import product

import pytest

from browsers import violations

WIDTHS = {"wide": 1280, "narrow": 420}
LOOKS = [*product(["adaptive"], ["light", "dark"], WIDTHS), ("tree", "light", "wide"), ("tree", "dark", "narrow")]


def open_as(visit, service, scheme, width):
    screen = {"width": WIDTHS[width], "height": 900}
    return visit(service.url, color_scheme=scheme, viewport=screen, bypass_csp=True)


def check(seen):
    assert violations(seen.page) == []
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("name", "scheme", "width"), LOOKS)
def test_case(name, scheme, width, service, visit):
    seen = open_as(visit, service(name), scheme, width)
    seen.page.locator("#start-form").wait_for()
    check(seen)
    seen.start("case 1")
    seen.confirm()
    check(seen)
    seen.finish()
    check(seen)


@pytest.mark.parametrize(("name", "scheme"), [("number", "light"), ("mixed", "dark")])
def test_numbers_and_levels(name, scheme, service, visit):
    seen = open_as(visit, service(name), scheme, "narrow")
    seen.start("case 1")
    check(seen)
    seen.finish()
    check(seen)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_messages(scheme, service, visit):
    seen = open_as(visit, service("adaptive"), scheme, "narrow")
    seen.expected = ("Failed to load resource",)
    seen.start("A new case")
    seen.press("Enter")
    seen.page.get_by_text("Type a value").wait_for()
    check(seen)
    seen.context.set_offline(True)
    seen.page.get_by_role("button", name="Not available").press("Enter")
    seen.page.get_by_text("The connection to the server is broken.").wait_for()
    check(seen)
    seen.context.set_offline(False)
    seen.page.get_by_text("The connection is back.").wait_for()
    check(seen)


def test_page_works_under_its_own_security_policy(service, visit):
    seen = visit(service("tree").url)
    reply = seen.page.goto(seen.url)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    seen.start("case 1")
    seen.finish()
