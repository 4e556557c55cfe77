"""The adaptive model in plain loops: one row, one group, one tree at a time. Imports nothing of thrifty.

A tree is a leaf ``{"values": [...]}`` or a split ``{"feature", "threshold" or "categories", "missing_left", "left",
"right"}``. A group is a list of columns that are bought together. Everything is predicted again from the start after
every purchase; nothing is updated.
"""

import math
from typing import Any, NamedTuple

import numpy as np

NOTHING, UNAFFORDABLE = -1, -2


class Trees(NamedTuple):
    """Trees, what their sums start from, and for each tree the sums that its values are added to."""

    trees: Any
    base: Any
    score_of: Any


class Linear(NamedTuple):
    """Linear terms of bought columns: offset + slope * z, z = (x - centre) / width, limited to -3..3."""

    centre: Any  # of each column
    width: Any
    slope: Any  # of each column and score
    offset: Any


class Policy(NamedTuple):
    """What a row is predicted from, what groups cost, and what a row buys next."""

    phases: Any  # (largest number of groups, Trees that predict scores, Linear or None); the last has no limit
    gains: Trees  # of the candidates, and (last) of the default group
    groups: Any  # lists of columns
    units: Any  # the set of units that each group requires
    prices: Any  # of units
    fill: Any  # what NaN in a bought column stands for
    first: Any
    order: Any
    candidates: Any
    n_at_stage: Any
    is_regression: bool


class Stops(NamedTuple):
    """For each stage the trees of the advantage of going on, with one value per cost weight."""

    stages: Any  # Trees of each stage


# Trees


def leaf_of(tree, x):
    """Return the values of the leaf that a row reaches."""
    while "values" not in tree:
        value = x[tree["feature"]]
        if math.isnan(value):
            goes_left = tree["missing_left"]
        elif "categories" in tree:
            goes_left = value >= 0 and math.isfinite(value) and math.floor(value) in tree["categories"]
        else:
            goes_left = value <= tree["threshold"]
        tree = tree["left"] if goes_left else tree["right"]
    return tree["values"]


def sums(trees, x):
    """Return the base and the values of all leaves that a row reaches."""
    total = list(trees.base)
    for tree, score_of in zip(trees.trees, trees.score_of, strict=True):
        for value, score in zip(leaf_of(tree, x), score_of, strict=True):
            total[score] += value
    return total


# One row; `bought` lists its groups


def masked(policy, x, bought):
    """Return the columns of a row; NaN if they are not bought, the fill if they are bought and missing."""
    values = [math.nan] * len(x)
    for group in bought:
        for column in policy.groups[group]:
            values[column] = policy.fill[column] if math.isnan(x[column]) else x[column]
    return values


def phase_of(policy, bought):
    """Return the first phase that allows so many groups, or the last phase."""
    for phase, (largest, _, _) in enumerate(policy.phases):
        if len(bought) <= largest:
            return phase
    return len(policy.phases) - 1


def scores_of(policy, x, bought, phase=None):
    """Return the scores of a row that has bought some groups, by its phase or by a given one."""
    phase = phase_of(policy, bought) if phase is None else phase
    _, trees, linear = policy.phases[phase]
    values = masked(policy, x, bought)
    scores = sums(trees, values)
    return scores if linear is None else [score + linear_sum(linear, values, k) for k, score in enumerate(scores)]


def linear_sum(linear, values, k):
    """Return the linear terms of score k; a value that is not finite has none."""
    total = 0.0
    for column, x in enumerate(values):
        if math.isfinite(x):
            z = (x - linear.centre[column]) / linear.width[column]
            total += linear.offset[column][k] + linear.slope[column][k] * max(-3.0, min(3.0, z))
    return total


def spend(policy, bought):
    """Return what some groups cost; every unit is paid once."""
    return sum(policy.prices[unit] for unit in set().union(*(policy.units[group] for group in bought)))


def price(policy, bought, group):
    """Return what a further group costs."""
    return spend(policy, [*bought, group]) - spend(policy, bought)


def with_free(policy, bought):
    """Add all groups that cost nothing now, in the order of their numbers."""
    bought = list(bought)
    for group in range(len(policy.groups)):
        if group not in bought and price(policy, bought, group) == 0:
            bought.append(group)
    return bought


def probabilities(scores):
    """Return the probabilities of classes; one score is the log-odds of the second of two classes."""
    if len(scores) == 1:
        second = 1.0 / (1.0 + math.exp(-scores[0]))
        return [1.0 - second, second]
    weights = [math.exp(score - max(scores)) for score in scores]
    return [weight / sum(weights) for weight in weights]


