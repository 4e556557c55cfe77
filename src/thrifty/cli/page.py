"""What pages share: one style, pictures inside the page, and cells in which no character has a meaning.

A page needs nothing but itself: nothing is fetched when it is opened.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from io import BytesIO
from pathlib import Path
from string import Template
from typing import Any

DOTS_PER_INCH = 160
STYLE = Path(__file__).with_name("page.css")


def fill(template: Path, *, prose: Mapping[str, str], parts: Mapping[str, str]) -> str:
    """Fill a page with text, which is escaped, and with parts that are HTML already."""
    page, style = (each.read_text(encoding="utf-8") for each in (template, STYLE))
    return Template(page).substitute({name: escape(text) for name, text in prose.items()}, style=style, **parts)


def table_row(cells: Iterable[str], attributes: str = "") -> str:
    """Write a row of a table.

    >>> table_row(["a < b", "4"])
    '<tr><td>a &lt; b</td><td>4</td></tr>'
    """
    return f"<tr{attributes}>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def tiles(contents: Iterable[tuple[str, str]]) -> str:
    """Write large numbers, each over what it means."""
    return "".join(f'<div class="tile"><b>{escape(big)}</b>{escape(small)}</div>' for big, small in contents)


def png(display: Any) -> bytes:
    """Return a drawn display as the bytes of a PNG file."""
    file = BytesIO()
    display.figure_.savefig(file, format="png", dpi=DOTS_PER_INCH, facecolor="white")
    return file.getvalue()


def embedded(picture: bytes) -> str:
    """Return the address of a picture that is inside the page."""
    return "data:image/png;base64," + b64encode(picture).decode()
