"""Figure 3 of Pelossof and Ying: stop-errors of the constant boundary, and its number of terms.

Random walks with normal steps of mean 0.05 and variance 1, as in the paper, and the constant boundary on one side. Over
the seeds:

    "the boundary is conservative"    reproduced if mean(stop-error) <= delta for every delta and number of terms n
    "terms grow like sqrt(n)"         reproduced if the mean slope of log(mean number of terms) over log(n) is between
                                      0.4 and 0.6 for every delta
"""

from functools import partial
from typing import Any

import numpy as np

from thrifty import simulate_stst
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.seeds import seeds_in_words
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Pelossof and Ying (2012), Attentive",
    where="Figure 3",
    text="The rate of stop-errors is below delta, and the mean number of terms grows like the square root of n.",
)
DELTAS = (0.01, 0.05, 0.1, 0.2, 0.3)
N_TERMS = (2048, 4096, 8192, 16384)
MORE_TERMS = (*N_TERMS, 32768, 65536)
N_WALKS = (500, 2000)
SEEDS = (3, 10)
SLOPES = (0.4, 0.6)


def runs(full: bool) -> list[Run]:
    """Return one run per seed."""
    return [Run(Key(NAME, seed, "constant", full), partial(_measure, seed, full)) for seed in range(SEEDS[full])]


def _measure(seed: int, full: bool) -> dict[str, Any]:
    lengths = MORE_TERMS if full else N_TERMS
    found = simulate_stst(DELTAS, lengths, boundary="constant", n_walks=N_WALKS[full], random_state=seed)
    return {
        "n_terms": found.n_terms.tolist(),
        "delta": found.delta.tolist(),
        "stop_error": found.stop_error.tolist(),
        "mean_terms": found.mean_terms.tolist(),
        "slope": found.growth.tolist(),
    }


def verdicts(results: Results) -> list[Verdict]:
    """Judge both parts of the claim."""
    conservative, growth = (
        Claim(CLAIM.paper, f"{CLAIM.where}{panel}", text)
        for panel, text in (
            ("a", "The rate of stop-errors of the constant boundary is below delta."),
            ("b", "The mean number of terms grows like the square root of all terms."),
        )
    )
    found = results.of(NAME)
    if not found:
        return [not_run(claim, NAME, results, "simulations") for claim in (conservative, growth)]
    seeds = seeds_in_words(result.key.seed for result in found)
    errors, slopes = (np.mean([result.values[name] for result in found], axis=0) for name in ("stop_error", "slope"))
    ratio = float((errors / np.array(found[0].values["delta"])).max())
    low, high = float(slopes.min()), float(slopes.max())
    return [
        Verdict(
            conservative,
            "reproduced" if ratio <= 1 else "not reproduced",
            f"The largest mean stop-error is {ratio:.2f} of its delta ({seeds}).",
        ),
        Verdict(
            growth,
            "reproduced" if SLOPES[0] <= low and high <= SLOPES[1] else "not reproduced",
            f"The slopes of log(mean terms) over log(n) are {low:.3f} to {high:.3f}; 0.5 is a square root ({seeds}).",
        ),
    ]


def figure(results: Results) -> Any:
    """Draw the stop-errors against delta, and the mean number of terms against n."""
    from thrifty.bench.reproductions._measuring.drawing import panels

    found = [result.values for result in results.of(NAME)]
    if not found:
        return None
    figure, axes = panels(["stop-errors", "number of terms"], "", "")
    errors, terms = (np.mean([each[name] for each in found], axis=0) for name in ("stop_error", "mean_terms"))
    left, right = axes.values()
    for length, each in zip(found[0]["n_terms"], errors, strict=True):
        left.plot(found[0]["delta"], each, marker="o", label=f"{length} terms")
    left.plot([0, max(DELTAS)], [0, max(DELTAS)], "--", color="grey", label="stop-error = delta")
    left.set(xlabel="delta", ylabel="rate of stop-errors")
    for delta, each in zip(found[0]["delta"], terms.T, strict=True):
        right.plot(found[0]["n_terms"], each, marker="o", label=f"delta {delta:g}")
    right.set(xlabel="terms n", ylabel="mean number of terms", xscale="log", yscale="log")
    for ax in (left, right):
        ax.legend(frameon=False, fontsize=8)
    return figure
