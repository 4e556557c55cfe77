"""Figure 12 of Xu et al. (2014): test error against cost of CSTC on the digits 3 and 8, and an RBF-SVM.

Digits at four resolutions, 1120 pixels at cost 1. Printed are an error of 0.005 for the support vector machine, with
C = 753.1768 and gamma = 0.0198, and (read from the figure) errors of about 0.12 at a spend of 20 and of 0.035 at 450.
Within each of these spends, held-out rows choose the setting. Let e be the mean error over the seeds on n test rows,
and s = sqrt(e (1 - e) / n). Each printed error p is

    better if e < p - 2 s, else reproduced if e <= p + s, else not reproduced

and the verdict on CSTC is the worst one of its two spends. A quick run has few training rows, so its errors are larger.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from thrifty import CSTCClassifier
from thrifty.bench.claims import Claim, Outcome, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.curves import chosen, measured_curve
from thrifty.bench.reproductions._measuring.leads import worst
from thrifty.bench.reproductions._measuring.problems import Part, Problem
from thrifty.bench.reproductions._measuring.seeds import seeds_in_words
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run
from thrifty.datasets import load_mnist

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Xu et al. (2014), CSTC, CSCC and Cronus",
    where="Figure 12",
    text="On the digits 3 and 8, the error of CSTC falls to 0.12 at a spend of 20 and to 0.035 at 450.",
)
PRINTED = {20.0: 0.12, 450.0: 0.035}
SVM_ERROR, SVM = 0.005, {"C": 753.1768, "gamma": 0.0198}
RESOLUTIONS = (4, 8, 16, 28)
COST_WEIGHTS = np.geomspace(0.02, 1.5, 9)
QUICK_ROWS, HELD_SHARE = 1200, 0.2
SEEDS = (1, 3)


def digits(seed: int, full: bool) -> Problem:
    """Return the digits with the official test rows; the seed draws training and held-out rows."""
    data = load_mnist(digits=(3, 8), resolutions=RESOLUTIONS)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(~data.test))[: None if full else QUICK_ROWS]
    held, train = np.split(rows, [int(HELD_SHARE * len(rows))])
    parts = (Part(data.X[each].astype(float), data.y[each]) for each in (train, held, np.flatnonzero(data.test)))
    fitted, chosen_on, final = parts
    return Problem(fitted, chosen_on, final, data.costs, "accuracy", full)


def cstc(problem: Problem, seed: int) -> list[Any]:
    """Return a sweep of CSTC."""
    model = CSTCClassifier(costs=problem.costs, max_depth=3, random_state=seed)
    return model.path(problem.train.X, problem.train.y, cost_weights=COST_WEIGHTS)


def runs(full: bool) -> list[Run]:
    """Return one run per seed of CSTC, and one of the support vector machine."""
    settings = [(seed, setting) for seed in range(SEEDS[full]) for setting in ("CSTC", "RBF-SVM")]
    return [Run(Key(NAME, seed, setting, full), partial(_measure, setting, seed, full)) for seed, setting in settings]


def _measure(setting: str, seed: int, full: bool) -> dict[str, Any]:
    problem = digits(seed, full)
    if setting == "CSTC":
        curve = measured_curve(cstc, problem, seed)
        return {"n_test": len(problem.test.y), **curve}
    rows = np.vstack([problem.train.X, problem.held.X]), np.concatenate([problem.train.y, problem.held.y])
    machine = SVC(**SVM).fit(*rows)
    return {"n_test": len(problem.test.y), "error": float(1 - machine.score(problem.test.X, problem.test.y))}


def verdicts(results: Results) -> list[Verdict]:
    """Judge CSTC and the baseline."""
    return [_verdict_on_cstc(results), _verdict_on_machine(results)]


def _verdict_on_cstc(results: Results) -> Verdict:
    found = results.of(NAME, "CSTC")
    if not found:
        return not_run(CLAIM, NAME, results, "CSTC")
    n_test, outcomes, parts = found[0].values["n_test"], [], []
    for spend, printed in PRINTED.items():
        error = float(np.mean([_error_within(result.values, spend) for result in found]))
        outcomes.append(judged_error(error, printed, n_test))
        parts.append(f"{error:.4f} within a spend of {spend:g} (printed {printed:g})")
    return Verdict(CLAIM, worst(outcomes), f"Test error {', '.join(parts)}; {_seeds(found)}.")


def _verdict_on_machine(results: Results) -> Verdict:
    claim = Claim(CLAIM.paper, CLAIM.where, "An RBF-SVM on all 1120 pixels has a test error of 0.005.")
    found = results.of(NAME, "RBF-SVM")
    if not found:
        return not_run(claim, NAME, results, "the support vector machine")
    error = float(np.mean([result.values["error"] for result in found]))
    outcome = judged_error(error, SVM_ERROR, found[0].values["n_test"])
    return Verdict(claim, outcome, f"Test error {error:.4f} at cost 1120; {_seeds(found)}.")


def judged_error(error: float, printed: float, n_test: int) -> Outcome:
    """Return the outcome of an error rate on `n_test` rows against a printed one."""
    deviation = np.sqrt(error * (1 - error) / n_test)
    if error < printed - 2 * deviation:
        return "better"
    return "reproduced" if error <= printed + deviation else "not reproduced"


def _error_within(curve: Any, budget: float) -> float:
    spend, score = chosen(curve)
    return 1 - float(score[spend <= budget][-1])


def _seeds(found: list[Any]) -> str:
    return f"{found[0].values['n_test']} test rows, {seeds_in_words(result.key.seed for result in found)}"


def figure(results: Results) -> Any:
    """Draw test error against cost."""
    from thrifty.bench.reproductions._measuring.drawing import panels

    found = results.of(NAME, "CSTC")
    if not found:
        return None
    figure, axes = panels(["digits 3 and 8"], "mean spend", "test error")
    (ax,) = axes.values()
    for result in found:
        spend, score = chosen(result.values)
        ax.step(spend, 1 - score, where="post", label=f"CSTC, seed {result.key.seed}")
    for machine in results.of(NAME, "RBF-SVM")[:1]:
        ax.axhline(machine.values["error"], linestyle="--", color="grey", label="RBF-SVM, all pixels")
    ax.plot(*zip(*PRINTED.items(), strict=True), "kx", label="printed")
    ax.legend(frameon=False, fontsize=8)
    return figure
