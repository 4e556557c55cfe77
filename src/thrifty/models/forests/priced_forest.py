"""A forest and what it costs to walk through it: rounds of trees, prices in ticks, the batch driver.

Trees are evaluated in order, a round at a time: one tree, or as many as it takes to add to every score (a tree per
class). Everything is counted in whole ticks, evaluation included, so that sums are exact; see `thrifty.costs.money`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from thrifty.costs import CostModel
from thrifty.costs.money import to_ticks
from thrifty.exceptions import CostError
from thrifty.kernels.early_exit import exit_early
from thrifty.kernels.forest_purchases import UnitArrays, buy_rows
from thrifty.kernels.threads import over_rows
from thrifty.models.base import Run
from thrifty.models.forests.forest import LEAF, Forest

STRETCH = 32  # rounds: a bill takes as long as a few trees of a block, a row's walk alone as long as many
NOBODY = np.empty((0, 0), dtype=bool)  # in place of `acquired` where it is not wanted


class PricedForest:
    """A forest with what its features and its trees cost.

    Parameters
    ----------
    forest : Forest
    cost_model : CostModel
        Of the columns of X.
    evaluation_costs : array-like of shape (n_trees,)
        What evaluating each tree costs a row.
    """

    def __init__(self, forest: Forest, cost_model: CostModel, evaluation_costs: Any):
        self.forest, self.cost_model, self.evaluation_costs = forest, cost_model, evaluation_costs
        self.round_at = round_edges(forest)
        self._columns = np.flatnonzero(forest.reads.any(axis=0))
        self.units = self._compiled(checked_evaluation_costs(evaluation_costs, forest.n_trees))

    def _compiled(self, evaluation_costs: np.ndarray) -> UnitArrays:
        requirement, n_units = self.cost_model.requirement, len(self.cost_model.unit_costs)
        ticks, scale = to_ticks(np.concatenate([self.cost_model.unit_costs, evaluation_costs]))
        payer_at, payer = _compressed(requirement.T)
        bill_at, bill = _compressed(requirement)
        return UnitArrays(
            ticks=ticks[:n_units].copy(),
            scale=float(scale),
            payer_at=payer_at,
            payer=payer,
            bill_at=bill_at,
            bill=bill,
            round_at=self.round_at,
            round_ticks=np.add.reduceat(ticks[n_units:], self.round_at[:-1]),
        )

    @property
    def n_rounds(self) -> int:
        """How many rounds there are."""
        return len(self.round_at) - 1

    def run(self, X: np.ndarray, cap: np.ndarray) -> Run:
        """Send rows through the rounds; the scores of the run are the sums (n, n_scores), its exits the last rounds."""
        walk = partial(self._walk, X, cap)
        sums, spend, exits = walk(NOBODY)
        return Run(sums, partial(_kept, walk, X.shape), spend, exits)

    def run_queries(
        self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray, checkpoints: np.ndarray, widths: np.ndarray, top: int
    ) -> Run:
        """Send documents through the rounds; at a checkpoint those leave that are too far behind the top-th best."""
        walk = partial(self._walk_queries, X, cap, _by_query(qid), checkpoints, widths, top)
        sums, spend, exits = walk(NOBODY)
        return Run(sums, partial(_kept, walk, X.shape), spend, exits)

    def _walk_queries(
        self,
        X: np.ndarray,
        cap: np.ndarray,
        queries: Any,
        checkpoints: Any,
        widths: Any,
        top: int,
        acquired: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sums, spend, exits = self._blank(len(X))
        order, query_at = queries
        given = (self.forest.arrays, self.units, X, cap, order, query_at, checkpoints, widths, top)

        def walk(first: int, last: int) -> None:
            begin, end = np.searchsorted(query_at[:-1], [first, last]).tolist()  # the queries that begin there
            exit_early(*given, begin, end, sums, spend, exits, acquired)

        over_rows(walk, len(X))
        return sums, spend, exits

    def _walk(self, X: np.ndarray, cap: np.ndarray, acquired: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sums, spend, exits = self._blank(len(X))
        stretch = self.n_rounds if np.isinf(cap).all() else STRETCH
        given = (self.forest.arrays, self.units, self._columns, stretch, X, cap)
        over_rows(lambda first, last: buy_rows(*given, first, last, sums, spend, exits, acquired), len(X))
        return sums, spend, exits

    def _blank(self, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.empty((n_rows, len(self.forest.base))), np.empty(n_rows), np.empty(n_rows, dtype=np.int64)

    @cached_property
    def steps(self) -> list[tuple[Any, ...]]:
        """The nodes as a session sees them, in plain Python, for indexing arrays one by one is slow; a leaf is empty.

        Where categories are listed the threshold is NaN, so that every value fails to compare with it.
        """
        forest, sets = self.forest, {node: frozenset(codes) for node, codes in self.forest.categories.items()}
        threshold = forest.threshold.copy()
        threshold[list(sets)] = np.nan
        columns = (forest.feature, threshold, forest.left, forest.right, forest.missing_left)
        splits = zip(*(each.tolist() for each in columns), strict=True)
        return [() if split[0] == LEAF else (*split, sets.get(node)) for node, split in enumerate(splits)]

    @cached_property
    def leaves(self) -> list[list[float]]:
        """What nodes put out that are leaves."""
        return self.forest.value.tolist()

    @cached_property
    def trees(self) -> list[tuple[int, list[int]]]:
        """The root of each tree and the scores that its values add to."""
        return list(zip(self.forest.starts.tolist(), self.forest.arrays.score_of.tolist(), strict=True))

    @cached_property
    def rounds(self) -> list[tuple[float, slice]]:
        """What evaluating each round costs, in ticks, and its trees."""
        edges = [slice(*pair) for pair in pairwise(self.round_at.tolist())]
        return list(zip(self.units.round_ticks.tolist(), edges, strict=True))

    @cached_property
    def bills(self) -> list[list[tuple[int, float]]]:
        """The units that each feature requires, with their ticks."""
        at, units, ticks = self.units.bill_at.tolist(), self.units.bill.tolist(), self.units.ticks.tolist()
        return [[(u, ticks[u]) for u in units[a:b]] for a, b in pairwise(at)]


def _kept(walk: Callable[[np.ndarray], Any], shape: tuple[int, ...]) -> np.ndarray:
    """Walk again, now keeping what each row looks at."""
    acquired = np.empty(shape, dtype=bool)
    walk(acquired)
    return acquired


def _by_query(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows query by query, and where each query begins and the last ends."""
    order = np.argsort(qid, kind="stable")
    begins = np.flatnonzero(np.append(True, qid[order][1:] != qid[order][:-1]))
    return order, np.append(begins, len(qid))


