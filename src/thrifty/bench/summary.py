"""The summary: the few figures of a run that are committed beside the code, and that documentation quotes."""

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

from thrifty.bench.contenders import FULL
from thrifty.bench.curves import Standing
from thrifty.bench.flagship_verdict import all_standings, ranking_of
from thrifty.bench.ranks import DIGITS, Ranking, ranked
from thrifty.bench.reports.verdicts import verdicts_of
from thrifty.bench.results import Results
from thrifty.bench.scaling import inference, training
from thrifty.bench.suite import Part

COMMITTED = Path(__file__).with_name("summary.json")


def committed() -> dict[str, Any]:
    """Return the committed summary."""
    return json.loads(COMMITTED.read_text(encoding="utf-8"))


def summary_of(parts: Sequence[Part], results: Results, checked: Results) -> dict[str, Any]:
    """Return the summary of results, and of the small subset that `check` runs."""
    found = all_standings(results)
    ranking = ranking_of(found)
    one = next(iter(results))
    return {
        "versions": dict(one.versions),
        "machine": dict(one.machine),
        "problems": {problem: figures(standing) for problem, standing in found.items()},
        "ranking": None if ranking is None else {
            "problems": list(ranking.problems),
            "mean_ranks": {name: _rounded(ranking.rank_of(name)) for name in ranking.contenders},
            "critical_difference": _rounded(ranking.critical_difference),
        },
        "verdicts": [
            {"name": name, "claim": verdict.claim.text, "source": f"{verdict.claim.paper}, {verdict.claim.where}",
             "outcome": verdict.outcome, "sentence": verdict.sentence}
            for name, verdict in verdicts_of(parts, results)
        ],
        "scaling": scaling_of(results) or committed().get("scaling"),
        "check": {problem: figures(standing) for problem, standing in all_standings(checked).items()},
    }  # fmt: skip


def scaling_of(results: Results) -> dict[str, Any] | None:
    """Return what was measured against sizes; None without results, so that the committed figures stay."""
    found = [each for name in (training.NAME, inference.NAME) for each in results.of(name)]
    if not found:
        return None
    return {
        "versions": dict(found[-1].versions),
        "machine": dict(found[-1].machine),
        "training": training.growth(results),
        "inference": inference.speeds(results),
    }


def committed_ranking() -> Ranking:
    """Return the ranking that follows from the committed gains.

    >>> round(committed_ranking().critical_difference, 4) == committed()["ranking"]["critical_difference"]
    True
    """
    problems = committed()["problems"]
    gains = {
        problem: {name: each["gain"] for name, each in contenders.items() if name != FULL}
        for problem, contenders in problems.items()
    }
    found = ranked(gains)
    assert found is not None
    return found


def figures(standings: Sequence[Standing]) -> dict[str, Any]:
    """Return the figures of contenders by name."""
    return {
        each.contender: {
            "gain": _rounded(each.gain),
            "gain_interval": _rounded(each.gain_interval),
            "area": _rounded(each.area),
            "interval": _rounded(each.interval),
            "areas": {str(seed): _rounded(area) for seed, area in sorted(each.areas.items())},
            "points_at": {str(share): _rounded(points) for share, points in each.points_at.items()},
            "spend_for_enough": _rounded(each.spend_for_enough),
            "spend_interval": _rounded(each.spend_interval),
            "seeds_enough": each.n_enough,
            "fit_seconds": _rounded(each.fit_seconds),
            "seconds": _rounded(each.seconds),
        }
        for each in standings
    }


def write_summary(path: Path, summary: dict[str, Any]) -> None:
    """Write a summary as JSON."""
    path.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(value: float) -> float | None:
    return None if isnan(value) else round(value, DIGITS)
