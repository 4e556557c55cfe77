"""A real browser for tests of pages: Debian's chromium, driven by Playwright."""

import os
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@contextmanager
def launched():
    """Yield a browser; skip the test where there is none, but not in CI."""
    if not CHROMIUM.exists():
        reason = f"{CHROMIUM} is missing. Install it with: apt-get install chromium"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def violations(page):
    """Return what axe finds in a page as it is now."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("levels => axe.run({runOnly: levels})", LEVELS)
    assert len(found["passes"]) > 5
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]