def round_edges(forest: Forest) -> np.ndarray:
    """Return where rounds start and the last one ends: the shortest period in which every score gets its share."""
    score_of = forest.score_of.reshape(forest.n_trees, -1)
    n_scores, n_trees = len(forest.base), forest.n_trees
    for period in range(1, n_trees + 1):
        shares = np.bincount(score_of[:period].ravel(), minlength=n_scores)
        if (shares == shares[0]).all() and (score_of[period:] == score_of[:-period]).all():
            return np.append(np.arange(0, n_trees, period), n_trees)
    return np.array([0, n_trees])


def checked_evaluation_costs(costs: Any, n_trees: int) -> np.ndarray:
    """Return one evaluation cost per tree, refusing what makes no sense."""
    array = np.asarray(costs)
    if not np.issubdtype(array.dtype, np.number) or array.shape not in ((), (n_trees,)):
        raise CostError(f"evaluation_costs is {costs!r}; expected one number, or one for each of the {n_trees} trees.")
    for bad in array[~((array >= 0) & (array < np.inf))][:1].tolist():
        raise CostError(f"evaluation_costs holds {bad}; expected numbers of at least 0.")
    return np.full(n_trees, array, dtype=float)


def _compressed(incidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the entries of each row start, and the columns of all entries."""
    rows, columns = np.nonzero(incidence)
    return np.searchsorted(rows, np.arange(len(incidence) + 1)), columns.astype(np.uint32)
