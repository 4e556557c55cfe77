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


def test_index_links_to_every_page():
    index = ROOT / "docs" / "index.md"
    pages = {page.name for page in PAGES if page.parent == index.parent and page != index}
    assert pages - set(LINK.findall(index.read_text(encoding="utf-8"))) == set()


def test_readme_is_short_and_has_examples():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 220
    assert readme.count("```python\n") >= 4
