"""The report as one HTML file, which fetches nothing when it is opened."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from string import Template
from typing import Any

from thrifty.bench.claims import Verdict
from thrifty.bench.contenders import CONTENDERS
from thrifty.bench.flagship_verdict import all_standings, ranking_of
from thrifty.bench.reports.race_figures import describe_ranks, rank_figure
from thrifty.bench.reports.race_tables import rank_rows
from thrifty.bench.reports.verdicts import verdicts_of
from thrifty.bench.results import Results
from thrifty.bench.suite import Part

FOLDER = Path(__file__).parent


def write_page(path: Path, parts: Sequence[Part], results: Results) -> None:
    """Write the report of some parts."""
    sections = {
        "style": (FOLDER / "page.css").read_text(encoding="utf-8"),
        "verdicts": _verdicts(parts, results),
        "ranks": _ranks(parts, results),
        "contents": _contents(parts, results),
        "figures": "".join(_section(part, results) for part in parts),
        "contenders": table(("name", "method"), _names(), "Contenders"),
        "missing": _missing(results),
        "made": _made(results),
    }
    page = Template((FOLDER / "page.html").read_text(encoding="utf-8")).substitute(sections)
    path.write_text(page, encoding="utf-8")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table that scrolls sideways if it is wider than the window; cells are escaped."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def picture(figure: Any, description: str) -> str:
    """Return a Matplotlib figure as an embedded picture with alternative text."""
    file = BytesIO()
    figure.savefig(file, format="svg", bbox_inches="tight")
    source = "data:image/svg+xml;base64," + b64encode(file.getvalue()).decode()
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="figure">'
        f'<img src="{source}" alt="{escape(description)}"></div>'
    )


def _names() -> list[tuple[str, str]]:
    return [(contender.name, contender.title) for contender in CONTENDERS.values()]


def _verdicts(parts: Sequence[Part], results: Results) -> str:
    return "".join(_claim(name, verdict) for name, verdict in verdicts_of(parts, results)) or "<p>No claims.</p>"


def _claim(name: str, verdict: Verdict) -> str:
    """Return a claim with its source, its verdict, and what was found."""
    source = f"{verdict.claim.paper}, {verdict.claim.where}"
    kind = verdict.outcome.replace(" ", "-")
    return (
        f'<article><h3>{escape(name)}: <span class="{kind}">{verdict.outcome}</span></h3>'
        f"<p>{escape(verdict.sentence)}</p>"
        f"<p><small>{escape(source)}: {escape(verdict.claim.text)}</small></p></article>"
    )


def _ranks(parts: Sequence[Part], results: Results) -> str:
    ranking = ranking_of(all_standings(results)) if any(part.is_problem for part in parts) else None
    if ranking is None:
        return ""
    ranks = table(("contender", "mean", *ranking.problems), rank_rows(ranking), "Mean ranks, and ranks by problem")
    shown = picture(rank_figure(ranking), describe_ranks(ranking))
    return f'<section id="ranks"><h2>Mean ranks</h2>{shown}{ranks}</section>'


def _contents(parts: Sequence[Part], results: Results) -> str:
    links = [
        f'<li><a href="#{escape(part.name)}">{escape(part.title)}</a></li>' for part in parts if _has(part, results)
    ]
    return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'


def _has(part: Part, results: Results) -> bool:
    return bool(results.of(part.name))


def _section(part: Part, results: Results) -> str:
    if not _has(part, results):
        return ""
    description, figure = part.describe(results), part.figure(results)
    shown = picture(figure, description) if figure is not None else ""
    figures = "".join(table(each.header, each.rows, each.caption) for each in part.tables(results))
    return (
        f'<section id="{escape(part.name)}"><h2>{escape(part.title)}</h2>{shown}'
        f"<p>{escape(description)}</p>{figures}</section>"
    )


def _missing(results: Results) -> str:
    """Return what was left out: each reason once, with the names of the runs."""
    reasons = {why: {f"{key.name} {key.setting}" for key in keys} for why, keys in results.reasons().items()}
    if not reasons:
        return "<p>Nothing was left out.</p>"
    lines = [f"<li>{escape(why)} ({escape(', '.join(sorted(runs)))})</li>" for why, runs in reasons.items()]
    return f"<ul>{''.join(lines)}</ul>"


def _made(results: Results) -> str:
    """Return the versions and machines of the results."""
    made = {(tuple(each.versions.items()), tuple(each.machine.items())) for each in results}
    lines = [", ".join(f"{name} {value}" for name, value in (*versions, *machine)) for versions, machine in made]
    return "".join(f"<li>{escape(line)}</li>" for line in sorted(lines))
