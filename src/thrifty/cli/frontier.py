"""``thrifty frontier``: the scores that a search reaches for each spend, as a table, a picture or a page."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli import search
from thrifty.cli.case_costs import ClassWeight, ErrorCostsFile
from thrifty.cli.keys import KeyFile, read_key

MODEL_SUFFIX = ".thrifty"
PNG, HTML = (".png",), (".html", ".htm")
FOR_BOTH = ("context", "source", "png", "html", "key_file", "json")  # arguments that a model file takes too


def frontier(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="A model file, or a table to search without saving a model.")],
    target: search.Target = None,
    costs: search.Costs = None,
    budget: search.Budget = None,
    cap: search.Cap = None,
    method: search.Methods = None,
    qid: search.Qid = None,
    scoring: search.Scoring = None,
    error_costs: ErrorCostsFile = None,
    class_weight: ClassWeight = None,
    cv: search.Folds = 5,
    confidence: search.Confidence = 0.95,
    group: search.Group = None,
    time_limit: search.TimeLimit = None,
    keep_best: search.KeepBest = False,
    mix: search.Mix = False,
    jobs: search.Jobs = None,
    drop: search.Drop = None,
    task: search.Task = None,
    seed: search.Seed = 0,
    numeric: search.Numeric = None,
    category: search.Category = None,
    strict: search.Strict = False,
    png: Annotated[Path | None, typer.Option(help="Also write a picture to this file: .png.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a self-contained page to this file: .html.")] = None,
    key_file: KeyFile = None,
    json: search.Json = False,
) -> None:
    """Show which score a search reaches for which spend: the search of a model file, or a new one on a table."""
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.search_report import SearchReport

    for option, path, formats in (("--png", png, PNG), ("--html", html, HTML)):
        if path is not None:
            refuse_output(option, path, formats=formats, inputs=(source, costs, error_costs))
    if source.suffix.lower() == MODEL_SUFFIX:
        _refuse_options_of_a_search(context)
        report = SearchReport.of_model_file(source, read_key(key_file))
        options = options_of_model_file(report)
    else:
        found = search.run_search(
            source,
            target=target,
            costs=costs,
            methods=method,
            qid=qid,
            drop=drop,
            task=task,
            numeric=numeric,
            category=category,
            strict=strict,
            budget=budget,
            cap=cap,
            scoring=scoring,
            error_costs=error_costs,
            class_weight=class_weight,
            cv=cv,
            confidence=confidence,
            group=group,
            time_limit=time_limit,
            keep_best=keep_best,
            mix=mix,
            n_jobs=jobs,
            random_state=seed,
            refit=False,
        )
        report = SearchReport.of_search(found.search)
        options = options_of_table(context, source)
    _write_pictures(report, source.name, options, png, html)
    if json:
        report.print_json()
    else:
        report.print()


def _refuse_options_of_a_search(context: typer.Context) -> None:
    """Raise ValueError if an option was given that only a new search uses."""
    for name in context.params:
        if name not in FOR_BOTH and _is_typed(context, name):
            raise ValueError(
                f"--{name.replace('_', '-')} is for a new search, but a model file shows the search that it comes "
                "from. Leave the option out, or pass a table."
            )


def options_of_table(context: typer.Context, table: Path) -> dict[str, Any]:
    """Return the options of a search that were typed, as ``thrifty fit`` takes them."""
    typed = [name for name in context.params if name not in FOR_BOTH and _is_typed(context, name)]
    names = [name for name in typed if name not in ("budget", "method")]  # a point has its own
    return {"table": table} | {name: context.params[name] for name in names}


def options_of_model_file(report: Any) -> dict[str, Any]:
    """Return the options that a model file tells; capital letters stand for names of files, which it does not tell."""
    from thrifty.cli.frontier_page.command import COSTS, ERROR_COSTS, TABLE, TARGET
    from thrifty.metrics.scoring import TOTAL_COST

    promise = report.promise
    options = {"table": TABLE, "target": report.target or TARGET, "costs": COSTS, "cap": promise["cap"]}
    if promise["scoring"] == TOTAL_COST:
        options["error-costs"] = ERROR_COSTS
    return options | {"scoring": promise["scoring"], "confidence": promise["confidence"]}


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _write_pictures(report: Any, title: str, options: dict[str, Any], png: Path | None, html: Path | None) -> None:
    os.environ["MPLBACKEND"] = "agg"  # draw without a window system
    from thrifty.cli.frontier_page import draw_frontier, frontier_page
    from thrifty.replacing import replacing

    if png is not None:
        with replacing(png) as unfinished:
            unfinished.write_bytes(draw_frontier(report))
    if html is not None:
        with replacing(html) as unfinished:
            unfinished.write_text(frontier_page(report, title, options), encoding="utf-8")
