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
from thrifty.models.policies.data_model_fits import OutOfFoldRows
from thrifty.models.policies.meta_features import n_meta_features
from thrifty.models.policies.oracle import guided_actions
from thrifty.models.policies.policy import ActionScores, LinearPolicy, Policy, choose, continuing, fit_policy
from thrifty.models.policies.rewards import Reward
from thrifty.models.policies.rollout import Rollout

MIN_STAKE = 0.05  # added to all stakes, so that no state has weight 0


@dataclass(frozen=True)
class ImitationOptions:
    """How a policy is learned by imitation.

    Attributes
    ----------
    learner : scikit-learn classifier or None
        Classifier of actions; None means `ActionSVM`.
    reward : Reward
        What the oracle maximises.
    coaching : float
        Weight of the first policy's preferences in the choices of the coach; 0 means DAgger.
    coach_stops : bool
        Whether the coach weighs stopping like every other action.
    stop_biases : tuple of float
        Numbers to add to a policy's score of stopping; the one with the largest reward on validation rows is used.
    n_iterations : int
    max_states : int
        Largest number of states to learn from.
    weigh_stakes : bool
        Whether states are weighted by their stakes.
    random : RandomState
    """

    learner: Any
    reward: Reward
    coaching: float
    coach_stops: bool
    stop_biases: tuple[float, ...]
    n_iterations: int
    max_states: int
    weigh_stakes: bool
    random: np.random.RandomState

    def coach_weight(self, iteration: int) -> float:
        """Return eta of eq. (4): coaching * exp(1 - iteration), for iterations from 1."""
        return self.coaching * math.exp(1 - iteration)


class States(NamedTuple):
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

    Attributes
    ----------
    kept : States
        States of all iterations in the order of the visits; None before the first visit.
    """

    def __init__(self, training: OutOfFoldRows, options: ImitationOptions):
        self._training, self._options = training, options
        self._n_columns = training.rows.X.shape[1]
        n_inputs = self._n_columns + n_meta_features(training.scores.n_scores)
        self._n_actions = len(training.factors) + 1
        self._svm = ActionSVM(n_inputs, self._n_actions)
        self.kept: Any = None
        self._was_full = False

    def visit(self, policy: Policy | None, coach_weight: float) -> None:
        """Add the states that rows visit when they follow a policy; None means the oracle."""
        rollout, visited = self._training.start(), [] if self.kept is None else [self.kept]
        scores, rows = policy.follow(rollout) if policy else None, np.arange(len(rollout))
        while rows.size:
            states, chosen = self._current_states(rollout, rows, scores, coach_weight)
            visited.append(states)
            rows, chosen = continuing(rollout, rows, chosen)
            rollout.acquire(rows, chosen)
            if scores:
                scores.update(rows, chosen)
        self._keep(States(*map(np.concatenate, zip(*visited, strict=True))))

    def fit_policy(self) -> Policy:
        """Learn a policy from all states."""
        kept, inputs, n_columns = self.kept, self.inputs(), self._n_columns
        weight = np.ones(len(inputs)) if self._was_full else kept.weight / kept.weight.mean()
        if self._options.learner is None:
            return LinearPolicy(*self._svm.fit(inputs, kept.actions, weight), n_columns)
        with warnings.catch_warnings():  # the next iteration improves the policy anyway
            warnings.simplefilter("ignore", ConvergenceWarning)
            return fit_policy(self._options.learner, inputs, kept.actions, weight, self._n_actions, n_columns)

    def inputs(self) -> np.ndarray:
        """Return what a policy sees of all states (n_states, n_columns + n_meta_features)."""
        kept, n_columns = self.kept, self._n_columns
        inputs = np.empty((len(kept.rows), n_columns + kept.meta.shape[1]))
        masks = self._training.factors.to_columns(kept.acquired)
        np.multiply(self._training.rows.X[kept.rows], masks, out=inputs[:, :n_columns])
        inputs[:, n_columns:] = kept.meta
        return inputs

    def _current_states(
        self, rollout: Rollout, rows: np.ndarray, scores: ActionScores | None, coach_weight: float
    ) -> tuple[States, np.ndarray]:
        """Return the current states of some rows, and the actions that the rows take."""
        training, options, meta = self._training, self._options, rollout.meta_features(rows)
        preferences = scores.preferences(rows) if scores else np.zeros((len(rows), len(rollout.factors) + 1))
        is_coach = scores is not None and coach_weight > 0
        bonus = coach_weight * _finite(preferences) if is_coach else np.zeros_like(preferences)
        targets, weighs_stop = training.rows.y[rows], is_coach and options.coach_stops
        actions, stakes = guided_actions(rollout, rows, targets, options.reward, bonus, weighs_stop)
        weight = training.rows.weight[rows] * ((MIN_STAKE + stakes) if options.weigh_stakes else 1.0)
        key = options.random.standard_exponential(len(rows)) / weight
        states = States(rows, rollout.acquired[rows], meta, actions, weight, key)
        return states, choose(preferences) if scores else actions

    def _keep(self, states: States) -> None:
        """Keep all states, or those with the smallest keys."""
        max_states = self._options.max_states
        if len(states.key) > max_states:
            self._was_full = True
            smallest = np.sort(np.argpartition(states.key, max_states)[:max_states])
            states = States(*(each[smallest] for each in states))
        self.kept = states


def _finite(preferences: np.ndarray) -> np.ndarray:
    """Replace infinite scores by the smallest finite score of the row, but at most 0."""
    known = np.isfinite(preferences)
    lowest = np.where(known, preferences, np.inf).min(axis=1, keepdims=True, initial=0.0)
    return np.where(known, preferences, lowest)
