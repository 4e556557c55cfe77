"""Leads of one contender over another, on the same problems and seeds, and what they say about a claim.

    lead      = mean of the differences first - second, over the problems and seeds that both were measured on
    error     = standard deviation of the differences / sqrt(their number)

    "first is better"           reproduced if lead > error
    "first is as good"          better if lead > max(2 error, TOLERANCE), else reproduced if lead >= -TOLERANCE

In all other cases the claim is not reproduced.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thrifty.bench.claims import Outcome
from thrifty.bench.reproductions._measuring.seeds import seeds_in_words

TOLERANCE = 0.005  # half a percentage point of accuracy, precision or NDCG

Figures = Mapping[tuple[str, int], float]  # (problem, seed) to a figure


@dataclass(frozen=True)
class Lead:
    """The differences between the figures of two contenders, by problem and seed."""

    first: str
    second: str
    differences: Mapping[tuple[str, int], float]

    @classmethod
    def of(cls, figures: Mapping[str, Figures], first: str, second: str) -> "Lead":
        """Return the lead of one contender over another, where both were measured."""
        both = sorted(figures.get(first, {}).keys() & figures.get(second, {}).keys())
        return cls(first, second, {key: figures[first][key] - figures[second][key] for key in both})

    @property
    def mean(self) -> float:
        """Return the mean difference."""
        return float(np.mean(list(self.differences.values())))

    @property
    def error(self) -> float:
        """Return the standard error of the mean; infinity for a single difference."""
        values = list(self.differences.values())
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __str__(self) -> str:
        error = f" ± {self.error:.4f}" if np.isfinite(self.error) else ""
        return f"{self.first} - {self.second} {self.mean:+.4f}{error}"

    @property
    def by_problem(self) -> dict[str, float]:
        """Return the mean difference on each problem."""
        problems = sorted({problem for problem, _ in self.differences})
        return {p: float(np.mean([d for (name, _), d in self.differences.items() if name == p])) for p in problems}


def described(leads: Sequence[Lead]) -> str:
    """Return the leads in words, with their problems and seeds; of a single lead also the mean on each problem."""
    problems = sorted({problem for lead in leads for problem, _ in lead.differences})
    means = leads[0].by_problem if len(leads) == 1 else {}
    shown = [f"{name} {means[name]:+.4f}" if len(problems) > 1 and means else name for name in problems]
    numbers = seeds_in_words(seed for lead in leads for _, seed in lead.differences)
    return f"{'; '.join(map(str, leads))} ({', '.join(shown)}; {numbers})."


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst of several outcomes."""
    return min(outcomes, key=("not reproduced", "reproduced", "better").index)


def judged_better(lead: Lead) -> Outcome:
    """Return what a lead says about the claim that the first contender is better."""
    return "reproduced" if lead.mean > lead.error else "not reproduced"


def judged_as_good(lead: Lead) -> Outcome:
    """Return what a lead says about the claim that the first contender is as good as the second."""
    if lead.mean > max(2 * lead.error, TOLERANCE):
        return "better"
    return "reproduced" if lead.mean >= -TOLERANCE else "not reproduced"
