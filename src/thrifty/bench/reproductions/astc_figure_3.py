"""Figure 3 of Kusner et al. (2014): score against cost of ASTC, ASTC soft, CSTC and a single l1 classifier.

The rule of each verdict is that of `leads`, on areas under the curves from nothing to the cost of all features:

    "ASTC is as good as CSTC"         better, reproduced or not by the lead ASTC - CSTC; the same for ASTC soft
    "all are better than l1"          reproduced if the leads of ASTC, ASTC soft and CSTC over l1 exceed their errors

Trees have at most five levels, as in the paper. Their depth is a setting like any other, chosen on held-out rows.
"""

from typing import Any

import numpy as np

from thrifty import ASTCClassifier, CostWeightedL1Classifier, CSTCClassifier
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.contests import Contest
from thrifty.bench.reproductions._measuring.leads import judged_as_good, judged_better
from thrifty.bench.reproductions._measuring.problems import Problem, ranking, tabular
from thrifty.bench.results import Results
from thrifty.bench.runs import Run
from thrifty.datasets import load_covtype, load_higgs, load_mnist, make_ltr, skew_ranking

CLAIM = Claim(
    paper="Kusner et al. (2014), ASTC",
    where="Figure 3",
    text=(
        "ASTC and ASTC soft are as good as CSTC at equal cost, and all three are better than a single cost-weighted l1 "
        "classifier."
    ),
)
DATA = (
    "Accuracy on Forest (covtype); Precision@5 on synthetic queries with the Yahoo! price list, because the Yahoo! "
    "data are licensed; digits and Higgs particles stand for CIFAR and MiniBooNE, which are not at hand."
)
DEPTHS = (2, 3, 5)
BUDGETS = np.geomspace(0.003, 0.2, 8)  # of a node, as shares of the price of all features
FULL_WEIGHTS = 24  # lambdas of CSTC in the full suite
FEW_ROWS = 2000
MANY_ROWS = 36_603  # rows of the training set of Forest in the paper
MINIBOONE_ROWS = 45_523


def _covtype(seed: int, full: bool) -> Problem:
    rows = MANY_ROWS if full else FEW_ROWS
    return tabular(load_covtype(binary=True), seed, rows, rows, full)


def _digits(seed: int, full: bool) -> Problem:
    data = load_mnist(digits=(3, 8), resolutions=(28 if full else 8,))
    return tabular(data, seed, MANY_ROWS if full else FEW_ROWS, FEW_ROWS, full)


def _higgs(seed: int, full: bool) -> Problem:
    rows = MINIBOONE_ROWS if full else FEW_ROWS
    return tabular(load_higgs(), seed, rows, rows, full)


def _queries(seed: int, full: bool) -> Problem:
    data = make_ltr(2000, random_state=seed) if full else make_ltr(200, 16, 60, random_state=seed)
    return ranking(skew_ranking(data, relevant_from=2, n_copies=1), seed, "precision@5", full=full)


def _astc(problem: Problem, seed: int, soft: bool = False) -> list[Any]:
    budgets = sorted({max(1.0, share * problem.total) for share in BUDGETS})  # the cheapest feature costs 1
    models = [
        ASTCClassifier(costs=problem.costs, max_depth=depth, node_budget=budget, soft=soft, random_state=seed)
        for depth in DEPTHS
        for budget in budgets
    ]
    return [model.fit(problem.train.X, problem.train.y) for model in models]


def _astc_soft(problem: Problem, seed: int) -> list[Any]:
    return _astc(problem, seed, soft=True)


def _cstc(problem: Problem, seed: int) -> list[Any]:
    models, rows = [], (problem.train.X, problem.train.y)
    for depth in DEPTHS:
        sweep = CSTCClassifier(costs=problem.costs, max_depth=depth, random_state=seed)
        usual = sweep.path(*rows)
        limits = usual[0].cost_weight, usual[-1].cost_weight
        models += sweep.path(*rows, cost_weights=np.geomspace(*limits, FULL_WEIGHTS)) if problem.full else usual
    return models


def _l1(problem: Problem, seed: int) -> list[Any]:
    return CostWeightedL1Classifier(costs=problem.costs).path(problem.train.X, problem.train.y)


CONTEST = Contest(
    __name__.rpartition(".")[2],
    {"covtype": _covtype, "digits 3 and 8": _digits, "higgs": _higgs, "synthetic queries": _queries},
    {"ASTC": _astc, "ASTC soft": _astc_soft, "CSTC": _cstc, "l1": _l1},
)
TREES = ("ASTC", "ASTC soft", "CSTC")


def runs(full: bool) -> list[Run]:
    """Return one run per problem, seed and contender."""
    return CONTEST.runs(full)


def verdicts(results: Results) -> list[Verdict]:
    """Judge both parts of the claim."""
    as_good, above_l1 = (
        Claim(CLAIM.paper, CLAIM.where, f"{text} {DATA}")
        for text in (
            "ASTC and ASTC soft are as good as CSTC at equal cost.",
            "ASTC, ASTC soft and CSTC are better than a single l1 classifier.",
        )
    )
    return [
        CONTEST.verdict(as_good, results, [(tree, "CSTC") for tree in TREES[:2]], judged_as_good),
        CONTEST.verdict(above_l1, results, [(tree, "l1") for tree in TREES], judged_better),
    ]


def figure(results: Results) -> Any:
    """Draw score against cost."""
    return CONTEST.figure(results)
