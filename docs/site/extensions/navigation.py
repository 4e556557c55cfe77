"""The navigation is the table of contents in docs/index.md: one group for each heading, one entry for each link."""

import re
from typing import Any

from sphinx.application import Sphinx

GROUP = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", flags=re.DOTALL | re.MULTILINE)
ENTRY = re.compile(r"^- \[[^]]+\]\(([^)#]+)\)", flags=re.MULTILINE)


def setup(app: Sphinx) -> dict[str, Any]:
    """Read the front page of the documentation together with its navigation."""
    app.connect("source-read", add_navigation)
    return {"parallel_read_safe": True}


def add_navigation(app: Sphinx, name: str, source: list[str]) -> None:
    """Append a hidden table of contents for each group of links on the front page."""
    if name == app.config.root_doc:
        source[0] += "".join(_contents(title, ENTRY.findall(entries)) for title, entries in GROUP.findall(source[0]))


def _contents(title: str, pages: list[str]) -> str:
    lines = ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""]
    return "\n".join(lines)
