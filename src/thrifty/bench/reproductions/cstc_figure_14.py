"""Figure 14 of Xu et al. (2014): overlap of the features of classifiers of neighbouring labels.

Classifiers with l1 penalty separate the labels 0 and 1, 1 and 2, and so on. The trend is the rank correlation of the
Jaccard index of two classifiers with their distance. The claim is reproduced if mean(trend) < -(its standard error)
over the seeds. MQ2008 and OHSUMED have three grades, which give a single distance, so they have no trend.
"""

from functools import partial
from typing import Any

import numpy as np

from thrifty import cstc_criterion
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.seeds import seeds_in_words
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run
from thrifty.datasets import load_mslr, make_ltr

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 14",
    text=(
        "Classifiers of neighbouring grades share fewer features the further apart their grades are. On synthetic "
        "queries and on MSLR, because the Yahoo! data are licensed."
    ),
)
SEEDS = (3, 10)
DATA = ("synthetic queries", "MSLR")


def runs(full: bool) -> list[Run]:
    """Return one run per data set and seed; MSLR is a fixed table of which each seed draws half of the queries."""
    return [
        Run(Key(NAME, seed, name, full), partial(_measure, name, seed, full))
        for name in DATA
        for seed in range(SEEDS[full])
    ]


def _measure(name: str, seed: int, full: bool) -> dict[str, Any]:
    if name == "MSLR":
        data = load_mslr()
        queries = np.random.default_rng(seed).permutation(np.unique(data.qid))
        rows = np.isin(data.qid, queries[: len(queries) // (2 if full else 6)])
        X, y = data.X[rows], data.y[rows]
    else:
        data = make_ltr(2000, random_state=seed) if full else make_ltr(150, 16, 100, random_state=seed)
        X, y = data.X, data.y
    found = cstc_criterion(X, y)
    pairs = [f"{lower} vs {upper}" for lower, upper in found.pairs]
    return {"data": name, "pairs": pairs, "jaccard": found.jaccard.tolist(), "trend": found.trend}


def verdicts(results: Results) -> list[Verdict]:
    """Judge the claim."""
    found = results.of(NAME)
    trends = np.array([result.values["trend"] for result in found])
    if len(trends) < 2:
        return [not_run(CLAIM, NAME, results, "two seeds")]
    error = trends.std(ddof=1) / np.sqrt(len(trends))
    by_data = {name: [r.values["trend"] for r in found if r.values["data"] == name] for name in DATA}
    parts = ", ".join(f"{name} {np.mean(each):+.2f}" for name, each in by_data.items() if each)
    seeds = seeds_in_words(result.key.seed for result in found)
    sentence = f"Mean rank correlation {trends.mean():+.2f} ± {error:.2f} ({parts}; {seeds})."
    return [Verdict(CLAIM, "reproduced" if trends.mean() < -error else "not reproduced", sentence)]


def figure(results: Results) -> Any:
    """Draw the Jaccard matrix of the first seed of each data set."""
    from thrifty.bench.reproductions._measuring.drawing import matrices

    shown = [result.values for result in results.of(NAME) if result.key.seed == 0]
    if not shown:
        return None
    return matrices([(each["data"], each["pairs"], np.array(each["jaccard"])) for each in shown])
