"""``thrifty fit``: from a table and a price list to a model file that meets a budget."""

from pathlib import Path
from typing import Annotated

import typer

from thrifty.cli import searching


def fit(
    data: Annotated[Path, typer.Argument(help="Rows to learn from: .csv, .tsv, .parquet, or - for standard input.")],
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
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The model file; by default named like the table.")
    ] = None,
    json: searching.Json = False,
) -> None:
    """Find the best model within a budget, say what it promises, and save it."""
    from thrifty.cli.files import refuse_unwritable
    from thrifty.cli.frontiers import Frontier, print_frontier, print_record
    from thrifty.cli.terminal import console
    from thrifty.persistence import save

    place = output or model_name(data)
    refuse_unwritable(place)
    found = searching.search(
        data,
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
    )
    save(found, place)
    frontier = Frontier.of_search(found)
    if json:
        print_record(frontier, model=str(place))
    else:
        out = console()
        print_frontier(out, frontier)
        out.print(f"Saved as {place}.", soft_wrap=True)


def model_name(data: Path) -> Path:
    """Return what the model of a table is called.

    >>> model_name(Path("heart.csv.gz")).name, model_name(Path("-")).name
    ('heart.thrifty', 'model.thrifty')
    """
    stem = "model" if str(data) == "-" else data.name.removesuffix(".gz")
    return Path(stem).with_suffix(".thrifty")
