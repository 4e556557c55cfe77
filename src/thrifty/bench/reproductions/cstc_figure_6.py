"""Figure 6 of Xu et al. (2014): trees against cascades and baselines on graded relevance.

The rule of each verdict is that of `leads` for "is better", on areas under the curves of NDCG@5 from nothing to the
price of all raw features:

    1   CSTC over Cronus, the single cost-sensitive classifier, early exit (each s) and stage-wise regression
    2   Cronus over the same others
    3   CSTC over CSTC without fine-tuning
    4   the single cost-sensitive classifier over stage-wise regression

Each lead of a part has to exceed its error. CSTC has the fine-tuning of section 3.5 as printed; the fine-tuning that
`CSTCRegressor` chooses by itself is measured beside it.
"""

from functools import partial
from typing import Any

from thrifty import CronusRegressor, CSTCRegressor
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.contests import Contest
from thrifty.bench.reproductions._measuring.leads import judged_better
from thrifty.bench.reproductions._measuring.problems import Problem
from thrifty.bench.reproductions._measuring.queries import GRADED, MORE_GRADED, NOTE
from thrifty.bench.reproductions._measuring.ranking import early_exit, over_trees, stage_wise
from thrifty.bench.results import Results
from thrifty.bench.runs import Run

CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 6",
    text=(
        "CSTC has the best NDCG@5 at equal cost, Cronus is better than the other contenders, fine-tuning helps a "
        "little, and a single cost-sensitive classifier is better than stage-wise regression."
    ),
)
DEPTH = 3
STAGES = (5, 10)  # of Cronus, in the quick and in the full suite
KEEP_RATIOS = (0.5, 0.3, 0.8)  # the first one only in the quick suite
EXITS = (0.2, 0.3, 0.5)


def cstc(problem: Problem, seed: int, depth: int = DEPTH, fine_tune: str | None = "paper") -> list[Any]:
    """Return a sweep of CSTC over the outputs of the trees."""
    return over_trees(problem, [CSTCRegressor(max_depth=depth, fine_tune=fine_tune, random_state=seed)])


def cronus(problem: Problem, seed: int) -> list[Any]:
    """Return a sweep of Cronus for each keep ratio."""
    ratios = KEEP_RATIOS if problem.full else KEEP_RATIOS[:1]
    stages = STAGES[problem.full]
    return over_trees(problem, [CronusRegressor(n_stages=stages, keep_ratio=r, random_state=seed) for r in ratios])


SINGLE, STAGE_WISE = "single cost-sensitive classifier", "stage-wise regression"
EARLY_EXITS = {f"early exit, s={s:g}": partial(early_exit, s=s) for s in EXITS}
CONTEST = Contest(
    __name__.rpartition(".")[2],
    GRADED,
    {
        "CSTC": cstc,
        "CSTC without fine-tuning": partial(cstc, fine_tune=None),
        "CSTC, default fine-tuning": partial(cstc, fine_tune="auto"),
        "Cronus": cronus,
        SINGLE: partial(cstc, depth=1),
        **EARLY_EXITS,
        STAGE_WISE: stage_wise,
    },
    full_problems=MORE_GRADED,
)
OTHERS = (SINGLE, *EARLY_EXITS, STAGE_WISE)


def runs(full: bool) -> list[Run]:
    """Return one run per problem, seed and contender."""
    return CONTEST.runs(full)


def verdicts(results: Results) -> list[Verdict]:
    """Judge the four parts of the claim."""
    parts = {
        "CSTC is better than all other contenders.": [("CSTC", other) for other in ("Cronus", *OTHERS)],
        "Cronus is better than the contenders other than CSTC.": [("Cronus", other) for other in OTHERS],
        "Fine-tuning improves CSTC a little.": [("CSTC", "CSTC without fine-tuning")],
        "A single cost-sensitive classifier is better than stage-wise regression.": [(SINGLE, STAGE_WISE)],
    }
    return [
        CONTEST.verdict(Claim(CLAIM.paper, CLAIM.where, f"{text} {NOTE}"), results, leads, judged_better)
        for text, leads in parts.items()
    ]


def figure(results: Results) -> Any:
    """Draw NDCG@5 against cost."""
    return CONTEST.figure(results)
