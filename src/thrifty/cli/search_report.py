"""What a search found: the points that it measured, the chosen one and its promise, as text, table or JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from thrifty.cli.terminal import console, plain_table, print_json, print_uncut
from thrifty.cli.worth import note_sentences, worth_sentences
from thrifty.costs.amounts import amount
from thrifty.metrics.curves import score_name
from thrifty.metrics.scoring import TOTAL_COST
from thrifty.tuning.mixing import is_mixture


@dataclass(frozen=True)
class SearchReport:
    """All points of a search, and the chosen one.

    Attributes
    ----------
    points : sequence of dict
        The lines of ``BudgetSearchCV.frontier_``.
    promise : dict or None
        The promise of the chosen point; None if no point was chosen.
    budget : float or None
        The budget of the search.
    unit : str
        The unit of the costs.
    scoring : str
        The score that the search maximized.
    anchors : dict or None
        What the constant answer and everything for everyone score; None for files that do not have it.
    target : str or None
        The column that the model predicts, if it is known.
    """

    points: Sequence[Mapping[str, Any]]
    promise: Mapping[str, Any] | None
    budget: float | None
    unit: str
    scoring: str
    anchors: Mapping[str, Mapping[str, Any]] | None = None
    target: str | None = None

    @classmethod
    def of_search(cls, search: Any) -> "SearchReport":
        """Return the report of a fitted search."""
        promise = search.promise_.as_dict() if hasattr(search, "promise_") else None
        records = search.frontier_.to_dict("records")
        anchors = search.anchors_.to_dict("index") if hasattr(search, "anchors_") else None
        return cls(records, promise, search.budget, search.cost_model_.unit, search.scoring_, anchors)

    @classmethod
    def of_model_file(cls, path: Path, key: bytes | None = None) -> "SearchReport":
        """Return the report of the search that a model file comes from."""
        from thrifty.persistence import read_manifest

        report = cls.of_manifest(read_manifest(path, key=key))
        if report is None:
            raise ValueError(f"{path}: the model does not come from a search, so it has no frontier. Pass a table.")
        return report

    @classmethod
    def of_manifest(cls, manifest: Any) -> "SearchReport | None":
        """Return the report of the search that a manifest describes; None if the model does not come from one."""
        if manifest is None or manifest.frontier is None or manifest.promise is None:
            return None
        promise = manifest.promise
        terms = (promise["budget"], promise["unit"], promise["scoring"])
        return cls(manifest.frontier, promise, *terms, manifest.anchors, manifest.target)

    def is_chosen(self, point: Mapping[str, Any]) -> bool:
        """Tell whether the promise is about this point."""
        names = ("method", "parameters", "spend", "score")
        return self.promise is not None and all(point[name] == self.promise[name] for name in names)

    @property
    def chosen(self) -> Mapping[str, Any] | None:
        """The point that the promise is about, if there is one."""
        return next(filter(self.is_chosen, self.points), None)

    def best_points(self) -> list[Mapping[str, Any]]:
        """Return the points on the frontier and the chosen one, the cheapest first."""
        best = [point for point in self.points if not point["dominated"] or self.is_chosen(point)]
        return sorted(best, key=lambda point: (point["spend"], point["score"]))

    def cells(self, point: Mapping[str, Any]) -> list[str]:
        """Return a point as a line of a table: method, spend, its bound, score, settings."""
        score = f"{point['score']:.3f} ± {point['score_error']:.3f}"
        spend, bound = (amount(point[name], self.unit, fixed=True) for name in ("spend", "spend_bound"))
        return [point["method"], spend, bound, score, settings_text(point["parameters"])]

    def sentences(self) -> list[str]:
        """Return what was chosen, what it promises, what more and less money buy, and which candidates failed."""
        sentences = [] if self.promise is None else promise_sentences(self.promise)
        sentences += self.worth()
        sentences += note_sentences(self.points)
        errors = {point["method"]: point["error"] for point in self.points if point["error"]}
        for method, error in errors.items():
            count = sum(point["method"] == method and bool(point["error"]) for point in self.points)
            sentences.append(f"{count} point{'s' * (count > 1)} of {method} failed: {error}")
        return sentences

    def worth(self) -> list[str]:
        """Return sentences about the anchors, the same columns for every row, and what less and more money buy."""
        chosen = self.chosen or self.promise  # a point that was measured again under a smaller cap is not in the table
        smooth = self.scoring != TOTAL_COST
        return list(worth_sentences(self.points, self.anchors, chosen, self.unit, budget=self.budget, smooth=smooth))

    def print(self) -> None:
        """Print the best points as a table, with the chosen one marked, and the sentences."""
        out, table = console(), plain_table(_="left", method="left", spend="right", below="right")
        table.add_column(score_name(self.scoring), justify="right")
        for column in table.columns:
            column.no_wrap = True
        table.add_column("settings", style="dim")
        for point in self.best_points():
            mark, style = ("▸", "bold green") if self.is_chosen(point) else ("", "")
            table.add_row(mark, *(Text(cell, style, no_wrap=True, overflow="ellipsis") for cell in self.cells(point)))
        print_uncut(table)
        for sentence in self.sentences():
            out.print(sentence)

    def print_json(self, **more: Any) -> None:
        """Print all points as JSON."""
        points = [{**point, "chosen": self.is_chosen(point)} for point in self.points]
        found = {"unit": self.unit, "scoring": self.scoring, "promise": self.promise, "anchors": self.anchors}
        print_json({**found, "frontier": points, **more})


def promise_sentences(promise: Mapping[str, Any]) -> list[str]:
    """Return which method was chosen with which score, and what rows will cost on average and at most.

    >>> promise = {"spend": 31.2, "spend_bound": 36.9, "confidence": 0.95, "unit": "$", "budget": 40.0, "cap": 150.0,
    ...     "method": "l1", "parameters": {}, "scoring": "accuracy", "score": 0.8, "score_error": 0.01, "n_rows": 1000}
    >>> print(*promise_sentences(promise), sep="\\n")
    Chosen: l1; accuracy 0.800 (± 0.010), by cross-validation on 1,000 rows.
    At most $40 a row on average: measured $31.20, with 95% confidence below $36.90; never more than $150.
    >>> print(promise_sentences({**promise, "budget": 35.0, "cap": None})[1])
    Misses the budget of $35 a row on average: measured $31.20, with 95% confidence below $36.90.
    """
    unit, budget, cap = promise["unit"], promise["budget"], promise["cap"]
    chosen = ", ".join(part for part in (promise["method"], settings_text(promise["parameters"])) if part)
    score = f"{score_name(promise['scoring'])} {promise['score']:.3f} (± {promise['score_error']:.3f})"
    spend, bound = amount(promise["spend"], unit), amount(promise["spend_bound"], unit)
    confidence = f"with {100 * promise['confidence']:g}% confidence below {bound}"
    limit = "" if cap is None else f"; never more than {amount(cap, unit)}"
    spending = f"On average {spend} a row, {confidence}{limit}."
    if budget is not None:
        kept = "At most" if promise["spend_bound"] <= budget else "Misses the budget of"
        spending = f"{kept} {amount(budget, unit)} a row on average: measured {spend}, {confidence}{limit}."
    return [f"Chosen: {chosen}; {score}, by cross-validation on {promise['n_rows']:,} rows.", spending]


def settings_text(value: Any) -> str:
    """Return parameters, or the value of one, as short text.

    >>> settings_text({"max_depth": 2, "node_budget": [4.0, 12.3456]})
    'max_depth 2, node_budget 4 12.35'
    >>> settings_text({"cheap__cost_weight": 0.07, "dear__delta": 0.5, "dear_cap": 210.0, "share": 0.22})
    'share 0.22, cheap (cost_weight 0.07), dear (delta 0.5, cap 210)'
    """
    if isinstance(value, Mapping) and is_mixture(value):
        named = {part: _part(value, part) for part in ("cheap", "dear")}
        parts = [f"{part} ({settings_text(settings)})" for part, settings in named.items() if settings]
        return ", ".join([f"share {settings_text(value['share'])}", *parts])
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {settings_text(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(settings_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _part(mixture: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return the settings of one of the two models of a mixture."""
    own = {name.removeprefix(part): each for name, each in mixture.items() if name.startswith(f"{part}_")}
    return {name.lstrip("_"): each for name, each in own.items()}
