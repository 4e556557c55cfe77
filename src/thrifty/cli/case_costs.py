"""What mistakes cost: the options that say it, and the report of what a case costs without the model and with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from thrifty.costs import ErrorCosts
    from thrifty.models.rows import Rows

TOTAL_COST = "total_cost"
NAMES = {
    "constant": "the cheapest answer for everyone, no tests",
    "everything": "all tests for everyone",
    "model": "this model",
}

ErrorCostsFile = Annotated[
    Path | None,
    typer.Option("--error-costs", help="What mistakes cost, as CSV: true,predicted,cost. The search minimises it."),
]
ClassWeight = Annotated[
    str | None, typer.Option("--class-weight", help="balanced: classes count the same in fits, however rare they are.")
]


class CaseCost(NamedTuple):
    """What a case costs on average: its tests and its errors, in the unit of the prices."""

    spend: float
    errors: float

    @property
    def total(self) -> float:
        """Tests and errors together."""
        return self.spend + self.errors


def read_error_costs(path: Path | None, rows: "Rows", task: str | None) -> "ErrorCosts | None":
    """Return the error costs of a file, for the targets of some rows."""
    if path is None:
        return None
    import numpy as np

    from thrifty.costs import ErrorCosts
    from thrifty.tuning.problem import Task

    kind = Task.of(rows.y, rows.qid, task)
    if kind is Task.RANKING:
        raise ValueError(f"--error-costs is {path}, but a ranking has no errors that cost. Leave out --error-costs.")
    return ErrorCosts.from_file(path, np.unique(rows.y) if kind.has_classes else None)


def refuse_bad_class_weight(class_weight: str | None) -> None:
    """Raise ValueError unless the option is missing or "balanced"."""
    if class_weight not in (None, "balanced"):
        raise ValueError(f"--class-weight is {class_weight!r}; expected balanced.")


def case_costs(scoring: Any, promise: Mapping[str, Any] | None, anchors: Any) -> dict[str, CaseCost] | None:
    """Return what a case costs without the model and with it; None if the search was not scored by the total cost.

    >>> anchors = {"constant": {"spend": 0.0, "score": -110.0}, "everything": {"spend": 324.0, "score": -416.0}}
    >>> case_costs("total_cost", {"spend": 10.0, "score": -95.5}, anchors)["model"]
    CaseCost(spend=10.0, errors=85.5)
    """
    if scoring != TOTAL_COST or promise is None or anchors is None:
        return None
    lines = {**anchors, "model": promise}
    return {name: CaseCost(lines[name]["spend"], 0.0 - lines[name]["score"] - lines[name]["spend"]) for name in NAMES}


def print_case_costs(costs: Mapping[str, CaseCost], unit: str) -> None:
    """Print what a case costs as a table, and what the model saves."""
    from thrifty.cli.terminal import console, plain_table, print_uncut
    from thrifty.costs.amounts import amount

    table = plain_table(a_case_costs="left", tests="right", errors="right", total="right")
    for name, each in costs.items():
        cells = (amount(value, unit, fixed=True) for value in (each.spend, each.errors, each.total))
        table.add_row(NAMES[name], *cells)
    print_uncut(table)
    cheapest = min((name for name in costs if name != "model"), key=lambda name: costs[name].total)
    saved = costs[cheapest].total - costs["model"].total
    verb = "saves" if saved >= 0 else "costs"
    more = "" if saved >= 0 else " more"
    console().print(f"The model {verb} {amount(abs(saved), unit)} a case{more}, compared with {NAMES[cheapest]}.")


def as_record(costs: Mapping[str, CaseCost] | None) -> dict[str, Any] | None:
    """Return what a case costs for JSON."""
    if costs is None:
        return None
    return {name: {**each._asdict(), "total": each.total} for name, each in costs.items()}
