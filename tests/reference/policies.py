"""Dynamic feature selection straight from He, Daumé and Eisner (2012): one row, one factor, one candidate at a time.

Loops and NumPy, importing nothing of thrifty. A factor is a list of columns, `requirement[column][unit]` tells which
units a column needs, and costs are shares of the cost of all units. Stopping is the action after the last factor.
"""

from typing import Any, NamedTuple

import numpy as np


class Problem(NamedTuple):
    """A linear data model, prices, and the reward; a single row of weights predicts a number."""

    factors: Any
    weights: Any
    intercepts: Any
    requirement: Any
    unit_costs: Any
    cost_weight: float
    quality: str = "probability"

    @property
    def stop(self):
        """The action to stop."""
        return len(self.factors)


def class_scores(x, acquired, problem):
    """Scores of all classes from the factors acquired, the rest being zero: a full product every time."""
    masked = np.zeros_like(x)
    for f in acquired:
        masked[problem.factors[f]] = x[problem.factors[f]]
    return problem.weights @ masked + problem.intercepts


def probabilities(scores):
    """Softmax."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def margin(scores, label):
    """Section 2: score of the true class less the largest of the others."""
    return scores[label] - np.delete(scores, label).max()


def cost(acquired, problem):
    """Share of the cost of everything behind the factors acquired, each unit once."""
    units = {u for f in acquired for j in problem.factors[f] for u in np.flatnonzero(problem.requirement[j])}
    return sum(problem.unit_costs[u] for u in units) / sum(problem.unit_costs)


def reward(x, target, acquired, problem):
    """Equation (1) of the state in which these factors are acquired; squared error for numbers."""
    scores = class_scores(x, acquired, problem)
    if problem.quality == "squared_error":
        quality = -((target - scores[0]) ** 2)
    else:
        quality = margin(probabilities(scores) if problem.quality == "probability" else scores, target)
    return quality - problem.cost_weight * cost(acquired, problem)


def candidates(acquired, problem):
    """The factors that can still be bought."""
    return [f for f in range(len(problem.factors)) if f not in acquired]


def greedy_path(x, target, acquired, problem, wish=None):
    """Section 3.2: go on with the factor of the largest reward until all are acquired; return factors and rewards.

    A wish is added to the rewards when the first factor is chosen.
    """
    path, rewards, acquired = [], [reward(x, target, acquired, problem)], list(acquired)
    while len(acquired) < problem.stop:
        value = {f: reward(x, target, [*acquired, f], problem) for f in candidates(acquired, problem)}
        liked = wish if wish is not None and not path else np.zeros(problem.stop)
        best = max(value, key=lambda f: value[f] + liked[f])
        path.append(best)
        rewards.append(value[best])
        acquired.append(best)
    return path, rewards


def oracle_action(x, target, acquired, problem, wish=None):
    """Equation (3): stop in the state of the largest reward; with a wish, the factor is that of equation (4)."""
    if len(acquired) == problem.stop:
        return problem.stop
    path, rewards = greedy_path(x, target, acquired, problem, wish)
    return path[0] if max(rewards[1:]) > rewards[0] else problem.stop


def coach_action(x, target, acquired, problem, wish):
    """Equation (4) with the action to stop, which adds no factor, among the actions."""
    value = {problem.stop: reward(x, target, acquired, problem) + wish[problem.stop]}
    for f in candidates(acquired, problem):
        value[f] = reward(x, target, [*acquired, f], problem) + wish[f]
    return max(value, key=value.get)


def meta_features(x, acquired, problem):
    """Section 3.3, for factors listed in the order of purchase."""
    now, before = _judgement(x, acquired, problem), _judgement(x, acquired[:-1], problem)
    guess = np.zeros(len(problem.weights))
    guess[now[1]] = 1.0
    return np.array(
        [
            now[0],
            now[0] - before[0],
            now[1] != before[1],
            now[2],
            now[2] - before[2],
            now[2] / now[0],
            *guess,
        ]
    )


def value_meta_features(x, acquired, problem):
    """The same for predicted numbers: value, change, absolute values of both, and costs as for classes."""
    now, before = (class_scores(x, each, problem)[0] for each in (acquired, acquired[:-1]))
    paid, paid_before = cost(acquired, problem), cost(acquired[:-1], problem)
    return np.array([now, now - before, abs(now - before), paid, paid - paid_before, abs(now)])


def _judgement(x, acquired, problem):
    scores = class_scores(x, acquired, problem)
    return probabilities(scores).max(), int(scores.argmax()), cost(acquired, problem)


def state(x, acquired, problem, meta=meta_features):
    """The masked row and the meta-features."""
    masked = np.zeros_like(x)
    for f in acquired:
        masked[problem.factors[f]] = x[problem.factors[f]]
    return np.concatenate([masked, meta(x, acquired, problem)])


def preferences(policy, situation, acquired):
    """The policy's scores of all actions; factors that the row has are out of the question."""
    scores = np.array(policy(situation))
    scores[acquired] = -np.inf
    return scores


def wish_of(scores, eta):
    """The first term of equation (4); an action that the policy does not know has its lowest score, at most 0."""
    lowest = min([0.0, *scores[np.isfinite(scores)]])
    return eta * np.where(np.isfinite(scores), scores, lowest)


def visit(x, target, problem, policy, eta=0.0, coach_stops=False, meta=meta_features):
    """Follow a policy (None: the oracle) for one row; return the states, and what oracle or coach does in each."""
    acquired, states, actions = [], [], []
    while True:
        states.append(state(x, acquired, problem, meta))
        if policy is None:
            action = oracle_action(x, target, acquired, problem)
            actions.append(action)
        else:
            scores = preferences(policy, states[-1], acquired)
            action = int(scores.argmax())
            wish = wish_of(scores, eta)
            coach = coach_action if coach_stops and eta > 0 else oracle_action
            actions.append(coach(x, target, acquired, problem, wish))
        if action == problem.stop:
            return states, actions
        acquired.append(action)


def follow(x, problem, policy, meta=meta_features):
    """The factors that a policy buys for one row, in order."""
    acquired = []
    while True:
        action = int(preferences(policy, state(x, acquired, problem, meta), acquired).argmax())
        if action == problem.stop:
            return acquired
        acquired.append(action)


class Iteration(NamedTuple):
    """States and actions of each row in one iteration of Algorithm 1, the next policy, and its mean reward."""

    states: Any
    actions: Any
    policy: Any
    reward: float


def dagger(X, y, problem_of_row, learn, n_iterations, coaching=0.0, coach_stops=False, meta=meta_features):
    """Algorithm 1; `learn` takes states and actions and returns a function from a state to scores of all actions.

    The weight of coaching is divided by e in each iteration, from the first learned policy on. Policies are compared on
    the same rows. Return all iterations.
    """
    states, actions, policy, iterations = [], [], None, []
    for i in range(n_iterations):
        eta = coaching * np.exp(1.0 - i)
        new = [visit(X[j], y[j], problem_of_row(j), policy, eta, coach_stops, meta) for j in range(len(X))]
        for visited, told in new:
            states += visited
            actions += told
        policy = learn(np.array(states), np.array(actions))
        rewards = []
        for j in range(len(X)):
            bought = follow(X[j], problem_of_row(j), policy, meta)
            rewards.append(reward(X[j], y[j], bought, problem_of_row(j)))
        iterations.append(Iteration(*zip(*new, strict=True), policy, np.mean(rewards)))
    return iterations
