"""The points of a search as a picture and as an HTML page.

chart.py      the points as SVG
command.py    the ``thrifty fit`` command that fits a point
page.html     the template, with page.css and page.js; the page fetches nothing and has a strict security policy
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from thrifty import __version__
from thrifty.cli.frontier_page.chart import NARROW, WIDE, draw, legend
from thrifty.cli.frontier_page.command import fit_command
from thrifty.cli.page import STYLE, fill_template, large_numbers, png_bytes, table_row
from thrifty.cli.search_report import SearchReport, settings_text
from thrifty.costs.amounts import amount
from thrifty.metrics.curves import score_name
from thrifty.tuning.comparisons import is_complete, succeeded

TEMPLATE, SCRIPT, LOOKS = (Path(__file__).with_name(f"page.{suffix}") for suffix in ("html", "js", "css"))


def draw_frontier(report: SearchReport) -> bytes:
    """Return a cost curve of all points that did not fail, as PNG."""
    import pandas as pd

    from thrifty.models.promise import Promise
    from thrifty.plots import CostCurveDisplay

    search = SimpleNamespace(
        frontier_=pd.DataFrame(succeeded(report.points)),
        anchors_=None if report.anchors is None else pd.DataFrame.from_dict(report.anchors, orient="index"),
        cost_model_=SimpleNamespace(unit=report.unit),
        scoring_=report.scoring,
        budget=report.budget,
    )
    if report.promise is not None:
        search.promise_ = Promise(**report.promise)
    return png_bytes(CostCurveDisplay.from_search(search))


def frontier_page(report: SearchReport, title: str, options: Mapping[str, Any]) -> str:
    """Return an HTML page with an interactive picture, the table and the sentences of a report.

    Parameters
    ----------
    report : SearchReport
    title : str
    options : dict
        What is known about the table, for the commands; see `fit_command`.
    """
    points = sorted(succeeded(report.points), key=lambda point: (point["spend"], point["score"]))
    unit = f" ({report.unit})" if report.unit else ""
    style, script = "".join(each.read_text(encoding="utf-8") for each in (STYLE, LOOKS)), SCRIPT.read_text("utf-8")
    rows = [(report.cells(point), report.is_chosen(point)) for point in report.best_points()]
    parts = {
        "large_numbers": large_numbers(_large_numbers(report)),
        "sentences": "".join(f"<p>{escape(sentence)}</p>" for sentence in report.sentences()),
        "rows": "\n".join(table_row(cells, best=chosen) for cells, chosen in rows),
        "wide": draw(report, points, WIDE),
        "narrow": draw(report, points, NARROW),
        "legend": legend(points),
        "points": _as_data([_told(report, point, options) for point in points]),
        "script": script,
        "style": style,
        "script_hash": _hash(script),
        "style_hash": _hash(style),
    }
    texts = {"title": title, "scoring": score_name(report.scoring), "unit": unit, "version": __version__}
    return fill_template(TEMPLATE, texts=texts, parts=parts)


def _told(report: SearchReport, point: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, str]:
    """Return what the page tells about a point."""
    confidence = 100 * (report.promise["confidence"] if report.promise else options.get("confidence") or 0.95)
    spend, score = f"{amount(point['spend'], report.unit)} a row on average", f"{point['score']:.3f}"
    if is_complete(point):
        spend += f"; with {confidence:g}% confidence below {amount(point['spend_bound'], report.unit)}"
        score += f" ± {point['score_error']:.3f} (standard error)"
    states = [
        "chosen" if report.is_chosen(point) else "",
        "another point scores at least as much and spends no more" if is_complete(point) and point["dominated"] else "",
        "" if is_complete(point) else "not measured on all folds",
        point.get("note") or "",
    ]
    return {
        "method": point["method"],
        "settings": settings_text(point["parameters"]),
        "spend": spend,
        "score": f"{score_name(report.scoring)} {score}",
        "state": "; ".join(filter(None, states)),
        "command": fit_command(point, options),
    }


def _as_data(value: Any) -> str:
    """Return a value as JSON that can stand inside a script element."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _hash(content: str) -> str:
    """Return the hash of an inline script or style, as a security policy names it."""
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _large_numbers(report: SearchReport) -> list[tuple[str, str]]:
    if (promise := report.promise) is None:
        return []
    return [
        (amount(promise["spend"], report.unit), "a row on average, on held-out rows"),
        (f"{promise['score']:.3f}", f"{score_name(report.scoring)}, on held-out rows"),
    ]
