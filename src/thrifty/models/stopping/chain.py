"""The fitted structure: the ordered terms of a predictor, the checkpoints along them, and the boundary.

A batch goes from checkpoint to checkpoint. At each checkpoint, the next terms are evaluated for the rows that are still
active. Rows whose score is outside the boundary stop, and so do rows that cannot pay for the next checkpoint. So no
time is spent on terms that no active row needs.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.kernels.stopping import full_scores, partial_scores
from thrifty.kernels.threads import over_rows
from thrifty.models.rebuilt import Rebuilt
from thrifty.models.stopping.boundaries import Boundary
from thrifty.models.stopping.checkpoints import Checkpoint
from thrifty.models.stopping.small_changes import SmallChanges
from thrifty.models.stopping.soundness import refuse_unsound_chain
from thrifty.models.stopping.term_sample import dense
from thrifty.models.stopping.terms import Terms
from thrifty.stored import Array, ListOf, Structure, stored

MAX_CELLS = 2**22  # cells of X that are dense and in memory at the same time
BEFORE_FIRST = -1  # checkpoint of a row that cannot pay for the first one


@stored(
    terms=Structure(Terms),
    order=Array("int64", "n_terms", low=0),
    checkpoints=ListOf(Structure(Checkpoint), 1),
    boundary=Structure(Boundary, SmallChanges),
    prior=Array("float64", "n_scores"),
    cost_model=Structure(CostModel),
    evaluation_costs=Array("float64", "n_terms", low=0, finite=True),
)
class Chain(Rebuilt):
    """Checkpoints along the terms of a predictor, and the cost of reaching each of them.

    Parameters
    ----------
    terms : Terms
        The terms in the order of the chain.
    order : ndarray of int, shape (n_terms,)
        Position of each term in the predictor.
    checkpoints : sequence of Checkpoint
        What is expected of the full score, and where.
    boundary : Boundary or SmallChanges
        When a row stops.
    prior : ndarray of shape (n_scores,)
        Scores of a row without any known value.
    cost_model : CostModel
        Costs of the features.
    evaluation_costs : ndarray of shape (n_terms,)
        Cost of evaluating each term, in the order of the chain.

    Attributes
    ----------
    n_terms : ndarray of int, shape (n_checkpoints,)
        Number of terms evaluated at each checkpoint.
    acquired : ndarray of bool, shape (n_checkpoints, n_features)
        Features that a row at each checkpoint has acquired.
    buys : ndarray of bool, shape (n_checkpoints, n_features)
        Features that each checkpoint is the first to need.
    step_cost : ndarray of shape (n_checkpoints,)
        Cost of the step to each checkpoint.
    path_cost : ndarray of shape (n_checkpoints,)
        Cost of all steps up to each checkpoint.
    """

    _made_of = ("terms", "order", "checkpoints", "boundary", "prior", "cost_model", "evaluation_costs")

    def __init__(
        self,
        terms: Terms,
        order: np.ndarray,
        checkpoints: Sequence[Checkpoint],
        boundary: Boundary | SmallChanges,
        prior: np.ndarray,
        cost_model: CostModel,
        evaluation_costs: np.ndarray,
    ):
        self.terms, self.checkpoints, self.boundary, self.prior = terms, checkpoints, boundary, prior
        self.order, self.cost_model, self.evaluation_costs = order, cost_model, evaluation_costs
        refuse_unsound_chain(self, cost_model.n_features)
        self.n_terms = np.array([checkpoint.n_terms for checkpoint in checkpoints])
        self.names = cost_model.names or range(cost_model.n_features)
        self._position = np.argsort(order)  # of the predictor's terms in the chain
        self._predictor_weights = np.ascontiguousarray(terms.weights[:, self._position])
        self._price_steps()

    def _price_steps(self) -> None:
        steps = list(zip([0, *self.n_terms[:-1]], self.n_terms, strict=True))
        reads = [self.terms.reads(np.arange(*step)).any(axis=0) for step in steps]
        self.acquired = np.logical_or.accumulate(reads)
        self.buys = self.acquired.copy()
        self.buys[1:] &= ~self.acquired[:-1]
        evaluation_costs = [math.fsum(self.evaluation_costs[first:last]) for first, last in steps]
        ledger = Ledger(self.cost_model.derive(self.buys, evaluation_costs))
        self.step_cost, self.path_cost = np.array([(ledger.buy(k), ledger.spent) for k in range(len(steps))]).T

    @property
    def deviations(self) -> np.ndarray:
        """The root mean square of (full score - expected full score) at each checkpoint."""
        return np.array([checkpoint.deviation for checkpoint in self.checkpoints])

    # Batches

    def run(self, X: Any, cap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores (n, n_scores) of rows, and the checkpoints (n,) where they stop."""
        scores = np.tile(self.prior, (X.shape[0], 1))
        exits = np.full(X.shape[0], BEFORE_FIRST)

        def record(rows: np.ndarray, k: int, sums: np.ndarray) -> np.ndarray:
            goes_on = self.continues(k, sums, scores[rows], cap[rows])
            exits[rows], scores[rows] = k, sums
            return goes_on

        self._visit_checkpoints(X, cap >= self.path_cost[0], record)
        return scores, exits

    def partial_scores(self, X: Any) -> np.ndarray:
        """Return the scores (n, n_checkpoints, n_scores) that rows would have at every checkpoint."""
        scores = np.empty((X.shape[0], len(self.checkpoints), len(self.prior)))

        def record(rows: np.ndarray, k: int, sums: np.ndarray) -> np.ndarray:
            scores[rows, k] = sums
            return np.ones(len(rows), dtype=bool)

        self._visit_checkpoints(X, np.ones(len(scores), dtype=bool), record)
        return scores

    def _visit_checkpoints(
        self, X: Any, starts: np.ndarray, record: Callable[[np.ndarray, int, np.ndarray], np.ndarray]
    ) -> None:
        """Evaluate checkpoint after checkpoint for the rows where `starts` is True.

        `record(rows, k, scores)` takes the scores of the active rows at checkpoint k and returns which rows continue.
        """

        def work(first: int, last: int) -> None:
            size = max(1, min(self.terms.rows_at_once, MAX_CELLS // X.shape[1]))
            held = np.empty((min(size, last - first), self.n_terms[-1]))
            for start in range(first, last, size):
                stop = min(start + size, last)
                block = self.terms.prepare(dense(X[start:stop]))
                rows, sums = np.flatnonzero(starts[start:stop]), np.empty((stop - start, len(self.prior)))
                for k in range(len(self.checkpoints)):
                    if not rows.size:
                        break
                    rows = rows[record(start + rows, k, self.advance(block, rows, k, held, sums))]

        over_rows(work, X.shape[0])

    def advance(self, block: np.ndarray, rows: np.ndarray, k: int, held: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Evaluate the terms from checkpoint k - 1 to k for some rows of a block, and return their scores there.

        Parameters
        ----------
        block : ndarray
            Rows as ``terms.prepare`` returns them.
        rows : ndarray of int
            The active rows of the block.
        k : int
            The checkpoint.
        held : ndarray of shape (len(block), n_terms)
            Values of the terms; those of the new terms are written.
        sums : ndarray of shape (len(block), n_scores)
            Weighted sums of the terms; they are updated.
        """
        checkpoint = self.checkpoints[k]
        first, last = (self.n_terms[k - 1] if k else 0), self.n_terms[k]
        self.terms.evaluate(block, rows, first, last, held)
        if last == self.terms.n_terms:
            full_scores(held, rows, self._position, self._predictor_weights, self.terms.intercept, sums)
            return sums[rows]
        partial_scores(held, rows, checkpoint.first, last, checkpoint.weights, checkpoint.carry and k > 0, sums)
        return sums[rows] + checkpoint.intercept

    # Decisions

    def continues(self, k: int, scores: np.ndarray, before: np.ndarray, cap: Any) -> np.ndarray:
        """Return which rows at checkpoint k continue: undecided, and able to pay for the next.

        `scores` are those at checkpoint k, and `before` those at the checkpoint before it, or the prior.
        """
        if self.is_last(k):
            return np.zeros(len(scores), dtype=bool)
        return self.boundary.is_inside(k, scores, before) & (self.path_cost[k + 1] <= cap)

    def can_stop_at(self, k: int) -> bool:
        """Return whether any score stops a row at checkpoint k."""
        return self.is_last(k) or self.boundary.can_stop_at(k)

    def is_last(self, k: int) -> bool:
        """Return whether checkpoint k is the last one."""
        return k == len(self.checkpoints) - 1

    # Results; in these arrays, the entry for BEFORE_FIRST is the last one

    def spend_at(self, exits: np.ndarray) -> np.ndarray:
        """Return the spend of rows that stop at these checkpoints."""
        return np.append(self.path_cost, 0.0)[exits]

    def acquired_at(self, exits: np.ndarray) -> np.ndarray:
        """Return the features (n, n_features) that rows have acquired which stop at these checkpoints."""
        return np.append(self.acquired, np.zeros((1, self.acquired.shape[1]), dtype=bool), axis=0)[exits]

    def terms_at(self, exits: np.ndarray) -> np.ndarray:
        """Return the number of terms evaluated for rows that stop at these checkpoints; -1 for BEFORE_FIRST."""
        return np.append(self.n_terms, -1)[exits]
