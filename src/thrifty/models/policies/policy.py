"""Policies: scores of the actions in a state, computed from the masked row and the meta-features.

With F factors, action f < F acquires factor f, and action F stops. The action with the largest score is taken. Actions
without training examples, and factors that a row already has, score -infinity.

For a linear policy, a new factor adds its contribution to the scores of the actions. Any other scikit-learn classifier
of actions predicts the state again.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.validation import has_fit_parameter

from thrifty.kernels.policies import add_factors, add_products
from thrifty.models.policies.native_bases import NativeClassifier
from thrifty.models.policies.native_models import NOT_NATIVE, native
from thrifty.models.policies.rollout import Rollout
from thrifty.stored import Array, Number, OrForeign, Structure, Whole, stored


class Policy(ABC):
    """Scores of all actions in a state."""

    @abstractmethod
    def follow(self, rollout: Rollout) -> "ActionScores":
        """Return the action scores of the rows of a rollout."""

    @abstractmethod
    def with_stop_bias(self, bias: float) -> "Policy":
        """Return a copy with `bias` added to the score of stopping."""


class ActionScores(ABC):
    """Action scores of the rows of a rollout. They change as the rows acquire factors."""

    def __init__(self, rollout: Rollout):
        self.rollout = rollout

    @abstractmethod
    def scores(self, rows: np.ndarray, meta: np.ndarray) -> np.ndarray:
        """Return the scores (n, n_factors + 1) of all actions for some rows with these meta-features."""

    @abstractmethod
    def update(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        """Update the scores after rows have acquired the factors chosen for them."""

    def preferences(self, rows: np.ndarray) -> np.ndarray:
        """Return the scores (n, n_factors + 1) of all actions for some rows; -infinity for factors that they have."""
        scores = self.scores(rows, self.rollout.meta_features(rows))
        np.copyto(scores[:, :-1], -np.inf, where=self.rollout.acquired[rows])
        return scores


def choose(preferences: np.ndarray) -> np.ndarray:
    """Return the preferred action of each row: to stop, if all scores are -infinity or one is NaN."""
    stop = preferences.shape[1] - 1
    best = preferences.argmax(axis=1)
    return np.where(preferences.max(axis=1) > -np.inf, best, stop)


def continuing(rollout: Rollout, rows: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that do not stop, and the factors that they acquire."""
    continues = chosen < len(rollout.factors)
    return rows[continues], chosen[continues]


def run_policy(rollout: Rollout, policy: Policy, cap: np.ndarray | None = None) -> None:
    """Let rows follow a policy until they stop, or cannot pay for the factor that they prefer."""
    actions, rows = policy.follow(rollout), np.arange(len(rollout))
    while rows.size:
        chosen = choose(actions.preferences(rows))
        rows, chosen = continuing(rollout, rows, chosen)
        if cap is not None:
            affordable = rollout.factors.spend(rollout.ticks_after(rows, chosen)) <= cap[rows]
            rows, chosen = rows[affordable], chosen[affordable]
        rollout.acquire(rows, chosen)
        actions.update(rows, chosen)


@stored(
    values=Array("float64", 1, "n_columns", "n_actions"),
    meta=Array("float64", "n_meta", "n_actions"),
    intercepts=Array("float64", "n_actions"),
)
class LinearPolicy(Policy):
    """A policy whose scores are linear in the state.

    Parameters
    ----------
    weights : ndarray of shape (n_factors + 1, n_columns + n_meta_features)
    intercepts : ndarray of shape (n_factors + 1,)
    n_columns : int
        Number of columns of a masked row.
    """

    def __init__(self, weights: np.ndarray, intercepts: np.ndarray, n_columns: int):
        self.values = np.ascontiguousarray(weights.T[None, :n_columns])
        self.meta = np.ascontiguousarray(weights.T[n_columns:])
        self.intercepts = intercepts

    def with_stop_bias(self, bias: float) -> "LinearPolicy":
        """Return a copy with `bias` added to the score of stopping."""
        twin = copy(self)
        twin.intercepts = self.intercepts.copy()
        twin.intercepts[-1] += bias
        return twin

    def follow(self, rollout: Rollout) -> ActionScores:
        """Return the action scores of the rows of a rollout."""
        return _LinearActionScores(rollout, self)


