"""The navigation is the list of pages in docs/index.md.

A heading is a group, and a link at the start of an item is a page. Items below an item are the pages below that page.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

GROUP = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", flags=re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"^( *)- \[[^]]+\]\(([^)#]+)\)", flags=re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Give each page that has pages below it a hidden table of contents."""
    app.connect("source-read", add_contents)
    return {"parallel_read_safe": True}


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Append the pages below a page to it: one list for each group of the front page, one list for any other page."""
    front = Path(app.srcdir, f"{app.config.root_doc}.md").read_text(encoding="utf-8")
    groups = {title: ITEM.findall(items) for title, items in GROUP.findall(front)}
    if name == app.config.root_doc:
        tops = {title: [page for indent, page in items if not indent] for title, items in groups.items()}
        source[0] += "".join(_contents(pages, title) for title, pages in tops.items())
    else:
        source[0] += _contents(_below(posixpath.relpath(name, posixpath.dirname(app.config.root_doc)), groups))


def _below(page: str, groups: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Return the indented items that follow the item of a page."""
    pages: list[str] = []
    for items in groups.values():
        parent = ""
        for indent, each in items:
            parent = parent if indent else each
            pages += [each] if indent and posixpath.splitext(parent)[0] == page else []
    return pages


def _contents(pages: list[str], title: str = "") -> str:
    caption = [f":caption: {title}"] if title else []
    return "\n".join(["", "```{toctree}", ":hidden:", *caption, "", *pages, "```", ""]) if pages else ""
