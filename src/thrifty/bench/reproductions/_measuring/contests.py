"""Contests: several contenders on several problems and seeds, each measured by its curve of spend and score."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from thrifty.bench.claims import Claim, Outcome, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.curves import area, chosen, measured_curve
from thrifty.bench.reproductions._measuring.leads import Lead, described, worst
from thrifty.bench.reproductions._measuring.problems import Problem
from thrifty.bench.results import Result, Results
from thrifty.bench.runs import Key, Run

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
        ``contender(problem, seed)`` by name; it returns what `measured_curve` measures.
    seeds : (int, int)
        The numbers of seeds of the quick and of the full suite.
    full_problems : mapping
        Further problems of the full suite.
    """

    name: str
    problems: Mapping[str, Callable[[int, bool], Problem]]
    contenders: Mapping[str, Callable[[Problem, int], Any]]
    seeds: tuple[int, int] = (2, 5)
    full_problems: Mapping[str, Callable[[int, bool], Problem]] = field(default_factory=dict)

    def runs(self, full: bool) -> list[Run]:
        """Return one run per problem, seed and contender."""
        problems = {**self.problems, **(self.full_problems if full else {})}
        return [
            Run(
                Key(self.name, seed, f"{problem}: {contender}", full),
                partial(_measure, make, problem, self.contenders[contender], contender, seed, full),
            )
            for problem, make in problems.items()
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
            return not_run(claim, self.name, results, f"{missing} on the same problem and seed")
        return Verdict(claim, worst(map(rule, found)), f"Areas under the curve: {described(found)}")

    def figure(self, results: Results) -> Any:
        """Draw the chosen settings of each contender on the first seed, one panel per problem."""
        from thrifty.bench.reproductions._measuring.drawing import panels

        shown = [result for result in results.of(self.name) if result.key.seed == 0]
        problems = list(dict.fromkeys(result.values["problem"] for result in shown))
        if not problems:
            return None
        figure, axes = panels(problems, "mean spend", shown[0].values["scoring"])
        for result in shown:
            self.draw(result, axes[result.values["problem"]])
        next(iter(axes.values())).legend(frameon=False, fontsize=7)
        return figure

    def draw(self, result: Result, axes: Any) -> None:
        """Draw the chosen settings of a contender on Matplotlib axes."""
        from thrifty.bench.reproductions._measuring.drawing import style_of

        spend, score = chosen(result.values)
        steps = [*spend, max(spend[-1], result.values["total"])], [*score, score[-1]]
        contender = result.values["contender"]
        axes.step(*steps, where="post", label=contender, **style_of(list(self.contenders).index(contender)))
        axes.set_ylabel(result.values["scoring"])


@lru_cache(maxsize=1)
def _problem(make: Callable[[int, bool], Problem], seed: int, full: bool) -> Problem:
    return make(seed, full)


def _measure(
    make: Callable[[int, bool], Problem], name: str, contend: Callable, contender: str, seed: int, full: bool
) -> dict[str, Any]:
    problem = _problem(make, seed, full)
    curve = measured_curve(contend, problem, seed)
    return {"problem": name, "contender": contender, "scoring": problem.scoring, **curve}
