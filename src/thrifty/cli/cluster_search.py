"""The search on a folder of Parquet files: on a sample of the rows here, and then on all rows on a Dask cluster."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thrifty.cli.clusters import NONE, cluster, scheduler_for
from thrifty.cli.far_table import far_frame
from thrifty.cli.price_list import read_prices
from thrifty.cli.search import Found, refuse_two_roles, refuse_unknown_kinds
from thrifty.cli.tables.parquet_folder import ParquetFolder
from thrifty.cli.terminal import warnings_as_notes
from thrifty.tuning.budget_search import BudgetSearchCV


def scheduler_of(data: Path, scheduler: str | None) -> str:
    """Return the scheduler whose workers read a table; "none" means this process."""
    if not data.is_dir():
        if scheduler not in (None, NONE):
            raise ValueError(f"--scheduler is {scheduler!r}, which needs a folder of Parquet files, not '{data}'.")
        return NONE
    with ParquetFolder(data) as table:
        return scheduler_for(scheduler, int(table.size or 0), len(table.names))


def refuse_unsupported(**options: Any) -> None:
    """Raise ValueError if an option was given that needs all rows in this process."""
    for name, value in options.items():
        if value:
            raise ValueError(
                f"--{name.replace('_', '-')} is not supported for rows on a Dask cluster. Leave it out, or pass "
                f"--scheduler {NONE} to read all rows into the memory of this process."
            )


def search_on_cluster(
    data: Path,
    scheduler: str,
    methods: list[str] | None,
    *,
    target: str,
    qid: str | None,
    group: str | None,
    costs: Path | None,
    drop: Sequence[str],
    task: str | None,
    kinds: Mapping[str, str],
    **options: Any,
) -> Found:
    """Search for a model of a folder; print warnings as notes."""
    with ParquetFolder(data) as table:
        table.refuse_unknown(target=target, qid=qid, drop=drop, group=group)
        refuse_two_roles(target, qid, drop, group)
        others = {target, *drop} | {each for each in (qid, group) if each}
        refuse_unknown_kinds(table, kinds, others)
        if not (columns := [name for name in table.names if name not in others]):
            raise ValueError(f"{table.place}: no column is left apart from the target. Pass a table with features.")
        task = "ranking" if task is None and qid is not None else task
        prices = costs and read_prices(costs, columns, others, table.place)
        search = BudgetSearchCV(methods or None, costs=prices, task=task, kinds=kinds, verbose=True, **options)
        with cluster(scheduler), warnings_as_notes(), _named(table, target):
            groups = {option: name for option, name in (("qid", qid), ("group", group)) if name}
            rows = far_frame(table, columns, target, task, groups)
            search.fit(rows[columns], rows[target], qid=qid and rows[qid], groups=group and rows[group])
    reports = search.best_estimator_.encoder_.report_ if search.refit else []
    return Found(search, reports, [None] * (search.max_rows or 0))


@contextmanager
def _named(table: ParquetFolder, target: str) -> Iterator[None]:
    """Name files in errors: partitions are files, and rows without a target are left out."""
    try:
        yield
    except (TypeError, ValueError) as error:
        text = re.sub(r"\bpartition (\d+)", lambda found: str(table.files[int(found[1])]), str(error))
        if "X has no rows" in text:
            text = f"{table.place}: no row has a value in {target!r}. Pass rows to learn from."
        raise ValueError(text) from error
