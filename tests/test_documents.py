"""The examples in the documentation run and print what is written there, and links point to files that exist."""

import re

import pytest

from documents import PAGES, ROOT, rerun

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@every_page
def test_examples_print_what_is_written(page, tmp_path):
    assert rerun(page, tmp_path).splitlines() == page.read_text(encoding="utf-8").splitlines()


@every_page
def test_links_point_to_files_that_exist(page):
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


ANCHOR = re.compile(r"\]\(([^)#\s]*)#([^)\s]+)\)")
HEADING = re.compile(r"^#{1,4} (.+)$", flags=re.MULTILINE)


def anchors(page):
    """Return the anchors of the headings of a page: lower case, words joined by hyphens, without other signs."""
    titles = HEADING.findall(
        re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    )
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_links_to_headings_point_to_headings_that_exist(page):
    links = [link for link in ANCHOR.findall(page.read_text(encoding="utf-8")) if "://" not in link[0]]
    targets = [((page.parent / path) if path else page, anchor) for path, anchor in links]
    assert [(to.name, anchor) for to, anchor in targets if to.suffix == ".md" and anchor not in anchors(to)] == []


def test_index_links_to_every_page():
    index = ROOT / "docs" / "index.md"
    pages = {page.name for page in PAGES if page.parent == index.parent and page != index}
    assert pages - set(LINK.findall(index.read_text(encoding="utf-8"))) == set()


METHODS = [page for page in PAGES if page.parent.name == "methods" and page.stem != "forests"]  # a guide, not a method


@pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)
def test_every_method_has_an_equation_a_table_of_symbols_its_use_and_a_figure(page):
    text = page.read_text(encoding="utf-8")
    assert "```math\n" in text
    assert "**When to use it.**" in text
    assert re.search(r"^\| (in the paper|symbol) \| here \| meaning \|$", text, flags=re.MULTILINE)
    assert re.search(r"^!\[[^]]{40,}\]\(\.\./figures/", text, flags=re.MULTILINE)


def test_every_picture_has_alternative_text():
    pictures = [text for page in PAGES for text in re.findall(r"!\[([^]]*)\]\(", page.read_text(encoding="utf-8"))]
    assert len(pictures) > 12
    assert [text for text in pictures if len(text) < 40] == []


def test_readme_is_short_and_has_examples():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 220
    assert readme.count("```python\n") >= 4
