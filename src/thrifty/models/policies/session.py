"""The session of one row that follows a policy. Each step asks for the features of one factor."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thrifty.models.policies.data_model import Standardiser, encode
from thrifty.models.policies.policy import ActionScores, Policy, choose
from thrifty.models.policies.rollout import Rollout
from thrifty.models.session import Acquire, Feature, Session, Stop

ROW = np.zeros(1, dtype=np.int64)  # the only row of the rollout


class PolicySession(Session):
    """The acquisition of one row that follows a policy.

    The first step asks for the free factors, if there are any.

    Parameters
    ----------
    rollout : Rollout
        A rollout of one row of zeros, not started. The values are filled in as they are observed.
    policy : Policy
    standardiser : Standardiser
    cap : float
        Hard limit on the spend.
    ids : sequence
        Names or positions of the columns of X.
    answer : callable
        Returns the prediction and the score from scores (1, n_classes).
    """

    def __init__(
        self,
        rollout: Rollout,
        policy: Policy,
        standardiser: Standardiser,
        cap: float,
        ids: Sequence[Feature],
        answer: Callable[[np.ndarray], tuple[Any, Any]],
    ):
        super().__init__()
        self._rollout, self._policy, self._standardiser = rollout, policy, standardiser
        self._cap, self._ids, self._answer = cap, ids, answer
        self._actions: ActionScores | None = None  # None until the free factors are observed
        self._asked: list[int] = rollout.factors.free.tolist()  # factors
        self._row = np.full((1, len(rollout.factors.columns)), np.nan)  # columns sorted by factor
        if not self._asked:
            self._start_rollout()

    def _plan(self) -> Acquire | Stop:
        if self._actions is None:
            return Acquire(self._features(), 0.0)
        rollout, factors = self._rollout, self._rollout.factors
        chosen = choose(self._actions.preferences(ROW))
        if chosen[0] == len(factors):
            return self._stop("done")
        ticks = rollout.ticks_after(ROW, chosen)
        if factors.spend(ticks)[0] > self._cap:
            return self._stop("cap")
        self._asked = chosen.tolist()
        return Acquire(self._features(), float(factors.spend(ticks - rollout.ticks)[0]))

    def _receive(self, values: list[float]) -> None:
        rollout = self._rollout
        self._row[0, self._asked_columns()] = values
        rollout.Z[:] = encode(self._row, self._standardiser, rollout.factors)
        if self._actions is None:
            self._start_rollout()
        else:
            rollout.acquire(ROW, np.array(self._asked))
            self._actions.update(ROW, np.array(self._asked))
        self.spend = float(rollout.factors.spend(rollout.ticks)[0])

    def _answer_now(self) -> Stop:
        return self._stop("stopped")

    def _start_rollout(self) -> None:
        self._actions = self._policy.follow(self._rollout.start())

    def _asked_columns(self) -> np.ndarray:
        """Return the positions of the columns asked for, among the columns sorted by factor."""
        factors, asked = self._rollout.factors, np.zeros((1, len(self._rollout.factors)), dtype=bool)
        asked[0, self._asked] = True
        return np.flatnonzero(factors.to_columns(asked)[0, factors.places])

    def _features(self) -> tuple[Feature, ...]:
        return tuple(self._ids[column] for column in self._rollout.factors.columns[self._asked_columns()].tolist())

    def _stop(self, reason: str) -> Stop:
        prediction, score = self._answer(self._rollout.score)
        return Stop(prediction, score, int(self._rollout.acquired.sum()), reason)
