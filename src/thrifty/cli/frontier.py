"""``thrifty frontier``: what spending buys, as a table, a picture or a page."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli import searching

MODEL_SUFFIX = ".thrifty"


def frontier(
    source: Annotated[Path, typer.Argument(help="A model file, or a table to search without saving a model.")],
    target: searching.Target = None,
    costs: searching.Costs = None,
    budget: searching.Budget = None,
    cap: searching.Cap = None,
    method: searching.Methods = None,
    qid: searching.Qid = None,
    scoring: searching.Scoring = None,
    cv: searching.Folds = 5,
    confidence: searching.Confidence = 0.95,
    jobs: searching.Jobs = None,
    drop: searching.Drop = None,
    task: searching.Task = None,
    seed: searching.Seed = 0,
    png: Annotated[Path | None, typer.Option(help="Also draw it, to this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also put it on a page that needs nothing else.")] = None,
    json: searching.Json = False,
) -> None:
    """See what spending buys: of a model file, all that its search measured; of a table, a new search."""
    from thrifty.cli.files import refuse_unwritable
    from thrifty.cli.frontiers import Frontier, print_frontier, print_record
    from thrifty.cli.terminal import console

    for place in (png, html):
        if place is not None:
            refuse_unwritable(place)
    if source.suffix.lower() == MODEL_SUFFIX:
        found = Frontier.of_model(source)
    else:
        found = Frontier.of_search(
            searching.search(
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
        )
    _write_pictures(found, source.name, png, html)
    if json:
        print_record(found)
    else:
        print_frontier(console(), found)


def _write_pictures(found: Any, title: str, png: Path | None, html: Path | None) -> None:
    os.environ["MPLBACKEND"] = "agg"  # pictures go to files, so no window system is needed
    from thrifty.cli.frontiers import compose, draw
    from thrifty.replacing import replacing

    if png is not None:
        with replacing(png) as unfinished:
            unfinished.write_bytes(draw(found))
    if html is not None:
        with replacing(html) as unfinished:
            unfinished.write_text(compose(found, title), encoding="utf-8")
