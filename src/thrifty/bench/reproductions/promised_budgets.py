"""Promised budgets of the default model: mean spends of test rows against the budgets that were asked for.

Each model is fitted once on the training rows of a problem of the race. `at_budget` then promises, with the default
confidence of 95%, that the mean spend of new rows keeps a budget.
"""

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binom

from thrifty import ThriftyClassifier
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.contenders.own_methods import LIGHT
from thrifty.bench.problems import load
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run
from thrifty.plots.palette import COLOR_CYCLE, MUTED_COLOR

NAME = "promised_budgets"
PROBLEMS = {False: ("heart", "quadrants", "bupa"), True: ("heart", "quadrants", "bupa", "pima", "thyroid", "spambase")}
SEEDS = {False: range(5), True: range(20)}
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)  # of the cost of all columns
CONFIDENCE = 0.95
CLAIM = Claim("This project", "the default model", "At least 95% of promised budgets are kept on new rows.")


def runs(full: bool) -> list[Run]:
    """Return a run for each problem and seed."""
    keys = [Key(NAME, seed, problem, full) for seed in SEEDS[full] for problem in PROBLEMS[full]]
    return [Run(key, partial(measure, key.setting, key.seed, full), {"shares": list(SHARES)}) for key in keys]


def measure(problem_name: str, seed: int, full: bool) -> dict[str, Any]:
    """Return what test rows spend at each budget, both in shares of the cost of all columns."""
    problem = load(problem_name, seed, full)
    parameters: dict[str, Any] = {} if full else LIGHT
    model = ThriftyClassifier(costs=problem.costs, random_state=seed, **parameters)
    model.fit(problem.train.X, problem.train.y)
    total = problem.costs.total
    spends = [float(model.at_budget(share * total).spend(problem.test.X).mean() / total) for share in SHARES]
    return {"budgets": list(SHARES), "spends": spends, "n_test": len(problem.test)}


def verdicts(results: Results) -> list[Verdict]:
    """Return whether as many budgets are kept as promised.

    It is "not reproduced" if so few are kept that this has a probability below 5% where each is kept with 95%.
    """
    found = results.of(NAME)
    if not found:
        return [not_run(CLAIM, NAME, results, "promised budgets")]
    budgets, spends = (np.concatenate([each.values[name] for each in found]) for name in ("budgets", "spends"))
    kept, n = int((spends <= budgets + 1e-12).sum()), len(budgets)
    too_few = binom.cdf(kept, n, CONFIDENCE) < 1 - CONFIDENCE
    seeds = sorted({each.key.seed for each in found})
    sentence = (
        f"{kept} of {n} budgets ({100 * kept / n:.0f}%) are kept on test rows of {_problems(found)}, "
        f"seeds {seeds[0]} to {seeds[-1]}. The largest mean spend is {(spends / budgets).max():.2f} times its budget."
    )
    return [Verdict(CLAIM, "not reproduced" if too_few else "reproduced", sentence)]


def figure(results: Results) -> Figure | None:
    """Return mean spends against budgets; points above the line break the promise."""
    found = results.of(NAME)
    if not found:
        return None
    drawn = Figure(figsize=(5.2, 4.0), layout="constrained")
    axes = drawn.subplots()
    for k, problem in enumerate(dict.fromkeys(each.key.setting for each in found)):
        own = [each.values for each in found if each.key.setting == problem]
        budgets, spends = (np.concatenate([each[name] for each in own]) for name in ("budgets", "spends"))
        axes.plot(budgets, spends, "os^vDP"[k % 6], color=COLOR_CYCLE[k % 6], markersize=4, alpha=0.7, label=problem)
    axes.axline((0, 0), slope=1, color=MUTED_COLOR, linewidth=1)
    axes.set(xlabel="budget, share of the cost of all columns", ylabel="mean spend on test rows", xlim=(0, None))
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return drawn


def _problems(found: list[Any]) -> str:
    return ", ".join(dict.fromkeys(each.key.setting for each in found))
