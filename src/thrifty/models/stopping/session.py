"""The session of one row along a chain of checkpoints."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thrifty.models.session import Acquire, Session, Stop
from thrifty.models.stopping.chain import BEFORE_FIRST, Chain


class ChainSession(Session):
    """The acquisition of one row along a chain.

    One step goes to the next checkpoint where the row can stop, because at the others there is nothing to decide. If
    that checkpoint costs an evaluation but needs no further feature, the step has no features.

    Parameters
    ----------
    chain : Chain
    cap : float
        Hard limit on the spend.
    answer : callable
        Returns the prediction and the score from scores (1, n_scores).
    """

    def __init__(self, chain: Chain, cap: float, answer: Callable[[np.ndarray], tuple[Any, Any]]):
        super().__init__()
        self._chain, self._cap, self._answer = chain, cap, answer
        self._row = np.full((1, chain.acquired.shape[1]), np.nan)
        self._block: np.ndarray | None = None
        self._held, self._sums = np.empty((1, chain.n_terms[-1])), np.empty((1, len(chain.prior)))
        self._scores = self._before = chain.prior[None].copy()
        self._reached = self._next = BEFORE_FIRST

    def _plan(self) -> Acquire | Stop:
        chain = self._chain
        while self._continues():
            self._next = self._next_decision()
            steps = slice(self._reached + 1, self._next + 1)
            columns = np.flatnonzero(chain.buys[steps].any(axis=0))
            cost = float(chain.step_cost[steps].sum())
            if columns.size or cost:
                return Acquire(tuple(chain.names[j] for j in columns.tolist()), cost)
            self._receive([])
        return self._stop()

    def _continues(self) -> bool:
        chain = self._chain
        if self._reached == BEFORE_FIRST:
            return bool(chain.path_cost[0] <= self._cap)
        return bool(chain.continues(self._reached, self._scores, self._before, self._cap)[0])

    def _next_decision(self) -> int:
        """Return the next checkpoint where the row can stop, or the last affordable checkpoint before it."""
        chain, k = self._chain, self._reached + 1
        while not chain.can_stop_at(k) and chain.path_cost[k + 1] <= self._cap:
            k += 1
        return k

    def _receive(self, values: list[float]) -> None:
        chain, steps = self._chain, range(self._reached + 1, self._next + 1)
        if values:
            self._row[0, chain.buys[steps.start : steps.stop].any(axis=0)] = values
            self._block = None
        if self._block is None:
            self._block = chain.terms.prepare(self._row)
        for k in steps:
            self._before = self._scores
            self._scores = chain.advance(self._block, np.zeros(1, dtype=int), k, self._held, self._sums)
        self._reached = self._next
        self.spend = float(chain.path_cost[self._reached])

    def _answer_now(self) -> Stop:
        return self._stop()

    def _stop(self) -> Stop:
        chain, k = self._chain, self._reached
        undecided = k == BEFORE_FIRST or chain.boundary.is_inside(k, self._scores, self._before)[0]
        decided = k != BEFORE_FIRST and (chain.is_last(k) or not undecided)
        prediction, score = self._answer(self._scores)
        return Stop(prediction, score, int(chain.terms_at(np.array([k]))[0]), "done" if decided else "cap")
