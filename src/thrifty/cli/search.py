"""The search behind ``thrifty fit`` and ``thrifty frontier``: its options, and the rows that it learns from."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thrifty.cli.case_costs import CaseCost, case_costs, read_error_costs, refuse_bad_class_weight
from thrifty.cli.clusters import NONE
from thrifty.cli.words import rows_counted_by

if TYPE_CHECKING:
    from thrifty.models.rows import Rows
    from thrifty.models.tables.column_reports import ColumnReport

# thrifty.tuning.METHODS has the same names, but importing it would slow down every command.
METHOD_NAMES = (
    "thrifty, l1, astc, cstc, cscc, cronus, and-or, greedy-miser, adaboost-rs, early-exit, dynamic, static, attentive, "
    "truncated"
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
Folds = Annotated[int, typer.Option("--cv", min=2, help="Number of folds of the cross-validation.")]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", help="Seconds that the search may take; it then keeps the best so far.")
]
KeepBest = Annotated[
    bool, typer.Option("--keep-best", help="Ctrl-C during the search ends it with the best so far, and saves that.")
]
Mix = Annotated[
    bool,
    typer.Option("--mix", help="Allow a mixture: some rows get a model that is too expensive for all rows."),
]
Group = Annotated[
    str | None, typer.Option(help="A column whose rows are held out together if equal, such as a patient; no feature.")
]
Confidence = Annotated[float, typer.Option(help="Confidence of the bound on the mean spend.")]
Jobs = Annotated[int | None, typer.Option(help="Number of fits at a time; -1 means one per core.")]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out, such as an identifier.")]
Task = Annotated[
    str | None, typer.Option(help="classification, regression or ranking; by default it is inferred from the target.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random state of the folds and of the methods.")]
Numeric = Annotated[
    list[str] | None, typer.Option(help="A column to take as numbers; its other values are treated as missing.")
]
Category = Annotated[list[str] | None, typer.Option(help="A column to take as a category, even if it has numbers.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse columns with odd cells, such as text among numbers.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Found:
    """A fitted search, what it took the columns for, and the numbers of its rows as people count them, if known."""

    search: Any
    columns: "list[ColumnReport]"
    row_numbers: Sequence[int | None]

    @property
    def case_costs(self) -> dict[str, CaseCost] | None:
        """What a case costs without the model and with it, if that is what the search minimised."""
        search = self.search
        return case_costs(search.scoring_, search.promise_.as_dict(), search.anchors_.to_dict("index"))


def run_search(
    data: Path,
    *,
    target: str | None,
    costs: Path | None,
    methods: list[str] | None,
    qid: str | None,
    drop: list[str] | None,
    task: str | None,
    numeric: list[str] | None,
    category: list[str] | None,
    strict: bool,
    group: str | None = None,
    error_costs: Path | None = None,
    class_weight: str | None = None,
    scheduler: str | None = None,
    **options: Any,
) -> Found:
    """Search for a model of a table; print warnings as notes. A folder may be on the workers of a Dask cluster."""
    if target is None:
        raise ValueError(f"--target is missing. Name the column of {data} to predict.")
    if options["n_jobs"] == 0:
        raise ValueError("--jobs is 0; expected a number of at least 1, or -1 for one per core.")
    refuse_bad_class_weight(class_weight)
    from thrifty.cli.cluster_search import refuse_unsupported, scheduler_of, search_on_cluster
    from thrifty.cli.column_notes import kinds_from

    kinds = kinds_from(numeric or [], category or [])
    if (where := scheduler_of(data, scheduler)) != NONE:
        refuse_unsupported(strict=strict)
        roles: dict[str, Any] = {"target": target, "qid": qid, "group": group, "drop": drop or [], "kinds": kinds}
        terms: dict[str, Any] = {
            "costs": costs,
            "task": task,
            "error_costs": error_costs,
            "class_weight": class_weight,
        }
        return search_on_cluster(data, where, methods, **roles, **terms, **options)
    from thrifty.cli.column_notes import settled
    from thrifty.cli.price_list import read_prices
    from thrifty.cli.terminal import warnings_as_notes
    from thrifty.tuning.budget_search import BudgetSearchCV

    task = "ranking" if task is None and qid is not None else task
    rows, groups = read_training_rows(data, target, qid, drop or [], task, kinds, group)
    prices = costs and read_prices(costs, list(rows.X), {target, qid, group, *(drop or [])}, str(data))
    errors = read_error_costs(error_costs, rows, task)
    row_numbers = (rows.X.index + 1).tolist()
    columns = learned_columns(rows.X, kinds, row_numbers, str(data), strict)
    search = BudgetSearchCV(
        methods or None,
        costs=prices,
        error_costs=errors,
        class_weight=class_weight,
        task=task,
        kinds=settled(kinds, columns),
        verbose=True,
        **options,
    )
    with warnings_as_notes():
        return Found(search.fit(rows.X, rows.y, qid=rows.qid, groups=groups), columns, row_numbers)


def learned_columns(
    frame: Any, kinds: Mapping[Any, str], row_numbers: Sequence[int], place: str, strict: bool
) -> "list[ColumnReport]":
    """Return what each column is taken for; print notes about odd cells, or refuse them."""
    from thrifty.cli.column_notes import STRICT, odd_columns, refuse_useless
    from thrifty.cli.terminal import note
    from thrifty.models.tables.encoder import TableEncoder

    with rows_counted_by(row_numbers.__getitem__, place):
        columns = TableEncoder(kinds=kinds).fit(frame).report_
    refuse_useless(columns, row_numbers)
    odd = odd_columns(columns, row_numbers)
    if strict and odd:
        raise ValueError(f"{place}: --strict refuses odd cells. {' '.join(odd)} {STRICT}")
    for sentence in odd:
        note(sentence)
    return columns


def read_training_rows(
    path: Path,
    target: str,
    qid: str | None,
    drop: Sequence[str],
    task: str | None,
    kinds: Mapping[str, str],
    group: str | None = None,
) -> "tuple[Rows, Any]":
    """Read a table and separate features, targets, queries and groups; leave out rows without a target."""
    from thrifty.cli.tables.table_file import open_table, refuse_missing_queries
    from thrifty.models.rows import Rows

    with open_table(path) as table:
        table.refuse_unknown(target=target, qid=qid, drop=drop, group=group)
        refuse_two_roles(target, qid, drop, group)
        others = {target, *drop} | {each for each in (qid, group) if each}
        refuse_unknown_kinds(table, kinds, others)
        text = [name for name, kind in kinds.items() if kind == "category"]  # so that 007 and 7 are different levels
        frame = _rows_with_target(table.read(text), target, table.place)
        if qid:
            refuse_missing_queries(frame[qid], table.place)
        if group:
            refuse_missing_queries(frame[group], table.place, "group")
        if len(others) == len(table.names):
            raise ValueError(f"{table.place}: no column is left apart from the target. Pass a table with features.")
        _refuse_decimal_commas(frame.drop(columns=[*drop, *text]), table.place)
    y = _typed_targets(frame[target], task)
    rows = Rows(frame.drop(columns=list(others)), y, qid=frame[qid].to_numpy() if qid else None)
    return rows, frame[group].to_numpy() if group else None


def refuse_two_roles(target: str, qid: str | None, drop: Sequence[str], group: str | None) -> None:
    """Raise ValueError if a column is named by two options that exclude each other."""
    for option, taken in (("--drop", drop), ("--qid", [qid]), ("--group", [group])):
        if target in taken:
            raise ValueError(f"{option} is {target!r}, which is the target. Leave out {option} for this column.")
    if group in drop:
        raise ValueError(f"--drop is {group!r}, which is the column with the groups. Leave out --drop for this column.")
    if qid in drop:
        raise ValueError(f"--drop is {qid!r}, which is the column with the queries. Leave out --drop for this column.")


def refuse_unknown_kinds(table: Any, kinds: Mapping[str, str], others: Collection[str]) -> None:
    """Raise ValueError if an option gives a kind to a column that is not a feature."""
    for name, kind in kinds.items():
        option = "category" if kind == "category" else "numeric"
        table.refuse_unknown(**{option: name})
        if name in others:
            raise ValueError(f"--{option} is {name!r}, which is not a feature here. Leave out this option.")


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
