"""Figure 1, right, of Xu et al. (2012): the Greedy Miser against boosting, early exit and Cronus.

The rule is that of `leads` for "is better", on areas under the curves of NDCG@5 from nothing to the price of all
features: each lead of the Greedy Miser over the others has to exceed its error. As in the paper, the Greedy Miser has
the squared loss of the grades, and held-out rows choose lambda and the number of iterations. With LambdaRank, the
default loss of `GreedyMiserRanker`, it is measured beside it.
"""

from functools import partial
from typing import Any

import numpy as np

from thrifty import GreedyMiserRanker
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.contests import Contest
from thrifty.bench.reproductions._measuring.leads import judged_better
from thrifty.bench.reproductions._measuring.problems import Problem
from thrifty.bench.reproductions._measuring.queries import GRADED, MORE_GRADED, NOTE
from thrifty.bench.reproductions._measuring.ranking import EVALUATION_COST, size_of_trees, stage_wise
from thrifty.bench.reproductions.cstc_figure_6 import EARLY_EXITS, cronus
from thrifty.bench.results import Results
from thrifty.bench.runs import Run

CLAIM = Claim(
    paper="Xu et al. (2012), Greedy Miser",
    where="Figure 1, right",
    text=f"The Greedy Miser is better than boosting without costs, early exit and Cronus at equal cost. {NOTE}",
)
COST_WEIGHTS = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3)
BOOSTING = "boosting (lambda = 0)"


def iterations(problem: Problem, seed: int, cost_weight: float, loss: str = "squared_error") -> list[Any]:
    """Return the Greedy Miser of one lambda after 1, 2, 3, 5, ... iterations."""
    n_trees, depth = size_of_trees(problem)
    model = GreedyMiserRanker(
        loss=loss,
        costs=problem.costs,
        cost_weight=cost_weight,
        n_estimators=n_trees,
        max_depth=depth,
        evaluation_cost=EVALUATION_COST,
        random_state=seed,
    )
    rounds = model.path(problem.train.X, problem.train.y, qid=problem.train.qid)
    return [rounds[count - 1] for count in np.unique(np.geomspace(1, len(rounds), 12).astype(int))]


def miser(problem: Problem, seed: int, loss: str = "squared_error") -> list[Any]:
    """Return the Greedy Miser of several lambdas and numbers of iterations."""
    return [model for weight in COST_WEIGHTS for model in iterations(problem, seed, weight, loss)]


CONTEST = Contest(
    __name__.rpartition(".")[2],
    GRADED,
    {
        "Greedy Miser": miser,
        "Greedy Miser, LambdaRank": partial(miser, loss="lambdarank"),
        "Cronus": cronus,
        **EARLY_EXITS,
        BOOSTING: stage_wise,
    },
    full_problems=MORE_GRADED,
)


def runs(full: bool) -> list[Run]:
    """Return one run per problem, seed and contender."""
    return CONTEST.runs(full)


def verdicts(results: Results) -> list[Verdict]:
    """Judge the claim."""
    leads = [("Greedy Miser", other) for other in ("Cronus", *EARLY_EXITS, BOOSTING)]
    return [CONTEST.verdict(CLAIM, results, leads, judged_better)]


def figure(results: Results) -> Any:
    """Draw NDCG@5 against cost."""
    return CONTEST.figure(results)
