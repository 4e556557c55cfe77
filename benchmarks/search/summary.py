"""The table of docs/benchmarks.md from the lines that runs of `run.py` have printed.

    python benchmarks/search/summary.py this.jsonl [other.jsonl]

The first file is of this version, the other one of the version that it is compared with. Lines of runs that did not end
have no score. Only runs that ended in both files are compared.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Line = dict[str, Any]
Results = dict[tuple[str, int, float], Line]  # by table, split and share of the cost of all columns

CLOSE = 0.9  # a bound of at least this share of the budget has used it
LEAST_RISE = 5e-4  # a difference of scores that three decimals show
HEAD = (
    "table", "ended", "score", "difference", "spend / budget", "budget kept", "bound >= 90%", "or flat",
    "or within noise", "seconds of CPU",
)  # fmt: skip
LEGEND = """
In brackets: the other version. Difference: mean over splits of this score less that of the other version, with its
standard error over splits. Budget kept: held-out rows spend at most the budget on average. Flat: no mixture of two
points that were measured should score better at the budget than the chosen point; within noise: better by at most the
standard error of its score. Runs whose lines do not tell count as not flat."""


def read_results(path: Path) -> Results:
    """Return the lines of a file; of several lines of one run, the last one."""
    text = path.read_text().splitlines() if path.exists() else []
    lines = [json.loads(line) for line in text if line.strip()]
    return {(each["table"], each["seed"], round(each["share"], 4)): each for each in lines}


def summary(this: Results, other: Results) -> Iterator[str]:
    """Yield the lines of a table in Markdown, one for each table and one for all, and of a legend."""
    yield "| " + " | ".join(HEAD) + " |"
    yield "|" + "---|" * len(HEAD)
    names = list(dict.fromkeys(key[0] for key in this))
    for name in names:
        yield _row(name, {key: line for key, line in this.items() if key[0] == name}, other)
    if len(names) > 1:
        yield _row("all", this, other)
    yield LEGEND


def _row(name: str, this: Results, other: Results) -> str:
    both = [key for key, line in this.items() if _ended(line) and (not other or _ended(other.get(key, {})))]
    cells = [name, _ended_cell(this, other)]
    if not both:
        return "| " + " | ".join(cells + [""] * (len(HEAD) - 2)) + " |"
    mine, theirs = [this[key] for key in both], [other[key] for key in both] if other else []

    def cell(value: Callable[[Line], float], form: str) -> str:
        found = [form.format(np.mean([value(line) for line in lines])) for lines in (mine, theirs) if lines]
        return found[0] + (f" ({found[1]})" if theirs else "")

    cells += [cell(lambda line: line["score"], "{:.3f}"), _difference(both, this, other)]
    cells += [cell(lambda line: line["spend"], "{:.2f}"), cell(_kept, "{:.0%}"), cell(_is_close, "{:.0%}")]
    cells += [f"{np.mean([_is_close(each) or _rise(each) <= limit(each) for each in mine]):.0%}" for limit in LIMITS]
    cells.append(cell(lambda line: line["seconds"], "{:.0f}"))
    return "| " + " | ".join(cells) + " |"


def _ended(line: Line) -> bool:
    return "score" in line


def _ended_cell(this: Results, other: Results) -> str:
    ended = f"{sum(map(_ended, this.values()))} of {len(this)}"
    theirs = [other[key] for key in this if key in other]
    return ended + (f" ({sum(map(_ended, theirs))} of {len(theirs)})" if other else "")


def _difference(both: Iterable[tuple[str, int, float]], this: Results, other: Results) -> str:
    """Return the mean difference of the scores over splits, and its standard error."""
    if not other:
        return ""
    by_split: dict[tuple[str, int], list[float]] = {}
    for key in both:
        by_split.setdefault(key[:2], []).append(this[key]["score"] - other[key]["score"])
    means = np.array([np.mean(each) for each in by_split.values()])
    error = f" ± {means.std(ddof=1) / np.sqrt(len(means)):.3f}" if len(means) > 1 else ""
    return f"{means.mean():+.3f}{error}"


def _kept(line: Line) -> float:
    return float(line["spend"] <= 1.0)


def _is_close(line: Line) -> float:
    return float(line["bound"] >= CLOSE)


def _rise(line: Line) -> float:
    """Return what a mixture should score more at the budget than the chosen point; infinity if that is not known."""
    rise = line.get("rise")
    return np.inf if rise is None else float(rise)


LIMITS: tuple[Callable[[Line], float], ...] = (
    lambda line: LEAST_RISE,
    lambda line: line.get("promised_error", 0.0),
)


if __name__ == "__main__":
    this, *others = (read_results(Path(each)) for each in sys.argv[1:])
    print(*summary(this, others[0] if others else {}), sep="\n")
