"""The page of a frontier in a real browser: hover, keyboard, copied commands, both widths, light and dark."""

import re
import shlex
from dataclasses import replace

import pytest

from browsers import launched, violations
from thrifty.cli.frontier_page import frontier_page
from thrifty.cli.frontier_page.command import fit_command
from thrifty.cli.search_report import SearchReport
from thrifty.costs.amounts import amount
from thrifty.tuning.comparisons import is_complete, succeeded

OPTIONS = {"table": "a table.csv", "target": "diagnosis", "costs": "costs.csv", "cap": 150.0}
SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 420, "height": 900}}


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def report(searched):
    """Return the report of a search, with a name of a candidate that is markup."""
    found = SearchReport.of_search(searched)
    extra = dict(
        found.points[0],
        method="<b onclick='x'>&",
        dominated=True,
        spend_bound=None,
        score_error=None,
        note="dropped </script>",
    )
    return replace(found, points=[*found.points, extra])


@pytest.fixture
def opened(browser, report, tmp_path):
    """Return a function that opens the page from a file; nothing may go wrong in it, and nothing may be fetched."""
    contexts, wrong, sent = [], [], []
    (tmp_path / "page.html").write_text(frontier_page(report, "heart <i>", OPTIONS), encoding="utf-8")

    def open_page(size="wide", scheme="light", **options):
        context = browser.new_context(viewport=SIZES[size], color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda each: wrong.append(each.text))
        page.on("pageerror", lambda each: wrong.append(str(each)))
        page.on("request", lambda each: sent.append(each.url))
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_page
    for each in contexts:
        each.close()
    assert wrong == []
    assert all(url.startswith(("file:", "data:")) for url in sent)


def cheapest_first(report):
    return sorted(succeeded(report.points), key=lambda point: (point["spend"], point["score"]))


def mark(page, number, chart="wide"):
    return page.locator(f".{chart}-chart [data-point='{number}']")


def test_the_chosen_point_is_shown_at_first(opened, report):
    page = opened()
    assert page.locator("#point-method").inner_text().startswith(report.promise["method"])
    assert "chosen" in page.locator("#point-state").inner_text()
    assert page.locator(".wide-chart").is_visible()
    assert not page.locator(".narrow-chart").is_visible()
    assert page.locator("h1").inner_text() == "heart <i>"


def test_hover_shows_settings_spend_score_and_intervals(opened, report):
    page = opened()
    last = next(each for each in reversed(cheapest_first(report)) if is_complete(each))
    mark(page, cheapest_first(report).index(last)).hover(force=True)
    assert page.locator("#point-method").inner_text().startswith(last["method"])
    assert f"{last['score']:.3f} ± {last['score_error']:.3f}" in page.locator("#point-score").inner_text()
    assert f"{amount(last['spend'], 'CAD')} a row" in page.locator("#point-spend").inner_text()
    assert f"95% confidence below {amount(last['spend_bound'], 'CAD')}" in page.locator("#point-spend").inner_text()


def test_the_keyboard_reaches_every_point(opened, report):
    page = opened()
    points = cheapest_first(report)
    mark(page, 0).focus()
    for point in points[1:4]:
        page.keyboard.press("ArrowRight")
        assert page.locator("#point-score").inner_text().count(f"{point['score']:.3f} ±") == 1
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.point") == str(len(points) - 1)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.dataset.point") == "0"
    assert page.locator(".wide-chart [tabindex='0']").count() == 1


def test_a_click_copies_the_command_of_the_point(opened, report):
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    number, point = next((i, p) for i, p in enumerate(cheapest_first(report)) if p["method"] == "l1" and is_complete(p))
    mark(page, number).dispatch_event("click")
    page.get_by_text("Copied.").wait_for()
    command = page.evaluate("navigator.clipboard.readText()")
    assert command == page.locator("#point-command").inner_text() == fit_command(point, OPTIONS)
    words = shlex.split(command)
    assert words[:3] == ["thrifty", "fit", "a table.csv"]
    assert float(words[words.index("--budget") + 1]) >= point["spend_bound"]
    assert mark(page, number).get_attribute("aria-selected") == "true"


def test_enter_chooses_too_and_a_candidate_without_a_name_has_no_command(opened, report):
    page = opened()
    number = next(i for i, p in enumerate(cheapest_first(report)) if p["method"].startswith("<b"))
    mark(page, number).focus()
    page.keyboard.press("Enter")
    assert page.locator("#point-method").inner_text().startswith("<b onclick='x'>&")
    assert "dropped </script>" in page.locator("#point-state").inner_text()
    assert not page.locator("#point-copy").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_is_accessible_and_fits_the_screen(opened, size, scheme):
    page = opened(size, scheme, bypass_csp=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(f".{size}-chart").is_visible()
    assert violations(page) == []
    smallest = page.evaluate(
        "[...document.querySelectorAll('.chart text')].filter(t => t.getBoundingClientRect().width)"
        ".reduce((least, t) => Math.min(least, t.getBoundingClientRect().height), 99)"
    )
    assert smallest > 11


def test_the_policy_allows_its_own_script_and_nothing_else(report):
    page = frontier_page(report, "heart", OPTIONS)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"\sstyle=|\son\w+=[\"']", page.split("<script", 1)[0].replace("onclick=&#x27;", ""))


def test_files_without_anchors_have_a_page(report):
    old = [{name: value for name, value in point.items() if name not in ("n_folds", "n_rows", "note")}
           for point in report.points]  # fmt: skip
    page = frontier_page(replace(report, points=old, anchors=None), "heart", OPTIONS)
    assert "The constant answer" not in page
