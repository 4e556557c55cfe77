"""A policy: scores of the actions in a state, from the masked row and the meta-features.

Any scikit-learn classifier of actions will do. A linear one is brought up to date by what a new factor contributes, as
the data classifier is; others look at whole states. Actions that were never shown to it, and factors that a row already
has, score -inf.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.validation import has_fit_parameter

from thrifty.kernels.policies import add_factors, add_products
from thrifty.models.policies.rollout import Walk


class Policy(ABC):
    """What to do in a state; of F factors, action F is to stop."""

    @abstractmethod
    def follow(self, walk: Walk) -> "Follower":
        """Return what tells these rows what to do as they go."""

    @abstractmethod
    def leaning(self, towards_stop: float) -> "Policy":
        """Return the policy with so much added to the score of stopping."""


class Follower(ABC):
    """A policy and the rows that follow it."""

    def __init__(self, walk: Walk):
        self.walk = walk

    @abstractmethod
    def scores(self, rows: np.ndarray, meta: np.ndarray) -> np.ndarray:
        """Return the scores (n, n_factors + 1) of all actions for some rows with these meta-features."""

    @abstractmethod
    def took(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        """Take notice of the factors that rows have just acquired."""

    def preferences(self, rows: np.ndarray) -> np.ndarray:
        """Return the scores of all actions for some rows; -inf for factors that they have."""
        scores = self.scores(rows, self.walk.meta_features(rows))
        np.copyto(scores[:, :-1], -np.inf, where=self.walk.acquired[rows])
        return scores


def choose(preferences: np.ndarray) -> np.ndarray:
    """Return the preferred action of each row: to stop if there is none, or if NaN leaves it open."""
    stop = preferences.shape[1] - 1
    best = preferences.argmax(axis=1)
    return np.where(preferences.max(axis=1) > -np.inf, best, stop)


def going_on(walk: Walk, rows: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that do not stop, and what they take."""
    goes_on = chosen < len(walk.factors)
    return rows[goes_on], chosen[goes_on]


def send(walk: Walk, policy: Policy, cap: np.ndarray | None = None) -> None:
    """Let rows follow a policy until they stop, or cannot pay for what they prefer."""
    follower, rows = policy.follow(walk), np.arange(len(walk))
    while rows.size:
        chosen = choose(follower.preferences(rows))
        rows, chosen = going_on(walk, rows, chosen)
        if cap is not None:
            affordable = walk.factors.spend(walk.ticks_with(rows, chosen)) <= cap[rows]
            rows, chosen = rows[affordable], chosen[affordable]
        walk.take(rows, chosen)
        follower.took(rows, chosen)


class LinearPolicy(Policy):
    """Scores that are linear in the state: weights (n_factors + 1, n_features + n_meta_features)."""

    def __init__(self, weights: np.ndarray, intercepts: np.ndarray, n_features: int):
        self.values = np.ascontiguousarray(weights.T[None, :n_features])
        self.meta = np.ascontiguousarray(weights.T[n_features:])
        self.intercepts = intercepts

    def leaning(self, towards_stop: float) -> "LinearPolicy":
        """Return the policy with so much added to the score of stopping."""
        twin = copy(self)
        twin.intercepts = self.intercepts.copy()
        twin.intercepts[-1] += towards_stop
        return twin

    def follow(self, walk: Walk) -> Follower:
        """Return what keeps the scores of these rows up to date."""
        return _LinearFollower(walk, self)


class _LinearFollower(Follower):
    """Keeps the sum of what the factors acquired contribute."""

    def __init__(self, walk: Walk, policy: LinearPolicy):
        super().__init__(walk)
        self._policy = policy
        self._totals = np.tile(policy.intercepts, (len(walk), 1))
        self._first = np.zeros(len(walk), dtype=np.int64)
        for factor in walk.factors.free:
            self.took(np.arange(len(walk)), np.full(len(walk), factor))

    def scores(self, rows: np.ndarray, meta: np.ndarray) -> np.ndarray:
        totals = self._totals[rows]
        add_products(totals, meta, self._policy.meta)
        return totals

    def took(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        starts = self.walk.factors.starts
        add_factors(self._totals, rows, chosen, self.walk.masked, starts, self._policy.values, self._first)


class PredictedPolicy(Policy):
    """Scores of a classifier that looks at whole states."""

    def __init__(self, classifier: Any, n_actions: int):
        self.classifier, self.n_actions = classifier, n_actions
        self.lean = 0.0

    def leaning(self, towards_stop: float) -> "PredictedPolicy":
        """Return the policy with so much added to the score of stopping."""
        twin = copy(self)
        twin.lean += towards_stop
        return twin

    def follow(self, walk: Walk) -> Follower:
        """Return what predicts the scores of these rows."""
        return _PredictedFollower(walk, self)


class _PredictedFollower(Follower):
    def __init__(self, walk: Walk, policy: PredictedPolicy):
        super().__init__(walk)
        self._policy = policy

    def scores(self, rows: np.ndarray, meta: np.ndarray) -> np.ndarray:
        policy, states = self._policy, np.hstack([self.walk.masked[rows], meta])
        method = getattr(policy.classifier, "decision_function", None) or policy.classifier.predict_proba
        known = method(states)
        scores = np.full((len(rows), policy.n_actions), -np.inf)
        scores[:, policy.classifier.classes_] = np.column_stack([-known, known]) if known.ndim == 1 else known
        scores[:, -1] += policy.lean
        return scores

    def took(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        pass  # states are looked at as a whole


def learn_policy(
    learner: Any, states: np.ndarray, actions: np.ndarray, weight: np.ndarray, n_actions: int, n_features: int
) -> Policy:
    """Learn from states (n, n_features + n_meta_features), of some weight, and what to do there."""
    weights, intercepts = np.zeros((n_actions, states.shape[1])), np.full(n_actions, -np.inf)
    if (actions == actions[0]).all():
        intercepts[actions[0]] = 0.0
        return LinearPolicy(weights, intercepts, n_features)
    options = {"sample_weight": weight} if has_fit_parameter(learner, "sample_weight") else {}
    classifier = clone(learner).fit(states, actions, **options)
    if not isinstance(classifier, LinearClassifierMixin):
        return PredictedPolicy(classifier, n_actions)
    known, signs = classifier.classes_, np.ones((len(classifier.classes_), 1))
    if len(known) == 2:  # scikit-learn keeps one line, that of the second
        signs[0] = -1.0
    weights[known], intercepts[known] = signs * classifier.coef_, signs[:, 0] * classifier.intercept_
    return LinearPolicy(weights, intercepts, n_features)


def queue_policy(queue: np.ndarray, n_factors: int, n_inputs: int, n_features: int) -> Policy:
    """Return the policy that takes the factors of a queue one after another, whatever it sees."""
    scores = np.full(n_factors + 1, -np.inf)
    scores[queue] = -np.arange(len(queue))
    scores[-1] = -len(queue)
    return LinearPolicy(np.zeros((n_factors + 1, n_inputs)), scores, n_features)
