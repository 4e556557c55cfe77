"""Figure 10 of Xu et al. (2014): average labels and shared features of the leaves of a CSTC tree.

Supports are those as learned, before fine-tuning, in terms of raw features. The tree is the cheapest one of a sweep
with at least 95% of the best NDCG@5 on held-out rows. The trend of a tree is the rank correlation, over pairs of
leaves, of their Jaccard index with the difference of their average labels on test rows. The claim is reproduced if
mean(trend) < -(its standard error) over the seeds whose tree has at least three leaves that test rows reach.
"""

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.queries import NOTE, synthetic
from thrifty.bench.reproductions._measuring.seeds import seeds_in_words
from thrifty.bench.reproductions._measuring.supports import cheapest_good
from thrifty.bench.reproductions.cstc_figure_6 import cstc
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run
from thrifty.models.expected_cost.criterion import jaccard_matrix

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 10",
    text=f"Leaves of a CSTC tree share fewer features the further apart their average labels are. {NOTE}",
)
SEEDS = (4, 10)
DEPTH = 3


def runs(full: bool) -> list[Run]:
    """Return one run per seed."""
    return [Run(Key(NAME, seed, "CSTC", full), partial(_measure, seed, full)) for seed in range(SEEDS[full])]


def _measure(seed: int, full: bool) -> dict[str, Any]:
    problem = synthetic(seed, full)
    model = cheapest_good(cstc(problem, seed, depth=DEPTH), problem)
    exits = model.acquire(problem.test.X).exit
    leaves = [int(node) for node in np.unique(exits) if node >= 0]
    labels = [float(problem.test.y[exits == node].mean()) for node in leaves]
    order = np.argsort(labels)[::-1]
    supports = model.node_supports(learned=True)[leaves]
    jaccard = jaccard_matrix(supports)[np.ix_(order, order)]
    return {
        "leaves": [leaves[k] for k in order],
        "labels": [labels[k] for k in order],
        "jaccard": jaccard.tolist(),
        "trend": trend(np.array(labels)[order], jaccard),
    }


def trend(labels: np.ndarray, jaccard: np.ndarray) -> float | None:
    """Return the rank correlation of the Jaccard index with the difference of labels; None if it is not defined."""
    pairs = list(combinations(range(len(labels)), 2))
    distance, overlap = [abs(labels[i] - labels[j]) for i, j in pairs], [jaccard[i, j] for i, j in pairs]
    if len(pairs) < 3 or np.ptp(overlap) == 0:
        return None
    return float(spearmanr(distance, overlap).statistic)


def verdicts(results: Results) -> list[Verdict]:
    """Judge the claim."""
    found = [result for result in results.of(NAME) if result.values["trend"] is not None]
    if len(found) < 2:
        return [not_run(CLAIM, NAME, results, "two trees of at least three leaves with different features")]
    trends = np.array([result.values["trend"] for result in found])
    error = trends.std(ddof=1) / np.sqrt(len(trends))
    seeds = seeds_in_words(result.key.seed for result in found)
    sentence = f"Mean rank correlation {trends.mean():+.2f} ± {error:.2f} ({seeds})."
    return [Verdict(CLAIM, "reproduced" if trends.mean() < -error else "not reproduced", sentence)]


def figure(results: Results) -> Any:
    """Draw the Jaccard matrix of the first tree that has a trend, with the average labels of its leaves."""
    from thrifty.bench.reproductions._measuring.drawing import matrices

    found = results.of(NAME)
    if not found:
        return None
    values = max(found, key=lambda result: result.values["trend"] is not None).values
    names = [f"v{node} ({label:.2f})" for node, label in zip(values["leaves"], values["labels"], strict=True)]
    return matrices([("leaves and their average labels", names, np.array(values["jaccard"]))])
