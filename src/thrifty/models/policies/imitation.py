"""Learning a policy by imitation: DAgger (Algorithm 1), and Coaching (section 4.2).

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

In each iteration, rows follow the policy learned so far, at first the oracle. In every state that they visit, the
oracle or coach gives its action. The next policy is learned from the states of all iterations. The policy with the
largest mean reward on the validation rows is kept.

Beyond the paper, each policy can be evaluated with several numbers added to its score of stopping (stop biases); the
best one is used, and rows follow the policy with it in the next iteration. With many factors, the examples of
continuing are divided among many actions, so that policies would stop too early. The single bias 0 is Algorithm 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from thrifty.models.policies.data_model_fits import OutOfFoldRows
from thrifty.models.policies.oracle import current_rewards
from thrifty.models.policies.policy import Policy, run_policy
from thrifty.models.policies.rewards import Reward
from thrifty.models.policies.training_states import ImitationOptions, TrainingStates
from thrifty.stored import Array, stored


@stored(
    reward=Array("float64", "n_iterations"),
    score=Array("float64", "n_iterations"),
    cost=Array("float64", "n_iterations"),
)
@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Results of the policy of each iteration on the validation rows (Fig. 1a).

    Attributes
    ----------
    reward : ndarray of shape (n_iterations,)
        Mean reward.
    score : ndarray of shape (n_iterations,)
        Accuracy, or R² for regression.
    cost : ndarray of shape (n_iterations,)
        Mean cost, as a share of the cost of all features.
    best : int
        The iteration with the largest reward, counted from 0. Its policy is used.
    """

    reward: np.ndarray
    score: np.ndarray
    cost: np.ndarray

    @property
    def best(self) -> int:
        """The iteration with the largest reward, counted from 0."""
        return int(self.reward.argmax())

    def __len__(self) -> int:
        return len(self.reward)


def imitate(
    training: OutOfFoldRows, validation: OutOfFoldRows, options: ImitationOptions
) -> tuple[Policy, LearningCurve]:
    """Learn policies and return the best one on the validation rows, and the learning curve."""
    steps = list(iterations(TrainingStates(training, options), validation, options))
    curve = LearningCurve(*np.array([results for _, results in steps]).T)
    return steps[curve.best][0], curve


def iterations(
    states: TrainingStates, validation: OutOfFoldRows, options: ImitationOptions
) -> Iterator[tuple[Policy, tuple[float, float, float]]]:
    """Yield the policy of each iteration, and its results on the validation rows; `states` grows meanwhile."""
    policy: Policy | None = None
    for iteration in range(options.n_iterations):
        states.visit(policy, options.coach_weight(iteration))
        policy, results = _with_best_stop_bias(states.fit_policy(), validation, options)
        yield policy, results


def _with_best_stop_bias(
    policy: Policy, validation: OutOfFoldRows, options: ImitationOptions
) -> tuple[Policy, tuple[float, float, float]]:
    """Return the policy with the stop bias of the largest reward, and its results."""
    candidates = [policy.with_stop_bias(bias) for bias in options.stop_biases]
    results = [evaluate(validation, each, options.reward) for each in candidates]
    best = int(np.argmax([reward for reward, _, _ in results]))
    return candidates[best], results[best]


def evaluate(validation: OutOfFoldRows, policy: Policy, reward: Reward) -> tuple[float, float, float]:
    """Return the mean reward, the score and the mean cost of rows that follow a policy until they stop."""
    rollout, targets, weight = validation.start(), validation.rows.y, validation.rows.weight
    run_policy(rollout, policy)
    mean = partial(np.average, weights=weight)
    rewards, score = current_rewards(rollout, targets, reward), validation.task.score(rollout.score, targets, weight)
    return mean(rewards), score, mean(rollout.now.cost)