def belief(policy, scores):
    """Return the predicted number, or the probabilities (of two classes: the second) and their entropy."""
    if policy.is_regression:
        return [scores[0]]
    p = probabilities(scores)
    entropy = -sum(each * math.log(each) for each in p if each > 0)
    return [p[1], entropy] if len(p) == 2 else [*p, entropy]


def state(policy, x, bought):
    """Return what is known about a row: columns, belief, number of groups, and the share of all costs that it paid."""
    total = max(sum(policy.prices), 1)
    known = belief(policy, scores_of(policy, x, bought))
    return [*masked(policy, x, bought), *known, len(bought), spend(policy, bought) / total]


def next_in_order(policy, bought, cap=math.inf):
    """Return the first group of the default order that a row does not have and can pay for."""
    for group in policy.order:
        if group not in bought and spend(policy, [*bought, group]) <= cap:
            return group
    return NOTHING


def gain_of(policy, gains, group):
    """Return the expected gain of a group; that of the default group if it is not a candidate."""
    return gains[list(policy.candidates).index(group)] if group in policy.candidates else gains[-1]


def best_candidate(policy, gains, bought, cap=math.inf):
    """Return the affordable candidate with the largest positive gain per price, and this ratio."""
    best, ratio = NOTHING, 0.0
    for gain, group in zip(gains, policy.candidates, strict=False):
        if group in bought or gain <= 0 or spend(policy, [*bought, group]) > cap:
            continue
        if gain / price(policy, bought, group) > ratio:
            best, ratio = group, gain / price(policy, bought, group)
    return best, ratio


def expected_gains(policy, x, bought):
    """Return the expected gains of the candidates and of the default group; 0 without candidates."""
    return sums(policy.gains, state(policy, x, bought)) if len(policy.candidates) else [0.0]


def choose(policy, x, bought, stage):
    """Return the group that a row should buy next, and its expected gain; 0 if there is nothing to choose from."""
    gains = expected_gains(policy, x, bought)
    if stage < len(policy.first) and policy.first[stage] not in bought:
        return policy.first[stage], gain_of(policy, gains, policy.first[stage])
    default = next_in_order(policy, bought)
    if default == NOTHING:
        return NOTHING, math.nan
    candidate, ratio = best_candidate(policy, gains, bought)
    if ratio > max(gains[-1] / price(policy, bought, default), 0.0):
        return candidate, gain_of(policy, gains, candidate)
    return default, gains[-1]


def choose_within(policy, x, bought, cap):
    """Return the group that a row buys under a cap if it cannot pay for the one that it should buy."""
    gains = expected_gains(policy, x, bought)
    candidate, ratio = best_candidate(policy, gains, bought, cap)
    if ratio > 0:
        return candidate, gain_of(policy, gains, candidate)
    return next_in_order(policy, bought, cap), 0.0


def described(policy, x, bought, group, gain):
    """Return the state with the expected gain of the next group and its price as a share of all costs."""
    total = max(sum(policy.prices), 1)
    share = math.nan if group == NOTHING else price(policy, bought, group) / total
    return [*state(policy, x, bought), gain, share]


def advantage(policy, stops, stage, column, rest, x, bought, group, gain):
    """Return the advantage of going on, interpolated between two cost weights; at a cost weight of 0 it is infinite."""
    if column == NOTHING:
        return -math.inf
    if rest > 1.0:  # cost weight 0
        return math.inf
    of_weights = sums(stops.stages[stage], described(policy, x, bought, group, gain))
    return (1.0 - rest) * of_weights[column] + rest * of_weights[column + 1]


def decide(policy, stops, stage, column, rest, x, bought, cap):
    """Return the group that a row buys, or why it stops."""
    group, gain = choose(policy, x, bought, stage)
    if group == NOTHING or advantage(policy, stops, stage, column, rest, x, bought, group, gain) <= 0:
        return NOTHING
    if spend(policy, [*bought, group]) <= cap:
        return group
    group, gain = choose_within(policy, x, bought, cap)
    if group == NOTHING or advantage(policy, stops, stage, column, rest, x, bought, group, gain) <= 0:
        return UNAFFORDABLE
    return group


def buy_stage(policy, bought, group, stage, cap=math.inf):
    """Buy a group, further groups of the default order at late stages, and what is then free."""
    bought = [*bought, group]
    for _ in range(policy.n_at_stage[stage] - 1):
        further = next_in_order(policy, bought, cap)
        if further == NOTHING:
            break
        bought.append(further)
    return with_free(policy, bought)


