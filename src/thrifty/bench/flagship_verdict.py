"""The claim about the default model in the race, and its verdict."""

from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.contenders import FLAGSHIP, FULL
from thrifty.bench.curves import Standing, standings
from thrifty.bench.problems import CATALOG
from thrifty.bench.ranks import DIGITS, Ranking, ranked
from thrifty.bench.results import Results

CLAIM = Claim(
    "This project",
    "the race",
    "The default model has the best mean rank over the problems, by more than chance.",
)


def all_standings(results: Results) -> dict[str, list[Standing]]:
    """Return the standings on each problem of the catalog that has results of the default model."""
    found = {name: standings(results, name) for name in CATALOG}
    return {name: each for name, each in found.items() if any(one.contender == FLAGSHIP for one in each)}


def ranking_of(found: dict[str, list[Standing]]) -> Ranking | None:
    """Return the ranking over problems; LightGBM on all columns takes no part, because it is the measure."""
    return ranked(
        {
            problem: {each.contender: round(each.gain, DIGITS) for each in standing if each.contender != FULL}
            for problem, standing in found.items()
        }
    )


def verdicts(results: Results) -> list[Verdict]:
    """Return the verdict on the default model."""
    found = all_standings(results)
    ranking = ranking_of(found)
    if ranking is None:
        return [Verdict(CLAIM, "not run", "There are too few results.")]
    worse = ranking.worse_than(FLAGSHIP)
    is_best = ranking.contenders[0] == FLAGSHIP and len(worse) == len(ranking.contenders) - 1
    sentence = " ".join((_rank_sentence(ranking), _worse_sentence(ranking, worse), _lost_sentence(found)))
    return [Verdict(CLAIM, "reproduced" if is_best else "not reproduced", sentence)]


def _rank_sentence(ranking: Ranking) -> str:
    first = ranking.contenders[0]
    own = ranking.rank_of(FLAGSHIP)
    place = "the best" if first == FLAGSHIP else f"{first} is first with {ranking.rank_of(first):.1f}"
    return (
        f"The mean rank of {FLAGSHIP} is {own:.1f} of {len(ranking.contenders)} contenders over "
        f"{len(ranking.problems)} problem{'s' * (len(ranking.problems) > 1)} ({place})."
    )


def _worse_sentence(ranking: Ranking, worse: list[str]) -> str:
    n = len(ranking.contenders) - 1
    names = f": {', '.join(worse)}" if worse else ""
    return (
        f"It is significantly better than {len(worse)} of {n} others (Wilcoxon, Holm, 5%){names}. "
        f"Mean ranks must differ by {ranking.critical_difference:.1f} (Nemenyi)."
    )


def _lost_sentence(found: dict[str, list[Standing]]) -> str:
    """Return on which problems another contender has a larger gain, and by how much over common seeds."""
    lost = []
    for problem, standing in found.items():
        own = next(each for each in standing if each.contender == FLAGSHIP)
        first = next(each for each in standing if each.contender != FULL)
        if first.contender != FLAGSHIP:
            lost.append(f"{problem} ({first.contender}, {first.gain:.2f} against {own.gain:.2f} points)")
    n_seeds = sorted({len(next(e for e in each if e.contender == FLAGSHIP).gains) for each in found.values()})
    seeds = f" Seeds: {'-'.join(map(str, n_seeds))} per problem."
    if not lost:
        return "It loses on no problem." + seeds
    return f"Others have a larger gain on {len(lost)} of {len(found)} problems: {'; '.join(lost)}." + seeds
