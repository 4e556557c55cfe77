"""Learning a policy by imitation: DAgger (Algorithm 1), and Coaching (section 4.2).

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

Rows follow the policy learned so far, at first the oracle; in every state they come through the oracle tells what it
would do there; from all states of all iterations the next policy is learned. A coach is an oracle that gives in to what
the policy prefers, by less and less.

Beyond the paper, a policy is tried with several weights on stopping and takes the one that earns the most on the
development rows: among many factors the oracle's votes for going on are split, and alone policies stop too early.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from thrifty.models.policies.oracle import rewards
from thrifty.models.policies.policy import Policy, send
from thrifty.models.policies.states import Pupils, States, Teaching

LEANINGS = (0.0, -0.25, -0.5, 0.25)  # towards stopping, tried on the development rows


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """What the policy of each iteration makes of the development rows (Fig. 1a).

    Attributes
    ----------
    reward, accuracy, cost : ndarray of shape (n_iterations,)
        Means over the rows; the cost is a share of the cost of everything.
    best : int
        The iteration whose policy was kept, counted from 0.
    """

    reward: np.ndarray
    accuracy: np.ndarray
    cost: np.ndarray

    @property
    def best(self) -> int:
        """Return the iteration of the largest reward."""
        return int(self.reward.argmax())

    def __len__(self) -> int:
        return len(self.reward)


def imitate(pupils: Pupils, judges: Pupils, teaching: Teaching) -> tuple[Policy, LearningCurve]:
    """Return the best policy, as the development rows `judges` see it, and how all of them did."""
    states, points = States(pupils, teaching), []
    policies: list[Policy] = []
    for iteration in range(teaching.n_iterations):
        states.visit(policies[-1] if policies else None, teaching.leniency(iteration))
        policy, point = _best_leaning(states.learn(), judges, teaching.cost_weight)
        policies.append(policy)
        points.append(point)
    curve = LearningCurve(*np.array(points).T)
    return policies[curve.best], curve


def _best_leaning(policy: Policy, judges: Pupils, cost_weight: float) -> tuple[Policy, tuple[float, float, float]]:
    leaning = [policy.leaning(towards_stop) for towards_stop in LEANINGS]
    points = [evaluate(judges, each, cost_weight) for each in leaning]
    best = int(np.argmax([reward for reward, _, _ in points]))
    return leaning[best], points[best]


def evaluate(pupils: Pupils, policy: Policy, cost_weight: float) -> tuple[float, float, float]:
    """Return mean reward, accuracy and cost of rows that follow a policy to the end."""
    walk = pupils.set_out()
    send(walk, policy)
    right = walk.now.guess == pupils.labels
    mean = partial(np.average, weights=pupils.count)
    return mean(rewards(walk, pupils.labels, cost_weight)), mean(right), mean(walk.now.cost)
