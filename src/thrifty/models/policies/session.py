"""One lazy row that follows a policy: it asks for the features of a factor at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thrifty.models.policies.data_classifier import Standardiser, encode
from thrifty.models.policies.policy import Follower, Policy, choose
from thrifty.models.policies.rollout import Walk
from thrifty.models.session import Acquire, Feature, Session, Stop

ROW = np.zeros(1, dtype=np.int64)


class PolicySession(Session):
    """A walk of one row, whose values are filled in as they are observed.

    Parameters
    ----------
    walk : Walk
        Of one row of zeros, not yet begun.
    policy : Policy
    standardiser : Standardiser
        Of the columns sorted by factor.
    cap : float
    ids : sequence
        What the columns of X are called.
    answer : callable
        Turns scores (1, n_classes) into prediction and score.
    """

    def __init__(
        self,
        walk: Walk,
        policy: Policy,
        standardiser: Standardiser,
        cap: float,
        ids: Sequence[Feature],
        answer: Callable[[np.ndarray], tuple[Any, Any]],
    ):
        super().__init__()
        self._walk, self._policy, self._standardiser = walk, policy, standardiser
        self._cap, self._ids, self._answer = cap, ids, answer
        self._follower: Follower | None = None
        self._asked: list[int] = walk.factors.free.tolist()
        self._row = np.full((1, len(walk.factors.columns)), np.nan)  # sorted by factor
        if not self._asked:
            self._begin()

    def _plan(self) -> Acquire | Stop:
        if self._follower is None:
            return Acquire(self._features(), 0.0)
        walk, factors = self._walk, self._walk.factors
        chosen = choose(self._follower.preferences(ROW))
        if chosen[0] == len(factors):
            return self._stop("done")
        ticks = walk.ticks_with(ROW, chosen)
        if factors.spend(ticks)[0] > self._cap:
            return self._stop("cap")
        self._asked = chosen.tolist()
        return Acquire(self._features(), float(factors.spend(ticks - walk.ticks)[0]))

    def _receive(self, values: list[float]) -> None:
        self._row[0, self._asked_columns()] = values
        self._walk.Z[:] = encode(self._row, self._standardiser, self._walk.factors)
        if self._follower is None:
            self._begin()
        else:
            self._walk.take(ROW, np.array(self._asked))
            self._follower.took(ROW, np.array(self._asked))
        self.spend = float(self._walk.factors.spend(self._walk.ticks)[0])

    def _begin(self) -> None:
        self._follower = self._policy.follow(self._walk.begin())

    def _asked_columns(self) -> np.ndarray:
        """Return where the columns asked for stand, sorted by factor."""
        factors, asked = self._walk.factors, np.zeros((1, len(self._walk.factors)), dtype=bool)
        asked[0, self._asked] = True
        return np.flatnonzero(factors.widened(asked)[0, factors.places])

    def _features(self) -> tuple[Feature, ...]:
        return tuple(self._ids[column] for column in self._walk.factors.columns[self._asked_columns()].tolist())

    def _stop(self, reason: str) -> Stop:
        prediction, score = self._answer(self._walk.score)
        return Stop(prediction, score, int(self._walk.acquired.sum()), reason)
