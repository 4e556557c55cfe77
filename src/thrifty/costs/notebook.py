"""HTML of small objects, as notebooks show them: a title, facts, and a table of limited length."""

from collections.abc import Iterable, Sequence
from html import escape

MAX_ROWS = 30


def described(title: str, sentence: str, *parts: str) -> str:
    """Return a title with a sentence, and further parts, which are HTML already."""
    return f"<div><strong>{escape(title)}</strong>: {escape(sentence)}{''.join(parts)}</div>"


def table(head: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> str:
    """Return a table; if it is long, its first rows and the number of the others.

    >>> table(["name"], [["a < b"]])
    '<table><tr><th>name</th></tr><tr><td>a &lt; b</td></tr></table>'
    """
    lines = list(rows)
    shown = [*([("th", head)] if head else []), *(("td", line) for line in lines[:MAX_ROWS])]
    cells = ["".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line) for tag, line in shown]
    rest = f"<p>{len(lines) - MAX_ROWS:,} more are not listed.</p>" if len(lines) > MAX_ROWS else ""
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>{rest}"
