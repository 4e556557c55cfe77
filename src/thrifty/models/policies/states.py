"""States that rows come through while a policy is learned, and what the oracle would do there.

States of all iterations are kept, as DAgger asks for, up to a number. They count by how much is at stake in them
between stopping and going on, which is not in the paper: without it the many where it hardly matters decide.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thrifty.models.policies.action_svm import ActionSVM
from thrifty.models.policies.data_classifier import Scores
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.oracle import advise
from thrifty.models.policies.policy import Follower, LinearPolicy, Policy, choose, going_on, learn_policy
from thrifty.models.policies.rollout import N_NUMBERS, Walk

SMALLEST_STAKE = 0.05  # a state where little is at stake counts this much all the same


@dataclass(frozen=True, eq=False)
class Pupils:
    """Rows of known class that walk under data classifiers which have not seen them."""

    factors: Factors
    scores: Scores
    Z: np.ndarray
    labels: np.ndarray
    count: np.ndarray
    fold: np.ndarray

    def some(self, rows: np.ndarray) -> "Pupils":
        """Return some of the rows."""
        picked = (each[rows] for each in (self.Z, self.labels, self.count, self.fold))
        return Pupils(self.factors, self.scores, *picked)

    def set_out(self) -> Walk:
        """Return the rows at the start of their way."""
        return Walk(self.factors, self.scores, self.Z, self.fold).begin()


@dataclass(frozen=True)
class Teaching:
    """How policies are taught; `learner` None is the linear SVM of action_svm.py."""

    learner: Any
    cost_weight: float
    coaching: float
    n_iterations: int
    max_states: int
    weigh_stakes: bool
    random: np.random.RandomState

    def leniency(self, iteration: int) -> float:
        """Return how much the policy's preference counts: from the first policy on, e times less each iteration."""
        return self.coaching * math.exp(1 - iteration)


class _Visit(NamedTuple):
    """States that were come through and what the oracle would do there; `lot` decides who stays when it gets full."""

    rows: np.ndarray
    acquired: np.ndarray
    meta: np.ndarray
    actions: np.ndarray
    weight: np.ndarray
    lot: np.ndarray


class States:
    """States from all iterations with the oracle's actions: at most so many, those with most at stake preferred.

    Lots are exponential with the weight as their rate; to keep the smallest is to draw without replacement in
    proportion to the weights, however the states come in.
    """

    def __init__(self, pupils: Pupils, teaching: Teaching):
        self._pupils, self._teaching = pupils, teaching
        n_inputs = pupils.Z.shape[1] + N_NUMBERS + pupils.scores.n_classes
        self._svm = ActionSVM(n_inputs, len(pupils.factors) + 1)
        self._kept: Any = None
        self._is_full = False

    def visit(self, policy: Policy | None, leniency: float) -> None:
        """Let the rows follow a policy (None: the oracle) and note the states they come through."""
        walk, seen = self._pupils.set_out(), [] if self._kept is None else [self._kept]
        follower, rows = policy.follow(walk) if policy else None, np.arange(len(self._pupils.Z))
        while rows.size:
            visit, chosen = self._seen(walk, rows, follower, leniency)
            seen.append(visit)
            rows, chosen = going_on(walk, rows, chosen)
            walk.take(rows, chosen)
            if follower:
                follower.took(rows, chosen)
        self._keep(_Visit(*map(np.concatenate, zip(*seen, strict=True))))

    def learn(self) -> Policy:
        """Learn a policy from the states."""
        kept, factors, Z = self._kept, self._pupils.factors, self._pupils.Z
        inputs = np.empty((len(kept.rows), Z.shape[1] + kept.meta.shape[1]))
        np.multiply(Z[kept.rows], factors.widened(kept.acquired), out=inputs[:, : Z.shape[1]])
        inputs[:, Z.shape[1] :] = kept.meta
        weight = np.ones(len(inputs)) if self._is_full else kept.weight / kept.weight.mean()
        if self._teaching.learner is None:
            return LinearPolicy(*self._svm.fit(inputs, kept.actions, weight), Z.shape[1])
        with warnings.catch_warnings():  # a policy on the way need not be learned to the last digit
            warnings.simplefilter("ignore", ConvergenceWarning)
            return learn_policy(self._teaching.learner, inputs, kept.actions, weight, len(factors) + 1, Z.shape[1])

    def _seen(
        self, walk: Walk, rows: np.ndarray, follower: Follower | None, leniency: float
    ) -> tuple[_Visit, np.ndarray]:
        pupils, teaching, meta = self._pupils, self._teaching, walk.meta_features(rows)
        wish = np.zeros((len(rows), len(walk.factors)))
        if follower:
            preferences = follower.preferences(rows)
            wish = leniency * _finite(preferences[:, :-1])
        actions, stakes = advise(walk, rows, pupils.labels[rows], teaching.cost_weight, wish)
        weight = pupils.count[rows] * ((SMALLEST_STAKE + stakes) if teaching.weigh_stakes else 1.0)
        lot = teaching.random.standard_exponential(len(rows)) / weight
        visit = _Visit(rows, walk.acquired[rows], meta, actions, weight, lot)
        return visit, choose(preferences) if follower else actions

    def _keep(self, visit: _Visit) -> None:
        if len(visit.lot) > self._teaching.max_states:
            self._is_full = True
            stay = np.sort(np.argpartition(visit.lot, self._teaching.max_states)[: self._teaching.max_states])
            visit = _Visit(*(each[stay] for each in visit))
        self._kept = visit


def _finite(preferences: np.ndarray) -> np.ndarray:
    """Let actions of which a policy knows nothing score as low as the lowest that it knows."""
    known = np.isfinite(preferences)
    lowest = np.where(known, preferences, np.inf).min(axis=1, keepdims=True, initial=0.0)
    return np.where(known, preferences, lowest)
