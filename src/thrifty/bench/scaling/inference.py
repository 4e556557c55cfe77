"""Speed of predictions: a batch, a single row, and a whole session, for models of the same drawn rows.

What is timed is `acquire` of an estimator, or what a contender returns instead: predictions and acquired columns. Times
are mean CPU times on one thread, of repetitions that took `LONG_ENOUGH` together. A session is one row from its first
question to its answer. Models have the parameters with which a search begins, so that they buy different numbers of
columns.
"""

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from thrifty.bench.claims import Verdict
from thrifty.bench.problems.problem import Table
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run
from thrifty.bench.scaling.methods import SCALED
from thrifty.bench.scaling.sizes import Size, base, drawn
from thrifty.bench.scaling.training import LONG_ENOUGH
from thrifty.bench.tables import ShownTable
from thrifty.models.session import Acquire

NAME = "scaling_inference"
QUICK_SEEDS, FULL_SEEDS = 1, 3
QUICK_BATCH, FULL_BATCH = 5_000, 50_000
SINGLE_ROWS = 30
HEADER = ("method", "rows per second, batch", "single row (us)", "session (us)", "columns bought")
Speeds = dict[str, dict[str, float | None]]


def runs(full: bool) -> list[Run]:
    """Return one run per method."""
    n_rows, size = FULL_BATCH if full else QUICK_BATCH, base(full)
    return [
        Run(
            Key(NAME, seed, name, full),
            partial(measure, name, size, n_rows, seed),
            {"size": vars(size), "batch": n_rows},
        )
        for seed in range(FULL_SEEDS if full else QUICK_SEEDS)
        for name in SCALED
    ]


def measure(name: str, size: Size, n_rows: int, seed: int) -> dict[str, Any]:
    """Return rows per second of a batch, microseconds of single rows and sessions, and the mean number of columns."""
    scaled = SCALED[name]
    model = scaled.fit(drawn(size, scaled.task, seed), size, seed)
    rows = drawn(Size(n_rows, size.columns, size.units), scaled.task, seed + 1)
    answer = partial(_acquired, model) if scaled.is_own else model.answer
    session = partial(_whole_session, model) if scaled.is_own and rows.qid is None else None
    ones = [rows.take(np.array([k])) for k in range(SINGLE_ROWS)]
    return {
        "rows_per_second": round(n_rows / _seconds([rows], answer)),
        "single_us": round(1e6 * _seconds(ones, answer) / SINGLE_ROWS, 1),
        "session_us": None if session is None else round(1e6 * _seconds(ones, session) / SINGLE_ROWS, 1),
        "columns": round(float(answer(rows).acquired.sum(axis=1).mean()), 2),
    }


def _seconds(tables: list[Table], answer: Callable[[Table], Any]) -> float:
    """Return the mean CPU time of repetitions, after one that compiles."""
    for rows in tables:
        answer(rows)
    start, count = process_time(), 0
    while (spent := process_time() - start) < LONG_ENOUGH:
        for rows in tables:
            answer(rows)
        count += 1
    return spent / count


def _acquired(model: Any, rows: Table) -> Any:
    return model.acquire(rows.X, **({} if rows.qid is None else {"qid": rows.qid}))


def _whole_session(model: Any, rows: Table) -> Any:
    values, session = rows.X[0], model.session()
    step = session.next()
    while isinstance(step, Acquire):
        session.observe({feature: values[feature] for feature in step.features})
        step = session.next()
    return step


def speeds(results: Results) -> Speeds:
    """Return the means over the seeds by method."""
    found = {name: [each.values for each in results.of(NAME, name)] for name in SCALED}
    return {name: {what: _mean(what, runs) for what in runs[0]} for name, runs in found.items() if runs}


def _mean(what: str, runs: list[Any]) -> float | None:
    known = [each[what] for each in runs if each[what] is not None]
    return round(sum(known) / len(known), 1) if known else None


def verdicts(results: Results) -> list[Verdict]:
    """Return no verdict: nothing is claimed."""
    return []


def tables(results: Results) -> list[ShownTable]:
    """Return the speeds by method, the fastest batches first."""
    found = speeds(results)
    return [speed_table(found)] if found else []


def speed_table(found: Speeds) -> ShownTable:
    """Return the table of speeds."""
    order = sorted(found, key=lambda name: -(found[name]["rows_per_second"] or 0.0))
    return ShownTable("Predictions", HEADER, [(name, *_cells(found[name])) for name in order])


def _cells(speeds: dict[str, float | None]) -> list[str]:
    times = [_number(speeds[what]) for what in ("rows_per_second", "single_us", "session_us")]
    return [*times, f"{speeds['columns']:.1f}"]


def figure(results: Results) -> None:
    """Return no picture: the table is short."""


def describe(results: Results) -> str:
    """Return what was measured, in words."""
    return "Rows per second of a batch, and microseconds of a single row and of a session, each on one thread."


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
