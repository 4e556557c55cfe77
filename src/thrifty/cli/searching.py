"""The search that ``thrifty fit`` and ``thrifty frontier`` have in common, and the options that steer it."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Target = Annotated[str | None, typer.Option(help="The column to predict.")]
Costs = Annotated[Path | None, typer.Option(help="A price list; without one every column costs 1.")]
Budget = Annotated[float | None, typer.Option(help="Bound on the mean spend of a row.")]
Cap = Annotated[float | None, typer.Option(help="Hard limit on the spend of each row.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="A method to try, such as astc; all by default.")]
Qid = Annotated[str | None, typer.Option(help="The column that tells queries apart, for ranking.")]
Scoring = Annotated[str | None, typer.Option(help="What is best: a scikit-learn scorer such as roc_auc, or ndcg@k.")]
Folds = Annotated[int, typer.Option("--cv", help="Folds of the cross-validation.")]
Confidence = Annotated[float, typer.Option(help="Of the bound on the mean spend.")]
Jobs = Annotated[int | None, typer.Option(help="Fits at a time; -1 for as many as there are cores.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out, such as an identifier.")]
Task = Annotated[str | None, typer.Option(help="classification, regression or ranking, where it is in doubt.")]
Seed = Annotated[int, typer.Option(help="Decides the folds, and what is random in the methods.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def search(
    data: Path,
    *,
    target: str | None,
    costs: Path | None,
    methods: list[str] | None,
    qid: str | None,
    drop: list[str] | None,
    task: str | None,
    **options: Any,
) -> Any:
    """Read a table and run a search on it; warnings come out as notes."""
    if target is None:
        raise ValueError(f"--target is missing. Name the column of {data} to predict.")
    from thrifty.cli.tables.training import read_training_table
    from thrifty.cli.terminal import warnings_as_notes
    from thrifty.costs import CostModel
    from thrifty.tuning.budget_search import BudgetSearchCV

    prices = None if costs is None else CostModel.from_file(costs)
    task = "ranking" if task is None and qid is not None else task
    table = read_training_table(data, target=target, qid=qid, drop=drop or [], task=task)
    with warnings_as_notes():
        return BudgetSearchCV(methods or None, costs=prices, task=task, verbose=sys.stderr.isatty(), **options).fit(
            table.X, table.y, qid=table.qid
        )
