"""Trees, what they read and what they cost (Xu et al., JMLR 15, 2014, section 5); imports nothing of thrifty."""

import math


def descend(feature, threshold, left, right, root, x, missing_left=None, categories=None):
    """Return the leaf of one row and the features on its path, in the order it comes to them.

    Listed categories go left where there is a list, else what is at most the threshold; NaN goes where it is told to.
    """
    node, path = root, []
    while feature[node] != -1:
        value = x[feature[node]]
        path.append(int(feature[node]))
        if math.isnan(value):
            goes_left = missing_left is None or missing_left[node]
        elif categories and node in categories:
            goes_left = value >= 0 and math.floor(value) in categories[node]
        else:
            goes_left = value <= threshold[node]
        node = left[node] if goes_left else right[node]
    return node, path


def buy(leaf_and_path, rounds, base, score_of, value, units_of, prices, evaluation, cap):
    """Send one row through rounds of trees as far as its cap goes; whole numbers of money, please.

    leaf_and_path[t] is what `descend` returns for tree t, units_of[feature] the units a feature requires, prices what
    units cost, evaluation what trees cost. Return the scores after the last complete round, that round, the spend and
    the features bought.
    """
    scores, last_round, spent, bought, paid = list(base), -1, 0, set(), set()
    for number, trees in enumerate(rounds):
        fee = sum(evaluation[t] for t in trees)
        if spent + fee > cap:
            break
        spent += fee
        trial, stopped = list(scores), False
        for t in trees:
            leaf, path = leaf_and_path[t]
            for feature in path:
                if feature in bought:
                    continue
                unpaid = set(units_of[feature]) - paid
                price = sum(prices[u] for u in unpaid)
                if spent + price > cap:
                    stopped = True
                    break
                spent, bought, paid = spent + price, bought | {feature}, paid | unpaid
            if stopped:
                break
            for part, score in enumerate(score_of[t]):
                trial[score] += value[leaf][part]
        if stopped:
            break
        scores, last_round = trial, number
    return scores, last_round, spent, bought


def uses(feature, left, right, root):
    """Return the features that a tree splits on: the column F_t."""
    if feature[root] == -1:
        return set()
    return {feature[root]} | uses(feature, left, right, left[root]) | uses(feature, left, right, right[root])


def path_cost(weights, F, feature_costs, evaluation_costs):
    """Return the exact cost of a path: eq. (20) and (21), left of the arrows, for plain prices.

    `weights` holds one weight vector per node of the path, F[a][t] is 1 if tree t uses feature a.
    """
    n_trees = len(evaluation_costs)
    magnitude = [sum(abs(node[t]) for node in weights) for t in range(n_trees)]
    extraction = sum(
        price for a, price in enumerate(feature_costs) if sum(F[a][t] * magnitude[t] for t in range(n_trees)) > 0
    )
    evaluation = sum(price for t, price in enumerate(evaluation_costs) if magnitude[t] > 0)
    return extraction + evaluation
