"""The search behind ``thrifty fit`` and ``thrifty frontier``: its options, and the rows that it learns from."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from thrifty.models.rows import Rows

# thrifty.tuning.METHODS has the same names, but importing it would slow down every command.
METHOD_NAMES = (
    "l1, astc, cstc, cscc, cronus, and-or, greedy-miser, adaboost-rs, early-exit, dynamic, static, attentive, truncated"
)
METHOD_HELP = f"A method to try; repeat it for several. By default all that fit the task. One of: {METHOD_NAMES}."
DECIMAL_COMMA = r"[-+]?\d+,\d+"
LARGEST_WHOLE = 2**53  # larger floats are whole numbers too, but not all whole numbers are floats

Target = Annotated[str | None, typer.Option(help="The column to predict.")]
Costs = Annotated[Path | None, typer.Option(help="A price list; without one every column costs 1.")]
Budget = Annotated[float | None, typer.Option(help="Upper bound on the mean spend per row.")]
Cap = Annotated[float | None, typer.Option(help="Hard limit on the spend of each row.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help=METHOD_HELP)]
Qid = Annotated[str | None, typer.Option(help="The column with the query of each row, for ranking.")]
Scoring = Annotated[
    str | None, typer.Option(help="The score to maximize: a scikit-learn scorer such as roc_auc, or ndcg@k.")
]
Folds = Annotated[int, typer.Option("--cv", help="Number of folds of the cross-validation.")]
Confidence = Annotated[float, typer.Option(help="Confidence of the bound on the mean spend.")]
Jobs = Annotated[int | None, typer.Option(help="Number of fits at a time; -1 means one per core.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out, such as an identifier.")]
Task = Annotated[
    str | None, typer.Option(help="classification, regression or ranking; by default it is inferred from the target.")
]
Seed = Annotated[int, typer.Option(help="Random state of the folds and of the methods.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def run_search(
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
    """Return a `BudgetSearchCV` fitted to a table; print warnings as notes."""
    if target is None:
        raise ValueError(f"--target is missing. Name the column of {data} to predict.")
    from thrifty.cli.terminal import warnings_as_notes
    from thrifty.costs import CostModel
    from thrifty.tuning.budget_search import BudgetSearchCV

    prices = None if costs is None else CostModel.from_file(costs)
    task = "ranking" if task is None and qid is not None else task
    rows = read_training_rows(data, target, qid, drop or [], task)
    search = BudgetSearchCV(methods or None, costs=prices, task=task, verbose=sys.stderr.isatty(), **options)
    with warnings_as_notes():
        return search.fit(rows.X, rows.y, qid=rows.qid)


def read_training_rows(path: Path, target: str, qid: str | None, drop: Sequence[str], task: str | None) -> "Rows":
    """Read a table and separate features, targets and queries; leave out rows without a target."""
    from thrifty.cli.tables.table_file import open_table, refuse_missing_queries
    from thrifty.models.rows import Rows

    with open_table(path) as table:
        table.refuse_unknown(target=target, qid=qid, drop=drop)
        frame = _rows_with_target(table.read(), target, table.place)
        others = {target, *drop} | ({qid} if qid else set())
        if qid:
            refuse_missing_queries(frame[qid], table.place)
        if len(others) == len(table.names):
            raise ValueError(f"{table.place}: no column is left apart from the target. Pass a table with features.")
        _refuse_decimal_commas(frame.drop(columns=list(drop)), table.place)
    y = _typed_targets(frame[target], task)
    return Rows(frame.drop(columns=list(others)), y, qid=frame[qid].to_numpy() if qid else None)


def _rows_with_target(frame: Any, target: str, place: str) -> Any:
    from thrifty.cli.terminal import note

    known = frame[frame[target].notna()]
    if not len(known):
        raise ValueError(f"{place}: no row has a value in {target!r}. Pass rows to learn from.")
    if n_left_out := len(frame) - len(known):
        note(f"{n_left_out} of {len(frame)} rows have no {target!r} and are left out.")
    return known


def _refuse_decimal_commas(frame: Any, place: str) -> None:
    """Raise ValueError about numbers such as 1,5, which would be read as text."""
    for name in frame.select_dtypes(exclude=["number", "bool", "datetime"]):
        texts = frame[name].dropna().astype(str)
        if len(texts) and re.fullmatch(DECIMAL_COMMA, texts.iloc[0]) and texts.str.fullmatch(DECIMAL_COMMA).all():
            raise ValueError(
                f"{place}: column {name!r} has decimal commas, as in {texts.iloc[0]!r}. Write decimal points."
            )


def _typed_targets(column: Any, task: str | None) -> Any:
    """Return the targets as an array of one type; whole numbers that pandas read as floats become integers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    values = column.to_numpy()
    if is_bool_dtype(column) or isinstance(values[0], bool):
        return values.astype(bool)
    if task in ("regression", "ranking"):
        if not is_numeric_dtype(column):
            raise ValueError(f"--target is {column.name!r}, which is text such as {values[0]!r}; {task} needs numbers.")
        return values.astype(float)
    if not is_numeric_dtype(column):
        return values.astype(str)
    if values.dtype.kind in "iu":
        return values
    if ((values == values.round()) & (abs(values) <= LARGEST_WHOLE)).all():
        return values.astype(int)
    return values.astype(str if task == "classification" else float)
