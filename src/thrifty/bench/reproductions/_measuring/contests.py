"""Contests: several contenders on several problems and seeds, each measured by its curve of spend and score."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from thrifty.bench.claims import Claim, Outcome, Verdict
from thrifty.bench.reproductions._measuring.curves import area, chosen, measured_curve
from thrifty.bench.reproductions._measuring.leads import Lead, described
from thrifty.bench.reproductions._measuring.problems import Problem
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run

WORST_FIRST: tuple[Outcome, ...] = ("not reproduced", "reproduced", "better")

Areas = dict[str, dict[tuple[str, int], float]]  # by contender, then by problem and seed


@dataclass(frozen=True)
class Contest:
    """Who is compared on what.

    Attributes
    ----------
    name : str
        The module of the reproduction.
    problems : mapping
        ``problem(seed, full)`` by name. A quick problem has few rows.
    contenders : mapping
        ``contender(problem, seed)`` by name; it returns fitted models.
    seeds : (int, int)
        The numbers of seeds of the quick and of the full suite.
    """

    name: str
    problems: Mapping[str, Callable[[int, bool], Problem]]
    contenders: Mapping[str, Callable[[Problem, int], list[Any]]]
    seeds: tuple[int, int] = (2, 5)

    def runs(self, full: bool) -> list[Run]:
        """Return one run per problem, seed and contender."""
        return [
            Run(
                Key(self.name, seed, f"{problem}: {contender}", full),
                partial(_measure, self.problems[problem], problem, self.contenders[contender], contender, seed, full),
            )
            for problem in self.problems
            for seed in range(self.seeds[full])
            for contender in self.contenders
        ]

    def areas(self, results: Results, share: float = 1.0) -> Areas:
        """Return the area of each contender, by problem and seed."""
        found: Areas = {contender: {} for contender in self.contenders}
        for result in results.of(self.name):
            values = result.values
            found.setdefault(values["contender"], {})[values["problem"], result.key.seed] = area(values, share)
        return found

    def verdict(
        self,
        claim: Claim,
        results: Results,
        leads: Sequence[tuple[str, str]],
        rule: Callable[[Lead], Outcome],
        share: float = 1.0,
    ) -> Verdict:
        """Judge a claim by the leads of pairs of contenders; its outcome is the worst outcome of the pairs."""
        areas = self.areas(results, share)
        found = [Lead.of(areas, first, second) for first, second in leads]
        if not all(found):
            missing = next(f"{lead.first} and {lead.second}" for lead in found if not lead)
            return Verdict(claim, "not run", _why_not(self.name, results, missing))
        outcomes = [rule(lead) for lead in found]
        worst = min(outcomes, key=WORST_FIRST.index)
        return Verdict(claim, worst, f"Areas under the curve: {described(found)}")

    def figure(self, results: Results) -> Any:
        """Draw the chosen settings of each contender on the first seed, one panel per problem."""
        from thrifty.bench.reproductions._measuring.drawing import panels

        shown = [result for result in results.of(self.name) if result.key.seed == 0]
        problems = [problem for problem in self.problems if any(r.values["problem"] == problem for r in shown)]
        if not problems:
            return None
        figure, axes = panels(problems, "mean spend", shown[0].values["scoring"])
        for result in shown:
            spend, score = chosen(result.values)
            ax = axes[result.values["problem"]]
            steps = [*spend, max(spend[-1], result.values["total"])], [*score, score[-1]]
            ax.step(*steps, where="post", label=result.values["contender"])
            ax.set_ylabel(result.values["scoring"])
        next(iter(axes.values())).legend(frameon=False, fontsize=8)
        return figure


@lru_cache(maxsize=1)
def _problem(make: Callable[[int, bool], Problem], seed: int, full: bool) -> Problem:
    return make(seed, full)


def _measure(
    make: Callable[[int, bool], Problem], name: str, contend: Callable, contender: str, seed: int, full: bool
) -> dict[str, Any]:
    problem = _problem(make, seed, full)
    curve = measured_curve(contend, problem, seed)
    return {"problem": name, "contender": contender, "scoring": problem.scoring, **curve}


def _why_not(name: str, results: Results, what: str) -> str:
    reasons = [reason for key, reason in results.left_out.items() if key.name == name]
    return f"No results of {what} on the same problem and seed" + (f": {reasons[0]}" if reasons else ".")
