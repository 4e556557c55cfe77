"""Parts that all HTML pages share: the style sheet, tables, large numbers and embedded pictures.

A page is one file. It fetches nothing when it is opened.
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


def fill_template(template: Path, *, texts: Mapping[str, str], parts: Mapping[str, str]) -> str:
    """Return a page filled with texts, which are escaped, and with parts, which are HTML already."""
    page, style = (each.read_text(encoding="utf-8") for each in (template, STYLE))
    return Template(page).substitute(
        {name: escape(text) for name, text in texts.items()} | {"style": style} | dict(parts)
    )


def table_row(cells: Iterable[str], *, best: bool = False) -> str:
    """Return a row of a table; the best row is highlighted.

    >>> table_row(["a < b", "4"])
    '<tr><td>a &lt; b</td><td>4</td></tr>'
    """
    start = '<tr class="best">' if best else "<tr>"
    return start + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def large_numbers(numbers: Iterable[tuple[str, str]]) -> str:
    """Return boxes with a large number and its meaning below it."""
    return "".join(f'<div class="tile"><b>{escape(big)}</b>{escape(small)}</div>' for big, small in numbers)


def png_bytes(display: Any) -> bytes:
    """Return a plotted display as PNG."""
    file = BytesIO()
    display.figure_.savefig(file, format="png", dpi=DOTS_PER_INCH, facecolor="white")
    return file.getvalue()


def embedded_picture(picture: bytes) -> str:
    """Return a PNG picture as a data URL."""
    return "data:image/png;base64," + b64encode(picture).decode()
