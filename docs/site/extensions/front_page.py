"""The site opens at its top: index.html leads to the front page of the documentation."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>thrifty</title>
<meta http-equiv="refresh" content="0; url={page}"></head>
<body><a href="{page}">Documentation of thrifty</a></body></html>
"""


def setup(app: Sphinx) -> dict[str, Any]:
    """Write index.html at the end of the build."""
    app.connect("build-finished", lead_to_front_page)
    return {"parallel_read_safe": True}


def lead_to_front_page(app: Sphinx, error: Exception | None) -> None:
    """Write a page that sends a browser to the front page."""
    if error is None and app.builder.format == "html":
        page = app.builder.get_target_uri(app.config.root_doc)
        Path(app.outdir, "index.html").write_text(LEAD.format(page=page), encoding="utf-8")
