"""What ``thrifty explain`` prints about a model: facts, outline, and what the rows of a table bought."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from thrifty.cli.labelled_rows import read_labelled
from thrifty.cli.loaded_model import LoadedModel
from thrifty.cli.search_report import SearchReport, promise_sentences
from thrifty.cli.terminal import console, plain_table, print_json
from thrifty.cli.words import plural, printable
from thrifty.costs.amounts import amount
from thrifty.evaluation.purchases import PurchaseCounter
from thrifty.evaluation.recorded_rows import default_scoring
from thrifty.metrics.curves import score_name
from thrifty.metrics.scoring import query_metric
from thrifty.models.outline import Outline, Stage, describe_stage
from thrifty.models.session import Acquire

MAX_SETS = 12  # sets of columns that are listed


@dataclass(frozen=True)
class Purchases:
    """What the rows of a table bought.

    Attributes
    ----------
    counts : dict
        The number of rows that bought each set of columns.
    spends : dict
        What these rows spent together.
    exits : ndarray of int, shape (n_rows,)
        Where the rows ended.
    earned : DataFrame
        For each column or bundle how often it was bought, and what it earned; see `thrifty.evaluation.purchases`.
    scoring : str
        The score whose loss `earned` has; empty if there are no targets.
    """

    counts: Mapping[tuple[str, ...], int]
    spends: Mapping[tuple[str, ...], float]
    exits: np.ndarray
    earned: Any
    scoring: str

    @classmethod
    def of_table(
        cls, loaded: LoadedModel, rows: Path, cap: float | None, target: str | None = None, qid: str | None = None
    ) -> "Purchases":
        """Predict a table chunk by chunk, and count what was bought; with targets, also what each purchase earns."""
        counts: dict[tuple[str, ...], int] = {}
        spends: dict[tuple[str, ...], float] = {}
        exits: list[np.ndarray] = []
        counter, scoring = PurchaseCounter(loaded.model, cap=cap), default_scoring(loaded.model, qid)
        unscored = target is None and qid is None and query_metric(scoring) is not None
        for chunk in read_labelled(rows, loaded, target, qid, description="explaining", need_target=False):
            acquisition, y = loaded.acquire(chunk.X, cap, chunk.qid), None if unscored else chunk.y
            counter.add(loaded.as_given(chunk.X), y, chunk.qid, made=acquisition)
            exits.append(acquisition.exit)
            codes, sets = loaded.sets_bought(acquisition.acquired)
            totals = zip(np.bincount(codes).tolist(), np.bincount(codes, acquisition.spend).tolist(), strict=True)
            for names, (count, spend) in zip(map(tuple, sets), totals, strict=True):
                counts[names] = counts.get(names, 0) + count
                spends[names] = spends.get(names, 0.0) + spend
        return cls(counts, spends, np.concatenate(exits), counter.table(scoring), "" if y is None else scoring)

    @property
    def mean_spend(self) -> float:
        """The mean spend per row."""
        return sum(self.spends.values()) / len(self.exits)

    def records(self) -> list[dict[str, Any]]:
        """Return the sets with their share of the rows and mean spend, the most frequent first."""
        return [
            {"share": count / len(self.exits), "spend": self.spends[names] / count, "bought": list(names)}
            for names, count in sorted(self.counts.items(), key=lambda item: -item[1])
        ]


def print_model(loaded: LoadedModel, purchases: Purchases | None, *, as_json: bool) -> None:
    """Print what a model is, what it buys, and what the rows of a table bought."""
    outline = loaded.model.outline(None if purchases is None else purchases.exits)
    if as_json:
        print_json(_record(loaded, outline, purchases))
        return
    out = console()
    for fact in facts(loaded, outline):
        out.print(fact)
    out.line()
    out.print(f"{outline.summary}{_first_step(loaded, outline)}")
    out.print(draw_outline(outline))
    if purchases is not None:
        _print_purchases(out, loaded, purchases)


def facts(loaded: LoadedModel, outline: Outline) -> list[str]:
    """Return sentences about the model and, from the manifest, its training, its promise and what money buys."""
    columns = f"{len(loaded.names)} columns, which cost {loaded.amount(outline.total)} together"
    sentences, manifest = [f"{outline.model} on {columns}."], loaded.manifest
    if manifest and manifest.training and manifest.training["n_rows"]:
        sentences.append(f"Fitted on {manifest.training['n_rows']:,} rows on {manifest.training['date'][:10]}.")
    sentences += promise_sentences(manifest.promise) if manifest and manifest.promise else []
    searched = SearchReport.of_manifest(manifest)
    return sentences if searched is None else [*sentences, *searched.worth()]


def _first_step(loaded: LoadedModel, outline: Outline) -> str:
    """Return what every row buys first, unless the outline has stages, which show it, or the first row differs."""
    is_same = outline.stages is None and not loaded.model._depends_on_position
    step = loaded.model.session().next() if is_same else None
    if not isinstance(step, Acquire) or not step.features:
        return ""
    return f" It begins with {', '.join(loaded.names[loaded.positions[feature]] for feature in step.features)}."


def _record(loaded: LoadedModel, outline: Outline, purchases: Purchases | None) -> dict[str, Any]:
    of_manifest = {name: getattr(loaded.manifest, name) for name in ("promise", "training", "features")}
    record = {"method": outline.model, "unit": outline.unit, "total": outline.total, **of_manifest}
    record |= {"structure": outline.structure()}
    if purchases is None:
        return record
    earned = purchases.earned.rename_axis("name").reset_index().to_dict("records")
    bought = {"mean_spend": purchases.mean_spend, "bought": purchases.records()}
    return record | bought | {"scoring": purchases.scoring or None, "purchases": earned}


def _print_purchases(out: Any, loaded: LoadedModel, purchases: Purchases) -> None:
    table = plain_table(rows="right", spend="right", bought="left")
    records = purchases.records()
    for record in records[:MAX_SETS]:
        bought = ", ".join(record["bought"]) or "nothing"
        table.add_row(f"{record['share']:.1%}", loaded.amount(record["spend"]), bought)
    out.print(table)
    rest = f" {len(records) - MAX_SETS} less frequent sets are not listed." if len(records) > MAX_SETS else ""
    n_rows = len(purchases.exits)
    spend = f"{plural(n_rows, 'row')} {'spends' if n_rows == 1 else 'spend'} {loaded.amount(purchases.mean_spend)}"
    out.print(f"{spend} on average.{rest}")
    _print_earned(out, loaded, purchases)


def _print_earned(out: Any, loaded: LoadedModel, purchases: Purchases) -> None:
    """Print what each column or bundle costs and earns; those that no row bought are only named."""
    table, scored = plain_table(column_or_bundle="left", rows="right", spend="right"), bool(purchases.scoring)
    if scored:
        table.add_column(f"loss of {score_name(purchases.scoring)}", justify="right")
    earned = purchases.earned
    bought = earned[earned["bought"] > 0]
    for name, line in bought.iterrows():
        loss = [f"{line['loss']:.3f} ± {line['loss_error']:.3f}"] if scored else []
        table.add_row(
            _with_columns(name, line["columns"]), f"{line['bought']:.1%}", loaded.amount(line["spend"]), *loss
        )
    if len(bought):
        out.print(table)
    if unused := earned.index[earned["bought"] == 0].tolist():
        out.print(f"No row buys {', '.join(unused)}.")
    if scored and len(bought):
        out.print(
            "The loss is what the score falls by (± its standard error) if the column or bundle is not to be had."
        )


def _with_columns(name: str, columns: Sequence[str]) -> str:
    return name if columns == (name,) else f"{name}: {', '.join(columns)}"


# The outline


def draw_outline(outline: Outline) -> RenderableType:
    """Return an outline for the terminal: a tree of stages, or a table of columns."""
    if outline.stages is not None:
        root = Tree(_label(outline.stages, outline.unit), guide_style="dim")
        return _add_children(outline.stages, outline.unit, root)
    table, counted = plain_table(feature="left", price_alone="right"), outline.counted_in
    for name in (f"first {counted}", f"{counted}s") if counted else ():
        table.add_column(name, justify="right")
    for use in outline.uses:
        counts = (str(use.first), str(use.count)) if counted else ()
        table.add_row(use.feature, amount(use.price, outline.unit, fixed=True), *counts)
    return table


def _add_children(stage: Stage, unit: str, tree: Tree) -> Tree:
    for child in stage.children:
        _add_children(child, unit, tree.add(_label(child, unit)))
    return tree


def _label(stage: Stage, unit: str) -> Text:
    text = Text(printable(describe_stage(stage, unit)))
    return text if stage.rule is None else text.append(f"\n{printable(stage.rule)}?", "dim")
