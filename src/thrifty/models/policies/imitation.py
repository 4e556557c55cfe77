"""Learning a policy by imitation: DAgger (Algorithm 1), and Coaching (section 4.2).

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

In each iteration, rows follow the policy learned so far, at first the oracle. In every state that they visit, the
oracle or coach gives its action. The next policy is learned from the states of all iterations. The policy with the
largest mean reward on the validation rows is kept.

Beyond the paper, each policy is evaluated with several numbers added to its score of stopping, and the best one is
used. With many factors, the examples of continuing are divided among many actions, so that policies would stop too
early.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from thrifty.models.policies.classifier_fits import OutOfFoldRows
from thrifty.models.policies.oracle import rewards
from thrifty.models.policies.policy import Policy, run_policy
from thrifty.models.policies.training_states import ImitationOptions, TrainingStates

STOP_BONUSES = (0.0, -0.25, -0.5, 0.25)


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Results of the policy of each iteration on the validation rows (Fig. 1a).

    Attributes
    ----------
    reward : ndarray of shape (n_iterations,)
        Mean reward.
    accuracy : ndarray of shape (n_iterations,)
        Share of correct predictions.
    cost : ndarray of shape (n_iterations,)
        Mean cost, as a share of the cost of all features.
    best : int
        The iteration with the largest reward, counted from 0. Its policy is used.
    """

    reward: np.ndarray
    accuracy: np.ndarray
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
    states, points = TrainingStates(training, options), []
    policies: list[Policy] = []
    for iteration in range(options.n_iterations):
        states.visit(policies[-1] if policies else None, options.coach_weight(iteration))
        policy, point = _best_stop_bonus(states.fit_policy(), validation, options.cost_weight)
        policies.append(policy)
        points.append(point)
    curve = LearningCurve(*np.array(points).T)
    return policies[curve.best], curve


def _best_stop_bonus(
    policy: Policy, validation: OutOfFoldRows, cost_weight: float
) -> tuple[Policy, tuple[float, float, float]]:
    """Return the policy with the stop bonus of the largest reward, and its results."""
    candidates = [policy.with_stop_bonus(bonus) for bonus in STOP_BONUSES]
    points = [evaluate(validation, each, cost_weight) for each in candidates]
    best = int(np.argmax([reward for reward, _, _ in points]))
    return candidates[best], points[best]


def evaluate(validation: OutOfFoldRows, policy: Policy, cost_weight: float) -> tuple[float, float, float]:
    """Return the mean reward, accuracy and cost of rows that follow a policy until they stop."""
    rollout, labels = validation.start(), validation.rows.y
    run_policy(rollout, policy)
    mean = partial(np.average, weights=validation.rows.weight)
    return mean(rewards(rollout, labels, cost_weight)), mean(rollout.now.guess == labels), mean(rollout.now.cost)
