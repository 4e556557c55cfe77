"""What ``thrifty explain`` prints: facts, structure and shares of a model, or the trace of a row."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thrifty.cli.outlines import draw_outline
from thrifty.cli.promises import point_chosen, spend_promised
from thrifty.cli.served import Served
from thrifty.cli.tables.opening import open_table
from thrifty.cli.terminal import console, plain_table, print_json
from thrifty.cli.traces import WHY, Trace, answer_text, fetch_from, trace, verdict
from thrifty.models.tables.fields import text_of

MOST_SETS = 12  # that are listed


@dataclass(frozen=True)
class Shares:
    """How rows of a table fared: what sets they bought, how many each, what they paid, where they ended."""

    counts: Mapping[tuple[str, ...], int]
    spends: Mapping[tuple[str, ...], float]
    exits: np.ndarray
    n_rows: int

    @classmethod
    def of(cls, served: Served, rows: Path, cap: float | None) -> "Shares":
        """Answer a table chunk by chunk and count."""
        counts: dict[tuple[str, ...], int] = {}
        spends: dict[tuple[str, ...], float] = {}
        exits = []
        with open_table(rows) as table:
            for chunk in table.chunks(served.text_columns):
                frame = served.columns_of(chunk, table.place)
                if not len(frame):
                    continue
                acquisition = served.acquire(frame, cap)
                exits.append(acquisition.exit)
                codes, sets = served.sets_bought(acquisition.acquired)
                totals = zip(np.bincount(codes).tolist(), np.bincount(codes, acquisition.spend).tolist(), strict=True)
                for names, (count, spend) in zip(map(tuple, sets), totals, strict=True):
                    counts[names] = counts.get(names, 0) + count
                    spends[names] = spends.get(names, 0.0) + spend
        if not counts:
            raise ValueError(f"{rows}: there are no rows. Pass some to tell shares of.")
        return cls(counts, spends, np.concatenate(exits), sum(counts.values()))

    @property
    def mean_spend(self) -> float:
        """What a row paid on average."""
        return sum(self.spends.values()) / self.n_rows

    def records(self) -> list[dict[str, Any]]:
        """Return the sets, the most frequent first."""
        return [
            {"share": count / self.n_rows, "spend": self.spends[names] / count, "bought": list(names)}
            for names, count in sorted(self.counts.items(), key=lambda item: -item[1])
        ]


def explain_model(served: Served, rows: Path | None, cap: float | None, *, as_json: bool) -> None:
    """Print what a model is, what it buys, and what some rows bought."""
    shares = None if rows is None else Shares.of(served, rows, cap)
    outline = served.model.outline(None if shares is None else shares.exits)
    if as_json:
        print_json(_record(served, outline.structure(), shares))
        return
    out = console()
    for fact in facts(served):
        out.print(fact)
    out.print(f"\n{outline.summary}")
    out.print(draw_outline(outline))
    if shares is not None:
        _print_shares(out, served, shares)


def facts(served: Served) -> list[str]:
    """Say what the manifest knows."""
    manifest, names = served.manifest, served.names
    total = served.amount(served.costs.total)
    told = [f"{type(served.method).__name__} on {len(names)} columns, which cost {total} together."]
    if manifest.training:
        told.append(f"Fitted on {manifest.training['n_rows']:,} rows on {manifest.training['date'][:10]}.")
    if manifest.promise:
        told += [point_chosen(manifest.promise), spend_promised(manifest.promise)]
    return told


def _record(served: Served, structure: Any, shares: Shares | None) -> dict[str, Any]:
    manifest = served.manifest
    record = {
        "method": type(served.method).__name__,
        "unit": served.costs.unit,
        "total": served.costs.total,
        "promise": manifest.promise,
        "training": manifest.training,
        "features": manifest.features,
        "structure": structure,
    }
    return record if shares is None else {**record, "mean_spend": shares.mean_spend, "bought": shares.records()}


def _print_shares(out: Any, served: Served, shares: Shares) -> None:
    table = plain_table(rows="right", spend="right", bought="left")
    records = shares.records()
    for record in records[:MOST_SETS]:
        bought = ", ".join(record["bought"]) or "nothing"
        table.add_row(f"{record['share']:.1%}", served.amount(record["spend"]), bought)
    out.print(table)
    rest = f" {len(records) - MOST_SETS} rarer sets are not listed." if len(records) > MOST_SETS else ""
    out.print(f"{shares.n_rows:,} rows spend {served.amount(shares.mean_spend)} on average.{rest}")


def explain_row(served: Served, values: Mapping[str, Any], cap: float | None, *, as_json: bool) -> None:
    """Print one row's way to its answer."""
    told = trace(served, fetch_from(values), cap)
    if as_json:
        print_json(told.as_dict())
        return
    out = console()
    out.print(_steps(served, values, told) if told.steps else "Nothing is asked for.")
    out.print(f"Stopped: {told.reason}; {WHY[told.reason]}.")
    out.print(verdict(served, told))


def _steps(served: Served, values: Mapping[str, Any], told: Trace) -> Any:
    table = plain_table(_="right", bought_and_found="left", cost="right", paid="right", answer_so_far="left")
    row = pd.DataFrame([{name: values.get(name) for name in served.names}], dtype=object)
    for number, step in enumerate(told.steps, start=1):
        found = ", ".join(
            f"{item.name}: {'unavailable' if value is None else text_of(value)}"
            for item, value in zip(step.items, step.values, strict=True)
        )
        so_far = _answer(served, row, step.spend)
        table.add_row(str(number), found, served.amount(step.cost), served.amount(step.spend), so_far)
    return table


def _answer(served: Served, row: pd.DataFrame, cap: float) -> str:
    """Write what would be answered with no more to spend."""
    acquisition = served.acquire(row, cap)
    prediction = acquisition.prediction[0]
    if served.classes is None:
        return answer_text(prediction)
    return f"{prediction}, {served.probabilities(acquisition.score).max():.0%}"
