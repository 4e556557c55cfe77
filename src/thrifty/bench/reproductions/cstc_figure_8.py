"""Figure 8 of Xu et al. (2014): features that CSTC and Cronus use, by depth and price, on graded relevance.

Supports are those as learned, before fine-tuning, in terms of raw features. Of each sweep, the cheapest setting with at
least 95% of the best NDCG@5 on held-out rows is shown. Depth is relative: 0 at the root, 1 at the last node. The claim
is reproduced if, for CSTC and for Cronus,

    mean first depth of features with c >= 20 - mean first depth of features with c <= 5 > its error

over the problems and seeds in which both kinds are used.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.leads import Lead, described, judged_better, worst
from thrifty.bench.reproductions._measuring.problems import Problem
from thrifty.bench.reproductions._measuring.queries import NOTE, synthetic
from thrifty.bench.reproductions._measuring.supports import (
    CHEAP,
    EXPENSIVE,
    cheapest_good,
    figure_by_depth,
    mean_first_depth,
    shares_by_depth,
)
from thrifty.bench.reproductions.cstc_figure_6 import cronus, cstc
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 8",
    text=f"CSTC and Cronus use cheap features early and expensive features at nodes further down. {NOTE}",
)
CONTENDERS: dict[str, Callable[[Problem, int], list[Any]]] = {"CSTC": partial(cstc, depth=4), "Cronus": cronus}
SEEDS = (3, 5)


def runs(full: bool) -> list[Run]:
    """Return one run per seed and contender."""
    return [
        Run(Key(NAME, seed, contender, full), partial(_measure, contender, seed, full))
        for seed in range(SEEDS[full])
        for contender in CONTENDERS
    ]


def _measure(contender: str, seed: int, full: bool) -> dict[str, Any]:
    problem = synthetic(seed, full)
    model = cheapest_good(CONTENDERS[contender](problem, seed), problem)
    return {"contender": contender, "spend": float(model.spend(problem.test.X).mean()), **shares_by_depth(model)}


def verdicts(results: Results) -> list[Verdict]:
    """Judge the claim."""
    leads = [_lead(results, contender) for contender in CONTENDERS]
    if not all(leads):
        return [not_run(CLAIM, NAME, results, "trees that use cheap and expensive features")]
    return [Verdict(CLAIM, worst(map(judged_better, leads)), f"Mean relative first depth: {described(leads)}")]


def _lead(results: Results, contender: str) -> Lead:
    depths: dict[str, dict[tuple[str, int], float]] = {}
    for result in results.of(NAME, contender):
        for kind, limits in (("cheap", (0.0, CHEAP)), ("expensive", (EXPENSIVE, np.inf))):
            depth = mean_first_depth(result.values, *limits)
            if np.isfinite(depth):
                depths.setdefault(f"{contender}, {kind}", {})["synthetic queries", result.key.seed] = depth
    return Lead.of(depths, f"{contender}, expensive", f"{contender}, cheap")


def figure(results: Results) -> Any:
    """Draw the shares of the first seed."""
    shown = [result.values for result in results.of(NAME) if result.key.seed == 0]
    return figure_by_depth(shown) if shown else None
