"""Trees, what they read and what they cost (Xu et al., JMLR 15, 2014, section 5); imports nothing of thrifty."""

import math


def descend(feature, threshold, left, right, root, x):
    """Return the leaf of one row: at most the threshold goes left, and so does NaN."""
    node = root
    while feature[node] != -1:
        value = x[feature[node]]
        node = left[node] if value <= threshold[node] or math.isnan(value) else right[node]
    return node


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
