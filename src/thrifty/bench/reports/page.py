"""The report as one HTML file, which fetches nothing when it is opened."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from string import Template
from typing import Any

from thrifty.bench.reports.verdicts import verdicts_of
from thrifty.bench.results import Results
from thrifty.bench.suite import Part

FOLDER = Path(__file__).parent


def write_page(path: Path, parts: Sequence[Part], results: Results) -> None:
    """Write the report of some parts."""
    sections = {
        "style": (FOLDER / "page.css").read_text(encoding="utf-8"),
        "verdicts": _verdict_table(parts, results),
        "figures": "".join(_section(part, results) for part in parts),
        "made": _made(results),
    }
    page = Template((FOLDER / "page.html").read_text(encoding="utf-8")).substitute(sections)
    path.write_text(page, encoding="utf-8")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table that scrolls sideways if it is wider than the window; cells are escaped."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption or "table")}">'
        f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def picture(figure: Any, description: str) -> str:
    """Return a Matplotlib figure as an embedded picture with alternative text."""
    file = BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight")
    source = "data:image/svg+xml;base64," + b64encode(file.getvalue()).decode()
    return f'<figure class="wide" tabindex="0"><img src="{source}" alt="{escape(description)}"></figure>'


def _verdict_table(parts: Sequence[Part], results: Results) -> str:
    rows = [
        (part.name, f"{verdict.claim.paper}, {verdict.claim.where}", verdict.claim.text, verdict.outcome,
         verdict.sentence)
        for part, verdict in verdicts_of(parts, results)
    ]  # fmt: skip
    return table(("", "source", "claim", "verdict", "what was found"), rows, "Claims") if rows else "<p>No claims.</p>"


def _section(part: Part, results: Results) -> str:
    figure = part.figure(results)
    if figure is None:
        return ""
    description = part.describe(results)
    return (
        f'<section id="{escape(part.name)}"><h2>{escape(part.title)}</h2>'
        f"{picture(figure, description)}<p>{escape(description)}</p></section>"
    )


def _made(results: Results) -> str:
    """Return the versions and machines of the results, and the number of their seeds."""
    made = {(tuple(each.versions.items()), tuple(each.machine.items())) for each in results}
    lines = [", ".join(f"{name} {value}" for name, value in (*versions, *machine)) for versions, machine in made]
    return "".join(f"<li>{escape(line)}</li>" for line in sorted(lines))
