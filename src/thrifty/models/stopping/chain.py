"""The fitted structure: ordered terms, the checkpoints along them, and the boundary at each.

Rows go from checkpoint to checkpoint together. At each one the terms up to it are evaluated for the rows that are still
active, their scores are held against the boundary, and those that are decided, or cannot pay for what comes next, drop
out. So a term that nobody waits for takes no time.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.kernels.stopping import full_scores, partial_scores
from thrifty.kernels.threads import over_rows
from thrifty.models.rebuilt import Rebuilt
from thrifty.models.session import Acquire, Session, Stop
from thrifty.models.stopping.boundaries import Boundary, decidedness
from thrifty.models.stopping.checkpoints import Checkpoint
from thrifty.models.stopping.misfits import refuse_misfits
from thrifty.models.stopping.sample import dense
from thrifty.models.stopping.terms import Terms

MOST_CELLS = 2**22  # of X that are looked at together, sparse ones included
NOWHERE = -1  # stands for the checkpoint of a row that cannot pay for the first


class Chain(Rebuilt):
    """Checkpoints along the terms of a predictor, and what it costs to get to each.

    Parameters
    ----------
    terms : Terms
        In the order of the chain.
    order : ndarray of int
        Which of the predictor's own terms they are.
    checkpoints : sequence of Checkpoint
    boundary : Boundary
    prior : ndarray of shape (n_scores,)
        The score of a row of which nothing is known.
    cost_model : CostModel
        What the features cost.
    evaluation_costs : ndarray of shape (n_terms,)
        What the evaluation of each term costs, in the order of the chain.
    """

    _made_of = ("terms", "order", "checkpoints", "boundary", "prior", "cost_model", "evaluation_costs")

    def __init__(
        self,
        terms: Terms,
        order: np.ndarray,
        checkpoints: Sequence[Checkpoint],
        boundary: Boundary,
        prior: np.ndarray,
        cost_model: CostModel,
        evaluation_costs: np.ndarray,
    ):
        self.terms, self.checkpoints, self.boundary, self.prior = terms, checkpoints, boundary, prior
        self.order, self.cost_model, self.evaluation_costs = order, cost_model, evaluation_costs
        refuse_misfits(self, cost_model.n_features)
        self.n_terms = np.array([checkpoint.n_terms for checkpoint in checkpoints])
        self.names = cost_model.names or range(cost_model.n_features)
        self._place = np.argsort(order)
        self._own_weights = np.ascontiguousarray(terms.weights[:, self._place])
        self._price()

    def _price(self) -> None:
        """Price the steps: the features that a checkpoint is the first to need, and its evaluations."""
        starts = [0, *self.n_terms[:-1]]
        reads = [self.terms.reads(np.arange(*step)).any(axis=0) for step in zip(starts, self.n_terms, strict=True)]
        self.acquired = np.logical_or.accumulate(reads)
        self.buys = self.acquired.copy()
        self.buys[1:] &= ~self.acquired[:-1]
        steps = zip(starts, self.n_terms, strict=True)
        evaluation_costs = [math.fsum(self.evaluation_costs[first:last]) for first, last in steps]
        priced = self.cost_model.derive(self.buys, evaluation_costs)
        ledger = Ledger(priced)
        self.step_cost, self.path_cost = np.array([(ledger.buy(k), ledger.spent) for k in range(len(reads))]).T

    # A batch

    def run(self, X: Any, cap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Send rows along; return their scores (n, n_scores) and the checkpoints (n,) where they end."""
        scores = np.tile(self.prior, (X.shape[0], 1))
        exits = np.full(X.shape[0], NOWHERE)

        def take(rows: np.ndarray, k: int, sums: np.ndarray) -> np.ndarray:
            exits[rows], scores[rows] = k, sums
            return self.goes_on(k, sums, cap[rows])

        self._walk(X, cap >= self.path_cost[0], take)
        return scores, exits

    def partial_scores(self, X: Any) -> np.ndarray:
        """Return the scores (n, n_checkpoints, n_scores) that rows would have at every checkpoint."""
        scores = np.empty((X.shape[0], len(self.checkpoints), len(self.prior)))

        def take(rows: np.ndarray, k: int, sums: np.ndarray) -> np.ndarray:
            scores[rows, k] = sums
            return np.ones(len(rows), dtype=bool)

        self._walk(X, np.ones(len(scores), dtype=bool), take)
        return scores

    def _walk(self, X: Any, started: np.ndarray, take: Callable[[np.ndarray, int, np.ndarray], np.ndarray]) -> None:
        """Evaluate checkpoint after checkpoint; `take` is told the scores and tells which rows go on."""

        def work(first: int, last: int) -> None:
            size = max(1, min(self.terms.rows_at_once, MOST_CELLS // X.shape[1]))
            held = np.empty((min(size, last - first), self.n_terms[-1]))
            for start in range(first, last, size):
                stop = min(start + size, last)
                block = self.terms.prepare(dense(X[start:stop]))
                rows, sums = np.flatnonzero(started[start:stop]), np.empty((stop - start, len(self.prior)))
                for k in range(len(self.checkpoints)):
                    if not rows.size:
                        break
                    rows = rows[take(start + rows, k, self.advance(block, rows, k, held, sums))]

        over_rows(work, X.shape[0])

    def advance(self, block: np.ndarray, rows: np.ndarray, k: int, held: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Take some rows of a block from checkpoint k - 1 to k and return their scores there."""
        checkpoint = self.checkpoints[k]
        first, last = (self.n_terms[k - 1] if k else 0), self.n_terms[k]
        self.terms.evaluate(block, rows, first, last, held)
        if last == self.terms.n_terms:
            full_scores(held, rows, self._place, self._own_weights, self.terms.intercept, sums)
            return sums[rows]
        partial_scores(held, rows, checkpoint.first, last, checkpoint.weights, checkpoint.carry and k > 0, sums)
        return sums[rows] + checkpoint.intercept

    def goes_on(self, k: int, scores: np.ndarray, cap: Any) -> np.ndarray:
        """Tell which rows, with these scores at checkpoint k, are not decided there and can pay for the next."""
        if k == len(self.checkpoints) - 1:
            return np.zeros(len(scores), dtype=bool)
        open_yet = self.is_open(k, scores)
        return open_yet & (self.path_cost[k + 1] <= cap)

    def is_open(self, k: int, scores: np.ndarray) -> np.ndarray:
        """Tell which rows are within the boundary."""
        found = decidedness(scores)
        return (found >= self.boundary.lower[k]) & (found <= self.boundary.upper[k])

    def decides(self, k: int) -> bool:
        """Tell whether any row can stop at checkpoint k of its own accord."""
        last = k == len(self.checkpoints) - 1
        return last or self.boundary.lower[k] > -np.inf or self.boundary.upper[k] < np.inf

    # What it came to

    def spent_at(self, exits: np.ndarray) -> np.ndarray:
        """Return what rows have spent at these checkpoints."""
        return np.append(self.path_cost, 0.0)[exits]  # the last entry serves NOWHERE

    def acquired_at(self, exits: np.ndarray) -> np.ndarray:
        """Return the features (n, n_features) that rows have acquired at these checkpoints."""
        return np.append(self.acquired, np.zeros((1, self.acquired.shape[1]), dtype=bool), axis=0)[exits]

    def terms_at(self, exits: np.ndarray) -> np.ndarray:
        """Return how many terms were evaluated for rows that ended at these checkpoints, -1 for NOWHERE."""
        return np.append(self.n_terms, NOWHERE)[exits]


class ChainSession(Session):
    """One row on its way along a chain.

    Checkpoints where nothing can be decided are passed without being asked about, and those that need no further
    feature without asking; what their evaluation costs is announced as a step that asks for no feature.
    """

    def __init__(self, chain: Chain, cap: float, answer: Callable[[np.ndarray], tuple[Any, Any]]):
        super().__init__()
        self._chain, self._cap, self._answer = chain, cap, answer
        self._row = np.full((1, chain.acquired.shape[1]), np.nan)
        self._block: np.ndarray | None = None
        self._held, self._sums = np.empty((1, chain.n_terms[-1])), np.empty((1, len(chain.prior)))
        self._scores = chain.prior[None].copy()
        self._at = self._reaching = NOWHERE

    def _plan(self) -> Acquire | Stop:
        chain = self._chain
        while self._may_go_on():
            before = self._at
            self._reaching = self._next_decision()
            steps = slice(before + 1, self._reaching + 1)
            columns = np.flatnonzero(chain.buys[steps].any(axis=0))
            cost = float(chain.step_cost[steps].sum())
            if columns.size or cost:
                return Acquire(tuple(chain.names[j] for j in columns.tolist()), cost)
            self._receive([])
        return self._stop()

    def _may_go_on(self) -> bool:
        chain = self._chain
        if self._at == NOWHERE:
            return bool(chain.path_cost[0] <= self._cap)
        return bool(chain.goes_on(self._at, self._scores, self._cap)[0])

    def _next_decision(self) -> int:
        """Return the next checkpoint where something is decided, or the last that can be paid for before it."""
        chain, k = self._chain, self._at + 1
        while not chain.decides(k) and chain.path_cost[k + 1] <= self._cap:
            k += 1
        return k

    def _receive(self, values: list[float]) -> None:
        chain, steps = self._chain, range(self._at + 1, self._reaching + 1)
        if values:
            self._row[0, chain.buys[steps.start : steps.stop].any(axis=0)] = values
            self._block = None
        if self._block is None:
            self._block = chain.terms.prepare(self._row)
        for k in steps:
            self._scores = chain.advance(self._block, np.zeros(1, dtype=int), k, self._held, self._sums)
        self._at = self._reaching
        self.spend = float(chain.path_cost[self._at])

    def _stop(self) -> Stop:
        chain, at = self._chain, self._at
        decided = at != NOWHERE and (at == len(chain.checkpoints) - 1 or not chain.is_open(at, self._scores)[0])
        prediction, score = self._answer(self._scores)
        exits = int(chain.terms_at(np.array([at]))[0])
        return Stop(prediction, score, exits, "done" if decided else "cap")
