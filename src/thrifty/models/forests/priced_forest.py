"""A forest with its costs: rounds of trees, prices in ticks, and batch prediction.

Trees are evaluated in rounds. A round is one tree, or as many trees as are needed to add to every score (one tree per
class). All costs, evaluation included, are whole numbers of ticks, so that sums are exact; see `thrifty.costs.money`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from thrifty.costs import CostModel
from thrifty.costs.money import to_ticks
from thrifty.exceptions import CostError
from thrifty.kernels.early_exit import exit_early
from thrifty.kernels.forest_purchases import UnitArrays, buy_rows
from thrifty.kernels.threads import over_rows
from thrifty.models.base import Run
from thrifty.models.forests.forest import LEAF, Forest

# Comparing costs with caps takes as long as a few trees. A row that exceeds its cap is evaluated again alone, which is
# slow, so the rounds between two comparisons must not be too many either.
ROUNDS_PER_CHECK = 32
NOT_RECORDED = np.empty((0, 0), dtype=bool)  # passed as `acquired` if the acquired features are not wanted

Evaluated = tuple[np.ndarray, np.ndarray, np.ndarray]  # sums (n, n_scores), spend (n,) and exits (n,)


class PricedForest:
    """A forest with the costs of its features and trees.

    Parameters
    ----------
    forest : Forest
    cost_model : CostModel
        What the columns of X cost.
    evaluation_costs : float or array-like of shape (n_trees,)
        What evaluating each tree costs a row.

    Attributes
    ----------
    round_at : ndarray of int, shape (n_rounds + 1,)
        The first tree of each round; the last entry is the number of trees.
    units : UnitArrays
        The costs as the kernels read them.
    """

    def __init__(self, forest: Forest, cost_model: CostModel, evaluation_costs: Any):
        self.forest, self.cost_model, self.evaluation_costs = forest, cost_model, evaluation_costs
        self.round_at = round_edges(forest)
        self._columns = np.flatnonzero(forest.reads.any(axis=0))
        self.units = self._unit_arrays(checked_evaluation_costs(evaluation_costs, forest.n_trees))

    def _unit_arrays(self, evaluation_costs: np.ndarray) -> UnitArrays:
        requirement, n_units = self.cost_model.sparse_requirement, len(self.cost_model.unit_costs)
        ticks, scale = to_ticks(np.concatenate([self.cost_model.unit_costs, evaluation_costs]))
        payer_at, payer = _index_lists(requirement.T.tocsr())
        bill_at, bill = _index_lists(requirement)
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
        """The number of rounds."""
        return len(self.round_at) - 1

    # Batch prediction

    def run(self, X: np.ndarray, cap: np.ndarray) -> Run:
        """Evaluate rows (n, n_features), each within its cap (n,).

        In the result, `score` holds the sums (n, n_scores), and `exit` the last round that each row completed.
        """
        return self._run(partial(self._evaluate, X, cap), X.shape)

    def run_queries(
        self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray, checkpoints: np.ndarray, widths: np.ndarray, top: int
    ) -> Run:
        """Evaluate documents; at each checkpoint, documents too far behind the top-th best of their query exit."""
        return self._run(partial(self._evaluate_queries, X, cap, _by_query(qid), checkpoints, widths, top), X.shape)

    def _run(self, evaluate: Callable[[np.ndarray], Evaluated], shape: tuple[int, ...]) -> Run:
        sums, spend, exits = evaluate(NOT_RECORDED)
        return Run(sums, partial(_acquired, evaluate, shape), spend, exits)

    def _evaluate(self, X: np.ndarray, cap: np.ndarray, acquired: np.ndarray) -> Evaluated:
        sums, spend, exits = self._empty_results(len(X))
        rounds_per_check = self.n_rounds if np.isinf(cap).all() else ROUNDS_PER_CHECK
        given = (self.forest.arrays, self.units, self._columns, rounds_per_check, X, cap)
        over_rows(lambda first, last: buy_rows(*given, first, last, sums, spend, exits, acquired), len(X))
        return sums, spend, exits

    def _evaluate_queries(
        self,
        X: np.ndarray,
        cap: np.ndarray,
        queries: tuple[np.ndarray, np.ndarray],
        checkpoints: np.ndarray,
        widths: np.ndarray,
        top: int,
        acquired: np.ndarray,
    ) -> Evaluated:
        sums, spend, exits = self._empty_results(len(X))
        order, query_at = queries
        given = (self.forest.arrays, self.units, X, cap, order, query_at, checkpoints, widths, top)

        def evaluate(first: int, last: int) -> None:
            begin, end = np.searchsorted(query_at[:-1], [first, last]).tolist()  # queries that start in first..last
            exit_early(*given, begin, end, sums, spend, exits, acquired)

        over_rows(evaluate, len(X))
        return sums, spend, exits

    def _empty_results(self, n_rows: int) -> Evaluated:
        return np.empty((n_rows, len(self.forest.base))), np.empty(n_rows), np.empty(n_rows, dtype=np.int64)

    # The same as Python lists, for sessions: indexing an array element by element is slow

    @cached_property
    def nodes(self) -> list[tuple[Any, ...]]:
        """Each split as (feature, threshold, left, right, missing_left, categories); a leaf is an empty tuple.

        The threshold of a categorical split is NaN, so that both ``x <= threshold`` and ``x > threshold`` are False.
        """
        forest, sets = self.forest, {node: frozenset(codes) for node, codes in self.forest.categories.items()}
        threshold = forest.threshold.copy()
        threshold[list(sets)] = np.nan
        columns = (forest.feature, threshold, forest.left, forest.right, forest.missing_left)
        splits = zip(*(each.tolist() for each in columns), strict=True)
        return [() if split[0] == LEAF else (*split, sets.get(node)) for node, split in enumerate(splits)]

    @cached_property
    def remainders(self) -> np.ndarray:
        """What is expected of the rounds that follow 0, 1, ... complete rounds, shape (n_rounds + 1, n_scores)."""
        forest = self.forest
        by_tree = np.zeros((forest.n_trees, len(forest.base)))
        np.add.at(by_tree, (np.arange(forest.n_outputs) // forest.value.shape[1], forest.score_of), forest.expected)
        by_round = np.add.reduceat(by_tree, self.round_at[:-1].astype(int), axis=0)
        return np.vstack([np.cumsum(by_round[::-1], axis=0)[::-1], np.zeros(len(forest.base))])

    @cached_property
    def leaf_values(self) -> list[list[float]]:
        """The values of each node, which only matter at leaves."""
        return self.forest.value.tolist()

    @cached_property
    def trees(self) -> list[tuple[int, list[int]]]:
        """The root of each tree, and the scores that its values are added to."""
        return list(zip(self.forest.starts.tolist(), self.forest.arrays.score_of.tolist(), strict=True))

    @cached_property
    def rounds(self) -> list[tuple[float, slice]]:
        """The ticks for evaluating each round, and its trees."""
        trees = [slice(*pair) for pair in pairwise(self.round_at.tolist())]
        return list(zip(self.units.round_ticks.tolist(), trees, strict=True))

    @cached_property
    def units_of(self) -> list[list[tuple[int, float]]]:
        """The units that each feature requires, with their ticks."""
        at, units, ticks = self.units.bill_at.tolist(), self.units.bill.tolist(), self.units.ticks.tolist()
        return [[(u, ticks[u]) for u in units[a:b]] for a, b in pairwise(at)]


def round_edges(forest: Forest) -> np.ndarray:
    """Return the first tree of each round, followed by the number of trees.

    A round is the shortest period of ``score_of`` in which every score gets the same number of outputs. If there is no
    such period, all trees are one round.
    """
    score_of = forest.score_of.reshape(forest.n_trees, -1)
    n_scores, n_trees = len(forest.base), forest.n_trees
    for period in range(1, n_trees + 1):
        counts = np.bincount(score_of[:period].ravel(), minlength=n_scores)
        if (counts == counts[0]).all() and (score_of[period:] == score_of[:-period]).all():
            return np.append(np.arange(0, n_trees, period), n_trees)
    return np.array([0, n_trees])


def checked_evaluation_costs(costs: Any, n_trees: int) -> np.ndarray:
    """Return one evaluation cost per tree; raise CostError if they are not numbers of at least 0."""
    array = np.asarray(costs)
    if not np.issubdtype(array.dtype, np.number) or array.shape not in ((), (n_trees,)):
        raise CostError(f"evaluation_costs is {costs!r}; expected one number, or one for each of the {n_trees} trees.")
    for bad in array[~((array >= 0) & (array < np.inf))][:1].tolist():
        raise CostError(f"evaluation_costs holds {bad}; expected finite numbers of at least 0.")
    return np.full(n_trees, array, dtype=float)


def _acquired(evaluate: Callable[[np.ndarray], Evaluated], shape: tuple[int, ...]) -> np.ndarray:
    """Evaluate the rows a second time, and return the features that each row acquired."""
    acquired = np.empty(shape, dtype=bool)
    evaluate(acquired)
    return acquired


def _by_query(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows sorted by query, and where each query starts in this order, followed by the number of rows."""
    order = np.argsort(qid, kind="stable")
    starts = np.flatnonzero(np.append(True, qid[order][1:] != qid[order][:-1]))
    return order, np.append(starts, len(qid))


def _index_lists(marks: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row starts in an array of the columns that are marked, row by row, and this array."""
    return marks.indptr.astype(np.int64), marks.indices.astype(np.uint32)
