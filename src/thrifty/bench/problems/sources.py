"""Where the data of the problems come from, with their prices."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty import datasets
from thrifty.bench.problems.problem import Table
from thrifty.costs import CostModel

PORTFOLIO = 5  # algorithms among which an ASlib problem chooses
BLOCK = 4  # pixels of a side of a block


@dataclass(frozen=True, eq=False)
class Source:
    """All rows of a problem, and the costs of their columns."""

    rows: Table
    costs: CostModel


def stored(seed: int, n_rows: int, *, load: str, **options: Any) -> Source:
    """Return a data set that `thrifty.datasets` loads by the name of a function."""
    data = getattr(datasets, load)(**options)
    return _classes(data.X, data.y, data.costs)


def drawn(seed: int, n_rows: int, *, make: str, **options: Any) -> Source:
    """Return rows that are drawn anew for each seed."""
    data = getattr(datasets, make)(n_rows, random_state=seed, **options)
    return _classes(data.X, data.y, data.costs)


def quadrants(seed: int, n_rows: int) -> Source:
    """Return the quadrants problem with classes: is the label above the mean of its quadrant?

    Two cheap signs show which one of four expensive columns tells it.
    """
    data = datasets.make_quadrants(n_rows, random_state=seed)
    means = np.array([data.y[data.quadrant == q].mean() for q in range(data.quadrant.max() + 1)])
    return _classes(data.X, data.y > means[data.quadrant], data.costs)


def ranking(seed: int, n_rows: int, *, load: str) -> Source:
    """Return documents of queries."""
    data = getattr(datasets, load)()
    rows = Table(_numbers(data.X), np.asarray(data.y, dtype=float), np.asarray(data.qid))
    return Source(rows, CostModel.resolve(data.costs, data.X.shape[1]))


def pixel_blocks(seed: int, n_rows: int) -> Source:
    """Return the USPS digits: a block of 4 x 4 pixels is bought as a whole, for 1."""
    data = datasets.load_usps()
    side = int(np.sqrt(data.X.shape[1]))
    row, column = np.divmod(np.arange(side**2), side)
    block = (row // BLOCK) * (side // BLOCK) + column // BLOCK
    bundles = {f"block {b}": (np.flatnonzero(block == b).tolist(), 1.0) for b in range(block.max() + 1)}
    return _classes(data.X, data.y, CostModel(np.zeros(side**2), bundles=bundles))


def algorithm_selection(seed: int, n_rows: int, *, scenario: str) -> Source:
    """Return an ASlib scenario: choose one of five algorithms by features that are computed in steps.

    The five are chosen one by one, so that together they solve as many instances as possible. An instance is of the
    class of the one that solves it fastest. A prediction is worth 1 if the predicted algorithm solves the instance in
    time. Models are trained on the mean seconds of each step; rows pay the seconds that their own steps took.
    """
    data = datasets.load_aslib(scenario)
    chosen = _portfolio(data.algo_ok)
    solved = data.algo_ok[:, chosen]
    seconds = np.where(solved, data.algo_perf[:, chosen], np.inf)
    by_name = {name: data.step_cost[:, j] for j, name in enumerate(data.step_names)}
    means = data.costs.unit_costs
    prices = np.column_stack([by_name[unit] for unit in data.costs.unit_names])
    prices = np.where(np.isnan(prices), means, prices)
    some = solved.any(axis=1)
    rows = Table(_numbers(data.X), seconds.argmin(axis=1), None, prices, solved.astype(float))
    return Source(rows.take(np.flatnonzero(some)), data.costs)


def _portfolio(solved: np.ndarray) -> list[int]:
    """Return algorithms that together solve many instances, chosen one by one."""
    chosen: list[int] = []
    done = np.zeros(len(solved), dtype=bool)
    for _ in range(PORTFOLIO):
        gains = (solved & ~done[:, None]).sum(axis=0) + 1e-6 * solved.sum(axis=0)
        gains[chosen] = -1.0
        chosen.append(int(gains.argmax()))
        done |= solved[:, chosen[-1]]
    return sorted(chosen)


def _classes(X: Any, y: Any, costs: Any) -> Source:
    X = _numbers(X)
    return Source(Table(X, np.unique(y, return_inverse=True)[1]), CostModel.resolve(costs, X.shape[1]))


def _numbers(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X, dtype=float)


Build = Callable[[int, int], Source]