class _LinearActionScores(ActionScores):
    """Keeps the sums of the contributions of the acquired factors."""

    def __init__(self, rollout: Rollout, policy: LinearPolicy):
        super().__init__(rollout)
        self._policy = policy
        self._totals = np.tile(policy.intercepts, (len(rollout), 1))
        self._which = np.zeros(len(rollout), dtype=np.int64)
        for factor in rollout.factors.free:
            self.update(np.arange(len(rollout)), np.full(len(rollout), factor))

    def scores(self, rows: np.ndarray, meta: np.ndarray) -> np.ndarray:
        totals = self._totals[rows]
        add_products(totals, meta, self._policy.meta)
        return totals

    def update(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        starts = self.rollout.factors.starts
        add_factors(self._totals, rows, chosen, self.rollout.masked, starts, self._policy.values, self._which)


@stored(
    classifier=OrForeign(Structure(NativeClassifier), NOT_NATIVE),
    n_actions=Whole(1),
    stop_bias=Number(finite=True),
)
class PredictedPolicy(Policy):
    """A policy whose scores a classifier predicts from whole states.

    Parameters
    ----------
    classifier : fitted classifier
        Its classes are actions.
    n_actions : int
    """

    def __init__(self, classifier: Any, n_actions: int):
        self.classifier, self.n_actions = classifier, n_actions
        self.stop_bias = 0.0

    def with_stop_bias(self, bias: float) -> "PredictedPolicy":
        """Return a copy with `bias` added to the score of stopping."""
        twin = copy(self)
        twin.stop_bias += bias
        return twin

    def follow(self, rollout: Rollout) -> ActionScores:
        """Return the action scores of the rows of a rollout."""
        return _PredictedActionScores(rollout, self)


class _PredictedActionScores(ActionScores):
    def __init__(self, rollout: Rollout, policy: PredictedPolicy):
        super().__init__(rollout)
        self._policy = policy

    def scores(self, rows: np.ndarray, meta: np.ndarray) -> np.ndarray:
        policy, states = self._policy, np.hstack([self.rollout.masked[rows], meta])
        method = getattr(policy.classifier, "decision_function", None) or policy.classifier.predict_proba
        known = method(states)
        scores = np.full((len(rows), policy.n_actions), -np.inf)
        scores[:, policy.classifier.classes_] = np.column_stack([-known, known]) if known.ndim == 1 else known
        scores[:, -1] += policy.stop_bias
        return scores

    def update(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        pass  # `scores` reads the whole state


def fit_policy(
    learner: Any, states: np.ndarray, actions: np.ndarray, weight: np.ndarray, n_actions: int, n_columns: int
) -> Policy:
    """Fit a classifier of actions and return it as a policy.

    Parameters
    ----------
    learner : scikit-learn classifier
        A clone of it is fitted.
    states : ndarray of shape (n, n_columns + n_meta_features)
    actions : ndarray of int, shape (n,)
        The action to learn in each state.
    weight : ndarray of shape (n,)
        Weight of each state; ignored if the learner does not accept weights.
    n_actions : int
    n_columns : int
    """
    weights, intercepts = np.zeros((n_actions, states.shape[1])), np.full(n_actions, -np.inf)
    if (actions == actions[0]).all():
        intercepts[actions[0]] = 0.0
        return LinearPolicy(weights, intercepts, n_columns)
    options = {"sample_weight": weight} if has_fit_parameter(learner, "sample_weight") else {}
    classifier = clone(learner).fit(states, actions, **options)
    if not isinstance(classifier, LinearClassifierMixin):
        return PredictedPolicy(native(classifier), n_actions)
    known, signs = classifier.classes_, np.ones((len(classifier.classes_), 1))
    if len(known) == 2:  # scikit-learn has one row of coefficients, for the second action
        signs[0] = -1.0
    weights[known], intercepts[known] = signs * classifier.coef_, signs[:, 0] * classifier.intercept_
    return LinearPolicy(weights, intercepts, n_columns)


def queue_policy(queue: np.ndarray, n_factors: int, n_inputs: int, n_columns: int) -> Policy:
    """Return the policy that acquires the factors of a queue in order, whatever their values, and then stops."""
    scores = np.full(n_factors + 1, -np.inf)
    scores[queue] = -np.arange(len(queue))
    scores[-1] = -len(queue)
    return LinearPolicy(np.zeros((n_factors + 1, n_inputs)), scores, n_columns)
