"""Dynamic feature selection straight from He, Daumé and Eisner (2012): one row, one factor, one candidate at a time.

Loops and NumPy, importing nothing of thrifty. A factor is a list of columns, `requirement[column][unit]` tells which
units a column needs, and costs are shares of the cost of all units. Stopping is the action after the last factor.
"""

import numpy as np


def class_scores(x, acquired, factors, weights, intercepts):
    """Scores of all classes from the factors acquired, the rest being zero: a full product every time."""
    masked = np.zeros_like(x)
    for f in acquired:
        masked[factors[f]] = x[factors[f]]
    return weights @ masked + intercepts


def margin(scores, label):
    """Probability of the true class less that of the likeliest other."""
    probability = np.exp(scores - scores.max())
    probability /= probability.sum()
    return probability[label] - np.delete(probability, label).max()


def cost(acquired, factors, requirement, unit_costs):
    """Share of the cost of everything behind the factors acquired, each unit once."""
    units = {u for f in acquired for j in factors[f] for u in np.flatnonzero(requirement[j])}
    return sum(unit_costs[u] for u in units) / sum(unit_costs)


def reward(x, label, acquired, problem):
    """Equation (1) of the state in which these factors are acquired."""
    factors, weights, intercepts, requirement, unit_costs, cost_weight = problem
    scores = class_scores(x, acquired, factors, weights, intercepts)
    return margin(scores, label) - cost_weight * cost(acquired, factors, requirement, unit_costs)


def greedy_path(x, label, acquired, problem, wish=None):
    """Section 3.2: go on with the factor of the largest reward until all are acquired; return factors and rewards."""
    path, rewards, acquired = [], [reward(x, label, acquired, problem)], list(acquired)
    while len(acquired) < len(problem[0]):
        candidates = [f for f in range(len(problem[0])) if f not in acquired]
        value = {f: reward(x, label, [*acquired, f], problem) for f in candidates}
        liked = wish if wish is not None and not path else np.zeros(len(problem[0]))
        best = max(candidates, key=lambda f: value[f] + liked[f])
        path.append(best)
        rewards.append(value[best])
        acquired.append(best)
    return path, rewards


def oracle_action(x, label, acquired, problem, wish=None):
    """Equation (3), or with a wish the hope action (4): stop in the state of the largest reward."""
    stop = len(problem[0])
    if len(acquired) == stop:
        return stop
    path, rewards = greedy_path(x, label, acquired, problem, wish)
    return path[0] if max(rewards[1:]) > rewards[0] else stop


def meta_features(x, acquired, problem):
    """Section 3.3, for factors listed in the order of purchase."""
    now, before = _judgement(x, acquired, problem), _judgement(x, acquired[:-1], problem)
    guess = np.zeros(len(problem[2]))
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


def _judgement(x, acquired, problem):
    factors, weights, intercepts, requirement, unit_costs, _ = problem
    scores = class_scores(x, acquired, factors, weights, intercepts)
    probability = np.exp(scores - scores.max())
    probability /= probability.sum()
    return probability.max(), int(scores.argmax()), cost(acquired, factors, requirement, unit_costs)


def state(x, acquired, problem):
    """The masked row and the meta-features."""
    masked = np.zeros_like(x)
    for f in acquired:
        masked[problem[0][f]] = x[problem[0][f]]
    return np.concatenate([masked, meta_features(x, acquired, problem)])


def visit(x, label, problem, policy):
    """Follow a policy (None: the oracle) for one row; return the states, and what the oracle does in each."""
    acquired, states, actions, stop = [], [], [], len(problem[0])
    while True:
        states.append(state(x, acquired, problem))
        actions.append(oracle_action(x, label, acquired, problem))
        action = actions[-1]
        if policy is not None:
            scores = np.array(policy(states[-1]))
            scores[acquired] = -np.inf
            action = int(scores.argmax())
        if action == stop:
            return states, actions
        acquired.append(action)


def dagger(X, y, problem_of_row, learn, n_iterations):
    """Algorithm 1; `learn` takes states and actions and returns a function from a state to scores of all actions."""
    states, actions, policy = [], [], None
    for _ in range(n_iterations):
        for i in range(len(X)):
            visited, told = visit(X[i], y[i], problem_of_row(i), policy)
            states += visited
            actions += told
        policy = learn(np.array(states), np.array(actions))
    return policy