def run(policy, stops, column, rest, x, cap):
    """Let a row buy until it stops; return its groups, the number of stages, and the last decision."""
    bought, stage = with_free(policy, []), 0
    while stage < len(policy.n_at_stage):
        group = decide(policy, stops, stage, column, rest, x, bought, cap)
        if group < 0:
            return bought, stage, group
        bought, stage = buy_stage(policy, bought, group, stage, cap), stage + 1
    return bought, stage, NOTHING


def simulate(policy, x, forced, until):
    """Let a row walk without stopping; return its groups before each stage and at the end, and what it chose there."""
    history, bought, stage = [], with_free(policy, []), 0
    for step in range(until + 1):
        group, gain = choose(policy, x, bought, stage)
        wanted = forced[step] if step < until else NOTHING
        if wanted != NOTHING and wanted not in bought:
            group, gain = wanted, gain_of(policy, expected_gains(policy, x, bought), wanted)
        history.append((bought, group, gain))
        if step < until and group != NOTHING:
            bought, stage = buy_stage(policy, bought, group, stage), stage + 1
    return history


# Losses


def log_loss(scores, target):
    """Return -log of the probability of the true class."""
    return -math.log(max(probabilities(scores)[int(target)], 1e-12))


def squared_loss(scores, target):
    """Return half the squared error."""
    return (scores[0] - target) ** 2 / 2


def error_cost(scores, target, costs):
    """Return the cost of the answer with the smallest expected cost; costs[true class][answer]."""
    p = probabilities(scores)
    expected = [sum(p[k] * costs[k][answer] for k in range(len(p))) for answer in range(len(p))]
    return costs[int(target)][expected.index(min(expected))]


def one_step_gain(policy, x, bought, group, loss):
    """Return by how much the loss of a row falls if it buys one further group, without changing the phase.

    `loss` takes the scores of the row.
    """
    phase = phase_of(policy, bought)
    return loss(scores_of(policy, x, bought, phase)) - loss(scores_of(policy, x, [*bought, group], phase))


# Learning


def backward_induction(losses, spends, cost_weight, regress):
    """Return the stage before which each row stops at a cost weight, and the advantages of going on.

    losses[i][t] and spends[i][t] are those of answering before stage t; the last entry is that of buying everything.
    regress(stage, labels) returns the advantage of each row, learned from the labels of all rows.
    """
    n, n_stages = len(losses), len(losses[0]) - 1
    stop, advantages = [n_stages] * n, [[0.0] * n_stages for _ in range(n)]
    for stage in reversed(range(n_stages)):
        labels = []
        for i in range(n):
            now = losses[i][stage] + cost_weight * spends[i][stage]
            later = losses[i][stop[i]] + cost_weight * spends[i][stop[i]]
            labels.append(now - later)
        for i, value in enumerate(regress(stage, labels)):
            advantages[i][stage] = value
            if value <= 0 and cost_weight > 0:  # if prices do not count, rows never stop
                stop[i] = stage
    return stop, advantages


def one_step_stops(losses, spends, cost_weight, regress):
    """Return the stages at which a myopic rule stops: it compares every stage with the next one alone."""
    n, n_stages = len(losses), len(losses[0]) - 1
    stop = [None] * n
    for stage in range(n_stages):
        labels = [
            losses[i][stage] - losses[i][stage + 1] - cost_weight * (spends[i][stage + 1] - spends[i][stage])
            for i in range(n)
        ]
        for i, value in enumerate(regress(stage, labels)):
            if value <= 0 and stop[i] is None:
                stop[i] = stage
    return [n_stages if each is None else each for each in stop]


def spend_bound(spends, weights, folds, quantile, batch_share):
    """Return the upper confidence bound on the mean spend of a future batch; `quantile` is that of the normal."""
    mean = np.average(spends, weights=weights)
    of_rows = sum((w * (s - mean)) ** 2 for s, w in zip(spends, weights, strict=True)) / sum(weights) ** 2
    means = []
    for k in sorted(set(folds)):
        own = [(s, w) for s, w, fold in zip(spends, weights, folds, strict=True) if fold == k]
        means.append(sum(s * w for s, w in own) / sum(w for _, w in own))
    centre = sum(means) / len(means)
    of_folds = sum((each - centre) ** 2 for each in means) / (len(means) - 1) / len(means) if len(means) > 1 else 0.0
    return mean + quantile * math.sqrt(max(of_rows, of_folds) + batch_share * of_rows)
