"""The points of a search as a picture and as an HTML page."""

from html import escape
from pathlib import Path
from types import SimpleNamespace

from thrifty import __version__
from thrifty.cli.page import embedded_picture, fill_template, large_numbers, png_bytes, table_row
from thrifty.cli.search_report import SearchReport
from thrifty.costs.amounts import amount
from thrifty.metrics.curves import score_name

TEMPLATE = Path(__file__).with_name("frontier.html")


def draw_frontier(report: SearchReport) -> bytes:
    """Return a cost curve of all points that did not fail, as PNG."""
    import pandas as pd

    from thrifty.models.promise import Promise
    from thrifty.plots import CostCurveDisplay

    search = SimpleNamespace(
        frontier_=pd.DataFrame([point for point in report.points if not point["error"]]),
        cost_model_=SimpleNamespace(unit=report.unit),
        scoring_=report.scoring,
        budget=report.budget,
        promise_=report.promise and Promise(**report.promise),
    )
    return png_bytes(CostCurveDisplay.from_search(search))


def frontier_page(report: SearchReport, title: str) -> str:
    """Return an HTML page with the picture, the table and the sentences of a report."""
    unit = f" ({report.unit})" if report.unit else ""
    texts = {"title": title, "scoring": score_name(report.scoring), "unit": unit, "version": __version__}
    rows = [(report.cells(point), report.is_chosen(point)) for point in report.best_points()]
    parts = {
        "large_numbers": large_numbers(_large_numbers(report)),
        "sentences": "".join(f"<p>{escape(sentence)}</p>" for sentence in report.sentences()),
        "rows": "\n".join(table_row(cells, best=chosen) for cells, chosen in rows),
        "picture": embedded_picture(draw_frontier(report)),
    }
    return fill_template(TEMPLATE, texts=texts, parts=parts)


def _large_numbers(report: SearchReport) -> list[tuple[str, str]]:
    if (promise := report.promise) is None:
        return []
    return [
        (amount(promise["spend"], report.unit), "a row on average, on held-out rows"),
        (f"{promise['score']:.3f}", f"{score_name(report.scoring)}, on held-out rows"),
    ]
