"""Training time of ASTC and CSTC with equal node budgets (Tables 1 and 2 of Kusner et al., 2014).

As in the paper, CSTC is fitted first, for several lambdas. The cost of what each of its nodes buys is the budget of the
same node of ASTC. Times are CPU times of single fits on one thread. A speed-up is

    time of CSTC / time of ASTC

for CSTC with block descent, which is the paper's solver, and with the joint solver, which is the default here.
"""

import warnings
from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thrifty.bench.reproductions._measuring.problems import Part
from thrifty.bench.results import Result

SOLVERS = ("block", "joint")


def node_budgets(model: Any) -> np.ndarray:
    """Return the cost of what each node buys, by its position in the complete tree.

    The children of position k are 2k + 1 and 2k + 2.
    """
    budgets, tree = np.zeros(2**model.max_depth - 1), model.tree_
    queue = [(0, 0)]
    while queue:
        node, position = queue.pop()
        budgets[position] = tree.step_cost[node]
        children = ((1, tree.upper[node]), (2, tree.lower[node]))
        queue += [(child, 2 * position + side) for side, child in children if child >= 0]
    return budgets


def measured_speedups(cstc: Any, astc: Any, rows: Part, cost_weight: float, max_depth: int) -> dict[str, Any]:
    """Return the CPU times of CSTC by solver, and of ASTC and ASTC soft with the budgets of its nodes.

    Parameters
    ----------
    cstc, astc : estimators
        With the costs, not fitted.
    rows : Part
        Training rows.
    cost_weight : float
        Lambda of CSTC.
    max_depth : int
    """
    for model in (cstc, astc):  # compile the kernels
        model.set_params(max_depth=2).fit(rows.X[:200], rows.y[:200])
    cstc.set_params(max_depth=max_depth, cost_weight=cost_weight)
    seconds = {solver: _seconds(cstc.set_params(solver=solver), rows) for solver in SOLVERS}
    astc.set_params(max_depth=max_depth, node_budget=node_budgets(cstc))
    soft = {name: _seconds(astc.set_params(soft=soft), rows) for name, soft in (("ASTC", False), ("ASTC soft", True))}
    return {"spend": float(cstc.spend(rows.X).mean()), **seconds, **soft}


def _seconds(model: Any, rows: Part) -> float:
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows.X, rows.y)
    return process_time() - start


def speedups(found: Sequence[Result], solver: str, name: str = "ASTC") -> dict[str, dict[str, list[float]]]:
    """Return the speed-ups by data set and lambda, the largest lambda first, one per seed."""
    by_data: dict[str, dict[str, list[float]]] = {}
    for result in found:
        values: Mapping[str, Any] = result.values
        settings = by_data.setdefault(values["data"], {})
        settings.setdefault(f"{values['cost_weight']:g}", []).append(values[solver] / max(values[name], 1e-9))
    return {data: dict(sorted(each.items(), key=lambda item: -float(item[0]))) for data, each in by_data.items()}


def in_words(found: Mapping[str, Mapping[str, list[float]]]) -> str:
    """Return the median speed-up of each setting, by data set."""
    return "; ".join(
        f"{data} {' '.join(f'{np.median(each):.3g}x' for each in settings.values())}"
        for data, settings in found.items()
    )


def medians(found: Mapping[str, Mapping[str, list[float]]]) -> list[float]:
    """Return the median speed-up of each data set and setting."""
    return [float(np.median(each)) for settings in found.values() for each in settings.values()]
