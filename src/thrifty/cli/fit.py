"""``thrifty fit``: from a table and a price list to a model file that meets a budget."""

from pathlib import Path
from typing import Annotated

import typer

from thrifty.cli import search
from thrifty.cli.case_costs import ClassWeight, ErrorCostsFile
from thrifty.cli.clusters import Scheduler
from thrifty.cli.keys import KeyFile, read_key

ROWS_HELP = "Rows to learn from: .csv, .tsv, .parquet, a folder of .parquet, or - for standard input."


def fit(
    data: Annotated[
        Path,
        typer.Argument(help=ROWS_HELP),
    ],
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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The model file; by default it is named after the table.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the model file if it exists.")] = False,
    scheduler: Scheduler = None,
    key_file: KeyFile = None,
    json: search.Json = False,
) -> None:
    """Find the best model within a budget, print what it promises, and save it."""
    from thrifty.cli import column_notes
    from thrifty.cli.case_costs import as_record, print_case_costs
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.search_report import SearchReport
    from thrifty.cli.terminal import console
    from thrifty.persistence import save

    key = read_key(key_file)
    path = output or default_model_path(data)
    if str(path) == "-":
        raise ValueError("--output is '-', but a model cannot be written to standard output. Pass the name of a file.")
    refuse_output("--output", path, inputs=(data, costs, error_costs), force=force)
    found = search.run_search(
        data,
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
        scheduler=scheduler,
    )
    save(found.search, path, key=key, target=target)
    report, told = SearchReport.of_search(found.search), found.case_costs
    if json:
        columns = column_notes.as_records(found.columns, found.row_numbers)
        report.print_json(model=str(path), columns=columns, case_costs=as_record(told))
    else:
        for line in column_notes.summary(found.columns):
            console().print(line)
        report.print()
        if told:
            print_case_costs(told, report.unit)
        console().print(f"Saved as {path}.", soft_wrap=True)


def default_model_path(data: Path) -> Path:
    """Return the name of the model file for a table.

    >>> default_model_path(Path("heart.csv.gz")).name, default_model_path(Path("-")).name
    ('heart.thrifty', 'model.thrifty')
    """
    stem = "model" if str(data) == "-" else data.name.removesuffix(".gz")
    return Path(stem).with_suffix(".thrifty")
