"""``thrifty frontier``: the scores that a search reaches for each spend, as a table, a picture or a page."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli import search
from thrifty.cli.keys import KeyFile, read_key

MODEL_SUFFIX = ".thrifty"


def frontier(
    source: Annotated[Path, typer.Argument(help="A model file, or a table to search without saving a model.")],
    target: search.Target = None,
    costs: search.Costs = None,
    budget: search.Budget = None,
    cap: search.Cap = None,
    method: search.Methods = None,
    qid: search.Qid = None,
    scoring: search.Scoring = None,
    cv: search.Folds = 5,
    confidence: search.Confidence = 0.95,
    jobs: search.Jobs = None,
    drop: search.Drop = None,
    task: search.Task = None,
    seed: search.Seed = 0,
    png: Annotated[Path | None, typer.Option(help="Also write a picture to this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a self-contained HTML page to this file.")] = None,
    key_file: KeyFile = None,
    json: search.Json = False,
) -> None:
    """Show which score a search reaches for which spend: the search of a model file, or a new one on a table."""
    from thrifty.cli.output_files import refuse_unwritable
    from thrifty.cli.search_report import SearchReport

    for path in (png, html):
        if path is not None:
            refuse_unwritable(path)
    if source.suffix.lower() == MODEL_SUFFIX:
        report = SearchReport.of_model_file(source, read_key(key_file))
    else:
        found = search.run_search(
            source,
            target=target,
            costs=costs,
            methods=method,
            qid=qid,
            drop=drop,
            task=task,
            budget=budget,
            cap=cap,
            scoring=scoring,
            cv=cv,
            confidence=confidence,
            n_jobs=jobs,
            random_state=seed,
            refit=False,
        )
        report = SearchReport.of_search(found)
    _write_pictures(report, source.name, png, html)
    if json:
        report.print_json()
    else:
        report.print()


def _write_pictures(report: Any, title: str, png: Path | None, html: Path | None) -> None:
    os.environ["MPLBACKEND"] = "agg"  # draw without a window system
    from thrifty.cli.frontier_page import draw_frontier, frontier_page
    from thrifty.replacing import replacing

    if png is not None:
        with replacing(png) as unfinished:
            unfinished.write_bytes(draw_frontier(report))
    if html is not None:
        with replacing(html) as unfinished:
            unfinished.write_text(frontier_page(report, title), encoding="utf-8")
