"""Figure 1, left, of Xu et al. (2012): NDCG@5 against cost by iteration of the Greedy Miser, for several lambdas.

Let c(lambda) be the mean spend on test rows after the first tenth of the iterations. The claim is reproduced if

    mean of c(smaller) - c(larger) >= 0 for all neighbouring lambdas, and
    mean of c(smallest) - c(largest) > its standard error

over the problems and seeds. The dot of each curve is the iteration with the best NDCG@5 on held-out rows.
"""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.curves import measured_curve
from thrifty.bench.reproductions._measuring.leads import Lead, described, judged_better
from thrifty.bench.reproductions._measuring.queries import GRADED, MORE_GRADED, NOTE
from thrifty.bench.reproductions.miser_figure_1_right import iterations
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Xu et al. (2012), Greedy Miser",
    where="Figure 1, left",
    text=f"A larger lambda reduces the cost of the early iterations. {NOTE}",
)
COST_WEIGHTS = (0.0, 1e-5, 1e-4, 1e-3)
SEEDS = (2, 5)
EARLY = 0.1  # share of the iterations


def runs(full: bool) -> list[Run]:
    """Return one run per problem, seed and lambda."""
    problems = {**GRADED, **(MORE_GRADED if full else {})}
    return [
        Run(Key(NAME, seed, f"{name}: lambda {weight:g}", full), partial(_measure, name, weight, seed, full))
        for name in problems
        for seed in range(SEEDS[full])
        for weight in COST_WEIGHTS
    ]


def _measure(name: str, cost_weight: float, seed: int, full: bool) -> dict[str, Any]:
    problem = {**GRADED, **MORE_GRADED}[name](seed, full)
    models = iterations(problem, seed, cost_weight)
    curve = measured_curve(lambda *_: models, problem, seed)
    return {"problem": name, "cost_weight": cost_weight, "iterations": [m.best_iteration_ for m in models], **curve}


def verdicts(results: Results) -> list[Verdict]:
    """Judge the claim."""
    early: dict[str, dict[tuple[str, int], float]] = {}
    for result in results.of(NAME):
        name = f"lambda {result.values['cost_weight']:g}"
        early.setdefault(name, {})[result.values["problem"], result.key.seed] = _early_spend(result.values)
    names = [f"lambda {weight:g}" for weight in COST_WEIGHTS]
    leads = [Lead.of(early, *pair) for pair in (*pairwise(names), (names[0], names[-1]))]
    if not all(leads):
        return [not_run(CLAIM, NAME, results, "two lambdas on the same problem and seed")]
    falls = all(lead.mean >= 0 for lead in leads)
    outcome = judged_better(leads[-1]) if falls else "not reproduced"
    return [Verdict(CLAIM, outcome, f"Mean spend after a tenth of the iterations: {described(leads)}")]


def _early_spend(curve: Mapping[str, Any]) -> float:
    """Return the spend of the last point within the first tenth of the iterations."""
    counts = np.array(curve["iterations"])
    return float(curve["spend"][np.flatnonzero(counts <= max(1, EARLY * counts[-1]))[-1]])


def figure(results: Results) -> Any:
    """Draw NDCG@5 against cost by iteration, for the first seed."""
    from thrifty.bench.reproductions._measuring.drawing import panels

    shown = [result.values for result in results.of(NAME) if result.key.seed == 0]
    if not shown:
        return None
    figure, axes = panels(list(dict.fromkeys(each["problem"] for each in shown)), "mean spend", "NDCG@5")
    for curve in sorted(shown, key=lambda each: each["cost_weight"]):
        ax, best = axes[curve["problem"]], int(np.argmax(curve["held_score"]))
        (line,) = ax.plot(curve["spend"], curve["score"], label=f"lambda {curve['cost_weight']:g}")
        ax.plot(curve["spend"][best], curve["score"][best], "o", color=line.get_color())
    next(iter(axes.values())).legend(frameon=False, fontsize=8)
    return figure
