"""Tables of the race: one for each problem, and one of mean ranks."""

from math import isnan

from thrifty.bench.curves import Standing, standings
from thrifty.bench.ranks import Ranking
from thrifty.bench.results import Results
from thrifty.bench.tables import ShownTable

HEADER = ("contender", "gain (points)", "area", "99% of full at", "fit (s)", "seeds", "")


def problem_rows(results: Results, problem: str) -> list[tuple[str, ...]]:
    """Return a row for each contender, the largest gain first.

    "gain" is the mean of score - floor over spends, with its confidence interval, and "area" the same in shares of
    full - floor, where that means something. "99% of full at" is the mean spend, in percent of the cost of all columns,
    that reaches 99% of the full model's score, or how many of the seeds reach it. "fit" is the CPU time of one fit on
    all training rows.
    """
    return [_row(each) for each in standings(results, problem)]


def problem_tables(results: Results, problem: str) -> list[ShownTable]:
    """Return the table of a problem; none without results."""
    rows = problem_rows(results, problem)
    return [ShownTable(f"{problem}: figures by contender", HEADER, rows)] if rows else []


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
        _with_interval(standing.gain, standing.gain_interval, 2),
        _with_interval(standing.area, standing.interval, 3),
        _spend_for_enough(standing),
        "-" if isnan(standing.fit_seconds) else f"{standing.fit_seconds:.2f}",
        str(len(standing.gains)),
        failures,
    )


def _spend_for_enough(standing: Standing) -> str:
    if isnan(standing.spend_for_enough):
        return f"{standing.n_enough} of {len(standing.enough)} seeds" if standing.n_enough else "-"
    return f"{_with_interval(100 * standing.spend_for_enough, 100 * standing.spend_interval, 0)}%"


def _with_interval(mean: float, half_width: float, digits: int) -> str:
    if isnan(mean):
        return "-"
    return f"{mean:.{digits}f}" if isnan(half_width) else f"{mean:.{digits}f} ± {half_width:.{digits}f}"
