"""The session of one row that follows an adaptive model."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thrifty.costs.amounts import amount
from thrifty.kernels.adaptive.rows import go_on
from thrifty.kernels.adaptive.structures import NOTHING, UNAFFORDABLE
from thrifty.models.adaptive.policy import PurchasePolicy, StoppingRule
from thrifty.models.session import Acquire, Feature, Session, Stop


class AdaptiveSession(Session):
    """The acquisition of one row. The first step asks for the free columns, if there are any.

    Parameters
    ----------
    policy : PurchasePolicy
    rule : StoppingRule
    cost_weight : float
    cap : float
        Hard limit on the spend.
    ids : sequence
        Names or positions of the columns of X.
    answer : callable
        Returns the prediction and the score from scores (1, n_scores).
    loss_unit : str
        The unit of expected gains, for explanations.
    loss_scale : float
        What an expected gain of 1 is in this unit.
    """

    def __init__(
        self,
        policy: PurchasePolicy,
        rule: StoppingRule,
        cost_weight: float,
        cap: float,
        ids: Sequence[Feature],
        answer: Callable[[np.ndarray], tuple[Any, Any]],
        loss_unit: str,
        loss_scale: float,
    ):
        super().__init__()
        self._policy, self._start, self._state = policy, policy.start, policy.start.memory.copy()
        self._fixed = policy.memory, rule.memory, *rule.position(cost_weight), cap, self._state
        self._cost_weight, self._ids, self._answer = cost_weight, ids, answer
        self._loss_unit, self._loss_scale = loss_unit, loss_scale
        self._row = np.full(len(policy.fill), np.nan)
        self._n_planned, self._ticks = policy.start.n_planned, 0.0
        self._columns = self._planned_columns() if self._n_planned else []
        self._knows_free = self._n_planned == 0
        self._stage = 0  # how many stages were observed; the state is one further while values are asked for

    def _plan(self) -> Acquire | Stop:
        if not self._knows_free:
            return Acquire(self._features(), 0.0, "they are free")
        before = self._ticks
        group, going_on, gain, self._n_planned, self._ticks = go_on(*self._fixed, self._n_planned, self._row)
        if self._stage == self._policy.n_stages:
            return self._stop("done", "everything has been bought")
        if group == UNAFFORDABLE:
            return self._stop("cap", "what would be worth its cost exceeds the cap")
        if group == NOTHING:
            return self._stop("done", self._why_not(going_on))
        self._columns = self._planned_columns()
        cost = (self._ticks - before) / self._scale
        return Acquire(self._features(), cost, self._why(gain, cost, going_on))

    def _receive(self, values: list[float]) -> None:
        self._row[self._columns] = values
        self._stage += self._knows_free
        self._knows_free = True
        self.spend = self._ticks / self._scale

    def _answer_now(self) -> Stop:
        return self._stop("stopped", "")

    @property
    def _scale(self) -> float:
        """How many ticks a cost of 1 has."""
        return self._policy.arrays.scale

    def _planned_columns(self) -> list[int]:
        """Return the columns of X that the present stage asks for."""
        groups = self._policy.factors.groups
        planned = self._state[self._start.plan].view(np.int64)[: self._n_planned].tolist()
        return list(groups[planned[0]]) if len(planned) == 1 else [j for group in planned for j in groups[group]]

    def _features(self) -> tuple[Feature, ...]:
        return tuple([self._ids[column] for column in self._columns])

    def _stop(self, reason: str, explanation: str) -> Stop:
        scores = self._state[self._start.scores].view(np.float64)
        prediction, score = self._answer(scores[None].copy())
        return Stop(prediction, score, self._stage, reason, explanation)

    # Explanations

    def _why(self, gain: float, cost: float, going_on: float) -> str:
        if not self._cost_weight:
            return "prices do not count at a cost weight of 0"
        if gain > self._cost_weight * cost:
            return f"expected to save {self._saving(gain)}"
        return f"expected to save {self._saving(going_on)} more than it costs, together with later purchases"

    def _why_not(self, going_on: float) -> str:
        if not np.isfinite(going_on):
            return "nothing is worth its price at this cost weight"
        return f"going on is expected to cost {self._saving(-going_on)} more than it saves"

    def _saving(self, loss: float) -> str:
        """Return an amount of loss in words, and what it is worth at the cost weight."""
        text = f"{loss * self._loss_scale:.2g} {self._loss_unit}".rstrip()
        if self._loss_unit and 0 < self._cost_weight < np.inf:
            text += f", worth {amount(float(f'{loss / self._cost_weight:.3g}'), self._policy.factors.cost_model.unit)}"
        return text
