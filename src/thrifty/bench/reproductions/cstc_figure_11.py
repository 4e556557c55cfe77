"""Figure 11 of Xu et al. (2014): CSTC without parts of its cost penalty, and with other l1 penalties.

Trees are the features: 3,000 of depth 4 in the full suite, as in the paper, which cost one unit each to evaluate. All
contenders are charged for raw features and evaluations, whatever they were penalised for while they were fitted. The
rule of each verdict is that of `leads` for "is better", on areas under the curves of NDCG@5 up to the price of all raw
features and evaluations:

    1   feature cost only - evaluation cost only: the feature cost contributes most
    2   both costs - evaluation cost only, and both costs - no cost
    3   both costs, for several lambdas - one lambda, for several l1 penalties rho

"Feature cost only" is shown beside them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from thrifty import BoostedFeatureMap, CSTCRegressor
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.contests import Contest
from thrifty.bench.reproductions._measuring.leads import judged_better
from thrifty.bench.reproductions._measuring.problems import Part, Problem
from thrifty.bench.reproductions._measuring.queries import NOTE, synthetic
from thrifty.bench.reproductions._measuring.ranking import EVALUATION_COST, boosted_trees
from thrifty.bench.results import Results
from thrifty.bench.runs import Run
from thrifty.costs import CostModel
from thrifty.metrics import CostCurve, ndcg_at_k

CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 11",
    text="The penalty of the feature cost contributes most to CSTC, and l1 penalties do not replace it.",
)
N_TREES = 3000  # in the full suite
DEPTH = 3
COST_WEIGHT = 0.01
L1_WEIGHTS = np.geomspace(1e-5, 0.1, 9)


def _cstc(problem: Problem, seed: int, features: bool, evaluations: bool) -> Callable[[Part], CostCurve]:
    trees = BoostedFeatureMap(_forest(problem), evaluation_costs=EVALUATION_COST * evaluations)
    costs = problem.costs if features else CostModel(np.zeros(problem.train.X.shape[1]))
    model = CSTCRegressor(costs=costs, feature_map=trees, max_depth=DEPTH, random_state=seed)
    if features or evaluations:
        models = model.path(problem.train.X, problem.train.y)
    else:
        models = [model.fit(problem.train.X, problem.train.y)]
    return partial(_charged, models, problem)


def _l1(problem: Problem, seed: int) -> Callable[[Part], CostCurve]:
    trees = BoostedFeatureMap(_forest(problem), evaluation_costs=EVALUATION_COST)
    models = [
        CSTCRegressor(
            costs=problem.costs,
            feature_map=trees,
            max_depth=DEPTH,
            cost_weight=COST_WEIGHT,
            l1_weight=weight,
            random_state=seed,
        ).fit(problem.train.X, problem.train.y)
        for weight in L1_WEIGHTS
    ]
    return partial(_charged, models, problem)


def _forest(problem: Problem) -> Any:
    return boosted_trees(problem, N_TREES) if problem.full else boosted_trees(problem)


def _charged(models: list[Any], problem: Problem, part: Part) -> CostCurve:
    """Return the curve of models that are charged for raw features and for evaluations."""
    true = BoostedFeatureMap(_forest(problem), evaluation_costs=EVALUATION_COST).cost_model(problem.costs)
    qid: Any = part.qid
    spends, scores = [], []
    for model in models:
        found = model.acquire(part.X)
        spends.append(true.of(model.tree_.acquired_at(found.exit)).mean())
        scores.append(ndcg_at_k(part.y, found.score, qid=qid, k=5))
    return CostCurve(np.array(spends), np.array(scores), score_name="ndcg@5")


CONTEST = Contest(
    __name__.rpartition(".")[2],
    {"synthetic queries": synthetic},
    {
        "both costs": partial(_cstc, features=True, evaluations=True),
        "feature cost only": partial(_cstc, features=True, evaluations=False),
        "evaluation cost only": partial(_cstc, features=False, evaluations=True),
        "no cost": partial(_cstc, features=False, evaluations=False),
        "several rho": _l1,
    },
    seeds=(3, 5),
)


def runs(full: bool) -> list[Run]:
    """Return one run per seed and variant."""
    return CONTEST.runs(full)


def verdicts(results: Results) -> list[Verdict]:
    """Judge the three parts of the claim."""
    parts = {
        "The feature cost contributes most to CSTC.": [("feature cost only", "evaluation cost only")],
        "CSTC is worse without the feature cost, or without both costs.": [
            ("both costs", "evaluation cost only"),
            ("both costs", "no cost"),
        ],
        "Larger l1 penalties do not replace the penalty of the cost.": [("both costs", "several rho")],
    }
    return [
        CONTEST.verdict(Claim(CLAIM.paper, CLAIM.where, f"{text} {NOTE}"), results, leads, judged_better)
        for text, leads in parts.items()
    ]


def figure(results: Results) -> Any:
    """Draw NDCG@5 against cost."""
    return CONTEST.figure(results)
