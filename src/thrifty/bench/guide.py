"""Which method of the package for which data and budget, from the figures of a summary.

On a problem and a budget, a method misses

    (best score of the methods at this budget) - (its score at this budget)

in points. Over the problems of a kind of data, the mean of what it misses says how much worse it is than the best
choice for each problem. A method counts where it has results on all of these problems.
"""

from collections.abc import Mapping
from typing import Any

from thrifty.bench.contenders import FLAGSHIP
from thrifty.bench.curves import SHARES
from thrifty.bench.tables import ShownTable
from thrifty.tuning.methods import METHODS

KINDS: dict[str, tuple[str, ...]] = {
    "a few hundred rows": ("heart", "hepatitis", "pima", "bupa", "heart_cleveland"),
    "thousands of rows, one price": ("spambase", "covtype", "mnist_3_8"),
    "thousands of rows, tests with prices": ("thyroid",),
    "cheap columns that tell which others count": ("quadrants", "cube", "cube_nm"),
    "columns bought in blocks or steps": ("usps_blocks", "asp_potassco", "sat12_indu"),
    "queries and documents": ("mq2008",),
}
ALL = "all"  # the mean over all budgets
SHOWN = 3  # methods
Figures = Mapping[str, Mapping[str, Any]]  # by contender


def missed(problems: Mapping[str, Figures], budget: str) -> dict[str, float]:
    """Return what each method misses on the mean over some problems, the least first.

    >>> figures = {"thrifty": {"gain": 9.0}, "l1": {"gain": 10.0}}
    >>> missed({"heart": figures, "pima": {"thrifty": {"gain": 8.0}, "l1": {"gain": 4.0}}}, "all")
    {'thrifty': 0.5, 'l1': 2.0}
    """
    names = [name for name in METHODS if problems and all(name in figures for figures in problems.values())]
    found = dict.fromkeys(names, 0.0)
    for figures in problems.values():
        points = {name: _points(figures[name], budget) for name in names}
        for name in names:
            found[name] += (max(points.values()) - points[name]) / len(problems)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def by_kind(summary: Mapping[str, Any]) -> dict[str, dict[str, Figures]]:
    """Return the problems of a summary by the kind of their data; kinds without problems are missing."""
    problems = summary["problems"]
    found = {kind: {name: problems[name] for name in names if name in problems} for kind, names in KINDS.items()}
    return {kind: each for kind, each in found.items() if each}


def data_table(summary: Mapping[str, Any]) -> ShownTable:
    """Return the best methods for each kind of data, over all budgets, with the points that they miss."""
    rows = [(kind, ", ".join(each), _best(missed(each, ALL))) for kind, each in by_kind(summary).items()]
    return ShownTable("By data", ("data", "problems", "methods (points missed)"), rows)


def budget_table(summary: Mapping[str, Any]) -> ShownTable:
    """Return the best method for each kind of data and each budget, and the points that the default model misses."""
    rows = []
    for kind, each in by_kind(summary).items():
        found = [missed(each, str(share)) for share in SHARES]
        rows.append((kind, *(f"{next(iter(one))} ({_points_of(one)})" for one in found)))
    header = ("data", *(f"budget {100 * share:g}%" for share in SHARES))
    return ShownTable("By budget, in shares of the cost of all columns", header, rows)


def _points(figures: Mapping[str, Any], budget: str) -> float:
    return figures["gain"] if budget == ALL else figures["points_at"][budget]


def _best(found: Mapping[str, float]) -> str:
    return ", ".join(f"{name} ({points:.1f})" for name, points in list(found.items())[:SHOWN])


def _points_of(found: Mapping[str, float]) -> str:
    return f"{FLAGSHIP} {found[FLAGSHIP]:.1f}" if FLAGSHIP in found else f"{FLAGSHIP} -"
