"""The training set of a policy: states that rows visit, with the action of the oracle or coach in each.

States of all iterations are kept, as in DAgger, up to a maximal number. Beyond the paper, a state has the weight

    weight of a state  =  count of its row * (0.05 + stake)

The stake is how much the rewards of stopping and of continuing differ (see `thrifty.models.policies.oracle`). Without
it, the many states where the action hardly matters would determine the policy. So the learner minimises
sum_i weight_i * loss(action_i, policy in state_i).

If there are too many states, some are drawn without replacement, in proportion to their weights: each state gets a
random key, exponential with its weight as rate, and the states with the smallest keys are kept. The states that are
kept then all have weight 1.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thrifty.models.policies.action_svm import ActionSVM
from thrifty.models.policies.classifier_fits import OutOfFoldRows
from thrifty.models.policies.oracle import oracle_actions
from thrifty.models.policies.policy import ActionScores, LinearPolicy, Policy, choose, continuing, fit_policy
from thrifty.models.policies.rollout import Rollout, n_meta_features

MIN_STAKE = 0.05  # added to all stakes, so that no state has weight 0


@dataclass(frozen=True)
class ImitationOptions:
    """How a policy is learned by imitation.

    Attributes
    ----------
    learner : scikit-learn classifier or None
        Classifier of actions; None means `ActionSVM`.
    cost_weight : float
        Weight of the cost in the reward.
    coaching : float
        Weight of the first policy's preferences in the choices of the coach; 0 means DAgger.
    n_iterations : int
    max_states : int
        Largest number of states to learn from.
    weigh_stakes : bool
        Whether states are weighted by their stakes.
    random : RandomState
    """

    learner: Any
    cost_weight: float
    coaching: float
    n_iterations: int
    max_states: int
    weigh_stakes: bool
    random: np.random.RandomState

    def coach_weight(self, iteration: int) -> float:
        """Return eta of eq. (4): coaching * exp(1 - iteration), for iterations from 1."""
        return self.coaching * math.exp(1 - iteration)


class _States(NamedTuple):
    """States, with actions, weights and the random keys that decide which states are kept."""

    rows: np.ndarray
    acquired: np.ndarray
    meta: np.ndarray
    actions: np.ndarray
    weight: np.ndarray
    key: np.ndarray


class TrainingStates:
    """The states of all iterations, from which the next policy is learned.

    Parameters
    ----------
    training : OutOfFoldRows
    options : ImitationOptions
    """

    def __init__(self, training: OutOfFoldRows, options: ImitationOptions):
        self._training, self._options = training, options
        self._n_columns = training.rows.X.shape[1]
        n_inputs = self._n_columns + n_meta_features(training.scores.n_classes)
        self._svm = ActionSVM(n_inputs, len(training.factors) + 1)
        self._kept: Any = None
        self._was_full = False

    def visit(self, policy: Policy | None, coach_weight: float) -> None:
        """Add the states that rows visit when they follow a policy; None means the oracle."""
        rollout, visited = self._training.start(), [] if self._kept is None else [self._kept]
        scores, rows = policy.follow(rollout) if policy else None, np.arange(len(rollout))
        while rows.size:
            states, chosen = self._current_states(rollout, rows, scores, coach_weight)
            visited.append(states)
            rows, chosen = continuing(rollout, rows, chosen)
            rollout.acquire(rows, chosen)
            if scores:
                scores.update(rows, chosen)
        self._keep(_States(*map(np.concatenate, zip(*visited, strict=True))))

    def fit_policy(self) -> Policy:
        """Learn a policy from all states."""
        kept, factors, Z, n_columns = self._kept, self._training.factors, self._training.rows.X, self._n_columns
        inputs = np.empty((len(kept.rows), n_columns + kept.meta.shape[1]))
        np.multiply(Z[kept.rows], factors.to_columns(kept.acquired), out=inputs[:, :n_columns])
        inputs[:, n_columns:] = kept.meta
        weight = np.ones(len(inputs)) if self._was_full else kept.weight / kept.weight.mean()
        if self._options.learner is None:
            return LinearPolicy(*self._svm.fit(inputs, kept.actions, weight), n_columns)
        with warnings.catch_warnings():  # the next iteration improves the policy anyway
            warnings.simplefilter("ignore", ConvergenceWarning)
            return fit_policy(self._options.learner, inputs, kept.actions, weight, len(factors) + 1, n_columns)

    def _current_states(
        self, rollout: Rollout, rows: np.ndarray, scores: ActionScores | None, coach_weight: float
    ) -> tuple[_States, np.ndarray]:
        """Return the current states of some rows, and the actions that the rows take."""
        training, options, meta = self._training, self._options, rollout.meta_features(rows)
        bonus = np.zeros((len(rows), len(rollout.factors)))
        if scores:
            preferences = scores.preferences(rows)
            bonus = coach_weight * _finite(preferences[:, :-1])
        actions, stakes = oracle_actions(rollout, rows, training.rows.y[rows], options.cost_weight, bonus)
        weight = training.rows.weight[rows] * ((MIN_STAKE + stakes) if options.weigh_stakes else 1.0)
        key = options.random.standard_exponential(len(rows)) / weight
        states = _States(rows, rollout.acquired[rows], meta, actions, weight, key)
        return states, choose(preferences) if scores else actions

    def _keep(self, states: _States) -> None:
        """Keep all states, or those with the smallest keys."""
        max_states = self._options.max_states
        if len(states.key) > max_states:
            self._was_full = True
            smallest = np.sort(np.argpartition(states.key, max_states)[:max_states])
            states = _States(*(each[smallest] for each in states))
        self._kept = states


def _finite(preferences: np.ndarray) -> np.ndarray:
    """Replace infinite scores by the smallest finite score of the row, but at most 0."""
    known = np.isfinite(preferences)
    lowest = np.where(known, preferences, np.inf).min(axis=1, keepdims=True, initial=0.0)
    return np.where(known, preferences, lowest)
