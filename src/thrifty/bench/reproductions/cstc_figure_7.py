"""Figure 7 of Xu et al. (2014): cascades against trees and baselines where few documents are relevant.

The rule of each verdict is that of `leads` for "is better", on areas under the curves of Precision@5 from nothing to
the price of all raw features:

    1   CSCC - Cronus > its error
    2   CSCC - CSTC > its error and Cronus - CSTC > its error
    3   the same for CSCC, Cronus and CSTC over AND-OR, AdaBoostRS, early exit (each s) and stage-wise regression

Every contender may balance the classes or not, and Cronus has three keep ratios in the full suite; held-out rows
choose, like the cost weight. AdaBoostRS draws its trees once per seed.
"""

from functools import partial
from typing import Any

from thrifty import AdaBoostRSClassifier, AndOrClassifier, CronusClassifier, CSCCClassifier, CSTCClassifier
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.contests import Contest
from thrifty.bench.reproductions._measuring.leads import judged_better
from thrifty.bench.reproductions._measuring.problems import Problem, ranking
from thrifty.bench.reproductions._measuring.ranking import early_exit, over_trees, over_trees_balanced, stage_wise
from thrifty.bench.results import Results
from thrifty.bench.runs import Run
from thrifty.datasets import load_mq2008, make_ltr_skewed, skew_ranking

CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 7",
    text=(
        "With one relevant document to 100 others, CSCC is a little better than Cronus, both are better than CSTC, and "
        "all three are better than AND-OR, AdaBoostRS, early exit and stage-wise regression."
    ),
)
DATA = (
    "Precision@5 on synthetic queries with the Yahoo! price list and on MQ2008 with drawn prices, because the Yahoo! "
    "data are licensed."
)
DEPTH, STAGES = 3, 5
KEEP_RATIOS = (0.5, 0.3, 0.8)  # the first one only in the quick suite
EXITS = (0.2, 0.3, 0.5)
DRAWS = (1, 2, 5, 10, 20, 50, 100)
BALANCES = (None, "balanced")


def _synthetic(seed: int, full: bool) -> Problem:
    data = make_ltr_skewed(1000, random_state=seed) if full else make_ltr_skewed(100, 16, 60, random_state=seed)
    return ranking(data, seed, "precision@5", full=full)


def _mq2008(seed: int, full: bool) -> Problem:
    data = skew_ranking(load_mq2008(fold=1 + seed % 5), relevant_from=2)
    return ranking(data, seed, "precision@5", None if full else 150, full)


def _cscc(problem: Problem, seed: int) -> list[Any]:
    models = [CSCCClassifier(n_stages=STAGES, class_weight=weights, random_state=seed) for weights in BALANCES]
    return over_trees(problem, models)


def _cronus(problem: Problem, seed: int) -> list[Any]:
    models = [
        CronusClassifier(n_stages=STAGES, class_weight=weights, keep_ratio=ratio, random_state=seed)
        for weights in BALANCES
        for ratio in (KEEP_RATIOS if problem.full else KEEP_RATIOS[:1])
    ]
    return over_trees(problem, models)


def _cstc(problem: Problem, seed: int) -> list[Any]:
    model = CSTCClassifier(max_depth=DEPTH, random_state=seed)
    return over_trees(problem, [model]) + over_trees_balanced(problem, model)


def _and_or(problem: Problem, seed: int) -> list[Any]:
    models = [AndOrClassifier(n_stages=STAGES, class_weight=weights, random_state=seed) for weights in BALANCES]
    return over_trees(problem, models)


def _adaboost_rs(problem: Problem, seed: int) -> list[Any]:
    models = [AdaBoostRSClassifier(costs=problem.costs, n_samples=n, random_state=seed) for n in DRAWS]
    return [model.fit(problem.train.X, problem.train.y) for model in models]


EARLY_EXITS = {f"early exit, s={s:g}": partial(early_exit, s=s) for s in EXITS}
CONTEST = Contest(
    __name__.rpartition(".")[2],
    {"synthetic queries": _synthetic, "MQ2008": _mq2008},
    {
        "CSCC": _cscc,
        "Cronus": _cronus,
        "CSTC": _cstc,
        "AND-OR": _and_or,
        "AdaBoostRS": _adaboost_rs,
        **EARLY_EXITS,
        "stage-wise regression": stage_wise,
    },
)
BASELINES = ("AND-OR", "AdaBoostRS", *EARLY_EXITS, "stage-wise regression")


def runs(full: bool) -> list[Run]:
    """Return one run per problem, seed and contender."""
    return CONTEST.runs(full)


def verdicts(results: Results) -> list[Verdict]:
    """Judge the three parts of the claim."""
    parts = {
        "CSCC is better than Cronus where relevant documents are rare.": [("CSCC", "Cronus")],
        "CSCC and Cronus are better than CSTC where relevant documents are rare.": [
            ("CSCC", "CSTC"),
            ("Cronus", "CSTC"),
        ],
        "CSCC, Cronus and CSTC are better than AND-OR, AdaBoostRS, early exit and stage-wise regression.": [
            (ours, theirs) for ours in ("CSCC", "Cronus", "CSTC") for theirs in BASELINES
        ],
    }
    return [
        CONTEST.verdict(Claim(CLAIM.paper, CLAIM.where, f"{text} {DATA}"), results, leads, judged_better)
        for text, leads in parts.items()
    ]


def figure(results: Results) -> Any:
    """Draw Precision@5 against cost."""
    return CONTEST.figure(results)
