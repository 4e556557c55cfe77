"""The points of a search, however they come: from a search just made, or from the manifest of a model file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.table import Table
from rich.text import Text

from thrifty import __version__
from thrifty.cli.amounts import amount
from thrifty.cli.page import embedded, fill, png, table_row, tiles
from thrifty.cli.promises import point_chosen, settings, spend_promised
from thrifty.cli.terminal import plain_table, print_json
from thrifty.metrics.curves import score_name

TEMPLATE = Path(__file__).with_name("frontier.html")


@dataclass(frozen=True)
class Frontier:
    """All points, and the one that was chosen.

    Attributes
    ----------
    points : sequence of dict
        The lines of ``BudgetSearchCV.frontier_``.
    promise : dict or None
        What is promised of the chosen point; None if none was chosen.
    budget : float or None
        Asked for, whether or not a point was chosen.
    unit, scoring : str
    """

    points: Sequence[Mapping[str, Any]]
    promise: Mapping[str, Any] | None
    budget: float | None
    unit: str
    scoring: str

    @classmethod
    def of_search(cls, search: Any) -> "Frontier":
        """Take the points of a fitted search."""
        promise = search.promise_.as_dict() if hasattr(search, "promise_") else None
        records = search.frontier_.to_dict("records")
        return cls(records, promise, search.budget, search.cost_model_.unit, search.scoring_)

    @classmethod
    def of_model(cls, path: Path) -> "Frontier":
        """Take the points from the manifest of a model file."""
        from thrifty.persistence import read_manifest

        manifest = read_manifest(path)
        if manifest.frontier is None or manifest.promise is None:
            raise ValueError(f"{path}: the model does not come from a search, so it has no frontier. Pass a table.")
        promise = manifest.promise
        return cls(manifest.frontier, promise, promise["budget"], promise["unit"], promise["scoring"])

    @property
    def sound(self) -> list[Mapping[str, Any]]:
        """The points that did not fail."""
        return [point for point in self.points if not point["error"]]

    @property
    def kept(self) -> list[Mapping[str, Any]]:
        """The points that no other one beats at no more spend, the cheapest first; the chosen one is among them."""
        kept = [point for point in self.sound if not point["dominated"] or self.is_chosen(point)]
        return sorted(kept, key=lambda point: (point["spend"], point["score"]))

    def is_chosen(self, point: Mapping[str, Any]) -> bool:
        """Tell whether the promise is about this point."""
        of_point = ("method", "parameters", "spend", "score")
        return self.promise is not None and all(point[name] == self.promise[name] for name in of_point)

    def cells(self, point: Mapping[str, Any]) -> list[str]:
        """Write a point as a line of a table."""
        score = f"{point['score']:.3f} ± {point['score_error']:.3f}"
        spend, bound = (amount(point[name], self.unit, fixed=True) for name in ("spend", "spend_bound"))
        return [point["method"], spend, bound, score, settings(point["parameters"])]

    def sentences(self) -> list[str]:
        """Say what was chosen and what it promises, and which candidates failed."""
        chosen = [] if self.promise is None else [point_chosen(self.promise), spend_promised(self.promise)]
        return [*chosen, *self._failures()]

    def _failures(self) -> Iterable[str]:
        errors = {point["method"]: point["error"] for point in self.points if point["error"]}
        for method, error in errors.items():
            count = sum(point["method"] == method and bool(point["error"]) for point in self.points)
            yield f"{count} point{'s' * (count > 1)} of {method} failed: {error}"


def print_frontier(out: Any, frontier: Frontier) -> None:
    """Print the points that count, the chosen one marked, and what is to be said of them."""
    out.print(frontier_table(frontier))
    for sentence in frontier.sentences():
        out.print(sentence)


def frontier_table(frontier: Frontier) -> Table:
    """Return the points as a table for the terminal."""
    table = plain_table(_="left", method="left", spend="right", below="right")
    table.add_column(score_name(frontier.scoring), justify="right")
    for column in table.columns:
        column.no_wrap = True
    table.add_column("settings", style="dim")
    for point in frontier.kept:
        chosen = frontier.is_chosen(point)
        style = "bold green" if chosen else ""
        cells = (Text(cell, style, no_wrap=True, overflow="ellipsis") for cell in frontier.cells(point))
        table.add_row("▸" if chosen else "", *cells)
    return table


def print_record(frontier: Frontier, **more: Any) -> None:
    """Print all points as JSON."""
    points = [{**point, "chosen": frontier.is_chosen(point)} for point in frontier.points]
    print_json(
        {"unit": frontier.unit, "scoring": frontier.scoring, "promise": frontier.promise, "frontier": points, **more}
    )


def draw(frontier: Frontier) -> bytes:
    """Draw all points as a cost curve."""
    import pandas as pd

    from thrifty.models.promise import Promise
    from thrifty.plots import CostCurveDisplay

    search = SimpleNamespace(
        frontier_=pd.DataFrame(frontier.sound),
        cost_model_=SimpleNamespace(unit=frontier.unit),
        scoring_=frontier.scoring,
        budget=frontier.budget,
        promise_=frontier.promise and Promise(**frontier.promise),
    )
    return png(CostCurveDisplay.from_search(search))


def compose(frontier: Frontier, title: str) -> str:
    """Put the picture, the table and the sentences on one page."""
    unit = f" ({frontier.unit})" if frontier.unit else ""
    prose = {"title": title, "scoring": score_name(frontier.scoring), "unit": unit, "version": __version__}
    parts = {
        "tiles": tiles(_figures(frontier)),
        "sentences": "".join(f"<p>{escape(sentence)}</p>" for sentence in frontier.sentences()),
        "rows": "\n".join(_row(frontier, point) for point in frontier.kept),
        "picture": embedded(draw(frontier)),
    }
    return fill(TEMPLATE, prose=prose, parts=parts)


def _row(frontier: Frontier, point: Mapping[str, Any]) -> str:
    return table_row(frontier.cells(point), ' class="best"' if frontier.is_chosen(point) else "")


def _figures(frontier: Frontier) -> list[tuple[str, str]]:
    if (promise := frontier.promise) is None:
        return []
    return [
        (amount(promise["spend"], frontier.unit), "a row on average, on rows that were held out"),
        (f"{promise['score']:.3f}", f"{score_name(frontier.scoring)}, on the same rows"),
    ]
