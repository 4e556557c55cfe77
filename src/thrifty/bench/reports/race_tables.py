"""Tables of the race: one for each problem, and one of mean ranks."""

from math import isnan

from thrifty.bench.curves import Standing, standings
from thrifty.bench.ranks import Ranking
from thrifty.bench.results import Results

HEADER = ("contender", "area", "99% of full at", "fit (s)", "seeds", "")


def problem_rows(results: Results, problem: str) -> list[tuple[str, ...]]:
    """Return a row for each contender, the largest area first.

    "area" is the normalised area with its confidence interval. "99% of full at" is the mean spend, in percent of the
    cost of all columns, that reaches 99% of the full model's score. "fit" is the CPU time of one fit on all training
    rows.
    """
    return [_row(each) for each in standings(results, problem)]


def rank_rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """Return the mean rank of each contender, and its rank on each problem."""
    return [
        (name, f"{ranking.mean_ranks[j]:.2f}", *(f"{rank:g}" for rank in ranking.ranks[:, j]))
        for j, name in enumerate(ranking.contenders)
    ]


def _row(standing: Standing) -> tuple[str, ...]:
    failures = f"{len(standing.failures)} failed: {standing.failures[0]}" if standing.failures else ""
    return (
        standing.contender,
        _with_interval(standing.area, standing.interval),
        "-" if isnan(standing.spend_for_enough) else f"{100 * standing.spend_for_enough:.0f}%",
        "-" if isnan(standing.fit_seconds) else f"{standing.fit_seconds:.2f}",
        str(len(standing.areas)),
        failures,
    )


def _with_interval(mean: float, half_width: float) -> str:
    return f"{mean:.3f}" if isnan(half_width) else f"{mean:.3f} ± {half_width:.3f}"
