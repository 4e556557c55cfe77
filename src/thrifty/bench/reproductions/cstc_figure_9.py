"""Figure 9 of Xu et al. (2014): features that CSCC, AND-OR and Cronus use, by node and price, with rare relevance.

Supports are those as learned, before fine-tuning. Unlike in the paper, the stages are linear in the raw features, so
that AND-OR can assign them to its five stages by the printed price limits 5, 20, 50, 150 and 200. Of each sweep, the
cheapest setting with at least 95% of the best Precision@5 on held-out rows is shown. The claim is reproduced if, for
CSCC and for Cronus,

    share of the features with c >= 50 at the first node - the same share of AND-OR > its error    over the seeds
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from thrifty import AndOrClassifier, CronusClassifier, CSCCClassifier
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.leads import Lead, described, judged_better, worst
from thrifty.bench.reproductions._measuring.problems import Problem, ranking
from thrifty.bench.reproductions._measuring.supports import (
    cheapest_good,
    figure_by_depth,
    share_at_first_node,
    shares_by_depth,
)
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run
from thrifty.datasets import make_ltr_skewed

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 9",
    text=(
        "CSCC and Cronus use some of the expensive features at their first node already; AND-OR cannot. On synthetic "
        "queries with the Yahoo! price list, because the Yahoo! data are licensed."
    ),
)
PRICE_LIMITS = (5, 20, 50, 150, 200)
STAGES = (5, 10)  # of CSCC and Cronus, in the quick and in the full suite
DEAR = 50.0
SEEDS = (3, 5)


def _cscc(problem: Problem, seed: int) -> Any:
    return CSCCClassifier(n_stages=STAGES[problem.full], class_weight="balanced", random_state=seed)


def _cronus(problem: Problem, seed: int) -> Any:
    return CronusClassifier(n_stages=STAGES[problem.full], class_weight="balanced", random_state=seed)


def _and_or(problem: Problem, seed: int) -> Any:
    return AndOrClassifier(price_limits=PRICE_LIMITS, random_state=seed)


CONTENDERS: dict[str, Callable[[Problem, int], Any]] = {"CSCC": _cscc, "AND-OR": _and_or, "Cronus": _cronus}


def runs(full: bool) -> list[Run]:
    """Return one run per seed and contender."""
    return [
        Run(Key(NAME, seed, contender, full), partial(_measure, contender, seed, full))
        for seed in range(SEEDS[full])
        for contender in CONTENDERS
    ]


def _measure(contender: str, seed: int, full: bool) -> dict[str, Any]:
    data = make_ltr_skewed(1000, random_state=seed) if full else make_ltr_skewed(100, 16, 60, random_state=seed)
    problem = ranking(data, seed, "precision@5", full=full)
    cascade = CONTENDERS[contender](problem, seed).set_params(costs=problem.costs)
    model = cheapest_good(cascade.path(problem.train.X, problem.train.y), problem)
    return {"contender": contender, "spend": float(model.spend(problem.test.X).mean()), **shares_by_depth(model)}


def verdicts(results: Results) -> list[Verdict]:
    """Judge the claim."""
    shares: dict[str, dict[tuple[str, int], float]] = {}
    for result in results.of(NAME):
        share = share_at_first_node(result.values, DEAR)
        shares.setdefault(result.values["contender"], {})["synthetic queries", result.key.seed] = share
    leads = [Lead.of(shares, name, "AND-OR") for name in ("CSCC", "Cronus")]
    if not all(leads):
        return [not_run(CLAIM, NAME, results, "the three cascades on the same seed")]
    sentence = f"Share of the features with c >= {DEAR:g} at the first node: {described(leads)}"
    return [Verdict(CLAIM, worst(map(judged_better, leads)), sentence)]


def figure(results: Results) -> Any:
    """Draw the shares of the first seed."""
    shown = [result.values for result in results.of(NAME) if result.key.seed == 0]
    return figure_by_depth(shown) if shown else None
