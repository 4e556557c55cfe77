"""Figure 13 of Xu et al. (2014): features by resolution, and paths of digits 3 and 8, for several lambdas of CSTC.

The claim is reproduced if both hold in the means over the seeds:

    1   the mean number of features that test rows acquire does not fall by more than 1% as lambda decreases
    2   even with the largest lambda that buys anything, the shares of the digits 3 and 8 at the leaves differ by at
        least half: 1/2 * sum over the leaves of |share of the 3s - share of the 8s| >= 0.5
"""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.seeds import seeds_in_words
from thrifty.bench.reproductions.cstc_figure_12 import RESOLUTIONS, cstc, digits
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 13",
    text="A smaller lambda buys more pixels, and even the cheapest tree sends digits 3 and 8 along different paths.",
)
SEEDS = (1, 3)
SLACK, APART = 0.01, 0.5


def runs(full: bool) -> list[Run]:
    """Return one run per seed."""
    return [Run(Key(NAME, seed, "CSTC", full), partial(_measure, seed, full)) for seed in range(SEEDS[full])]


def _measure(seed: int, full: bool) -> dict[str, Any]:
    problem = digits(seed, full)
    models = sorted(cstc(problem, seed), key=lambda model: -model.cost_weight)
    return {"trees": [described_tree(model, problem.test.X, problem.test.y) for model in models]}


def described_tree(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return how many pixels of each resolution the rows of each class acquire, and how far apart their leaves are."""
    found = model.acquire(X)
    edges = np.cumsum([0, *(side**2 for side in RESOLUTIONS)])
    pixels = np.add.reduceat(found.acquired.astype(float), edges[:-1], axis=1)
    shares = [np.bincount(found.exit[y == c] + 1, minlength=model.tree_.n_nodes + 1) / (y == c).sum() for c in (0, 1)]
    return {
        "cost_weight": float(model.cost_weight),
        "acquired": float(pixels.sum(axis=1).mean()),
        "by_resolution": [pixels[y == c].mean(axis=0).tolist() for c in (0, 1)],
        "apart": float(np.abs(shares[0] - shares[1]).sum() / 2),
    }


def verdicts(results: Results) -> list[Verdict]:
    """Judge the claim."""
    found = [result for result in results.of(NAME) if any(tree["acquired"] for tree in result.values["trees"])]
    if not found:
        return [not_run(CLAIM, NAME, results, "trees that buy pixels")]
    acquired = np.mean([[tree["acquired"] for tree in result.values["trees"]] for result in found], axis=0)
    apart = float(np.mean([next(t for t in r.values["trees"] if t["acquired"])["apart"] for r in found]))
    grows = all(later >= (1 - SLACK) * earlier for earlier, later in pairwise(acquired))
    sentence = (
        f"Mean number of pixels from large to small lambda: {' '.join(f'{each:.0f}' for each in acquired)}; the shares "
        f"of 3s and 8s at the leaves of the cheapest tree differ by {apart:.2f} "
        f"({seeds_in_words(result.key.seed for result in found)})."
    )
    return [Verdict(CLAIM, "reproduced" if grows and apart >= APART else "not reproduced", sentence)]


def figure(results: Results) -> Any:
    """Draw the mean number of pixels by resolution and lambda, for rows of each class."""
    from thrifty.bench.reproductions._measuring.drawing import panels

    found = results.of(NAME)
    if not found:
        return None
    figure, axes = panels(["digit 3", "digit 8"], "lambda", "mean number of pixels")
    trees = found[0].values["trees"]
    for c, ax in enumerate(axes.values()):
        for k, side in enumerate(RESOLUTIONS):
            pixels = [tree["by_resolution"][c][k] for tree in trees]
            ax.plot([tree["cost_weight"] for tree in trees], pixels, "o-", label=f"{side} x {side}")
        ax.set_xscale("log")
        ax.legend(frameon=False, fontsize=8)
    return figure
