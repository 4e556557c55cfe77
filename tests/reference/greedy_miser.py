"""The Greedy Miser (Xu, Weinberger, Chapelle, 2012), plainly: every threshold of every feature is tried at every node.

    rows        a list of row numbers
    unit_costs  price of each unit
    requires    requires[j] is the set of units that feature j requires
    paid        paid[i] is the set of units that row i has paid for
    bought      the set of units that the ensemble has paid for

A tree is nested: ("leaf", value), or ("split", feature, threshold, missing_left, left, right).
"""

import math
from itertools import pairwise, product

import numpy as np


def boost(
    X, y, weight, unit_costs, requires, *, loss, charge, cost_weight, learning_rate, n_rounds, max_depth, min_leaf
):
    """Return the trees, the scores after each round, the spend of each row, and what the ensemble bought."""
    n = len(X)
    mean = sum(w * v for w, v in zip(weight, y, strict=True)) / sum(weight)
    scores = [mean if loss == "squared" else math.log(mean / (1 - mean))] * n
    scale = 1.0
    if loss == "squared":
        scale = sum(w * (v - mean) ** 2 for w, v in zip(weight, y, strict=True)) / sum(weight)
    books = {"paid": [set() for _ in range(n)], "bought": set()}
    rate = cost_weight / learning_rate * scale
    trees, staged = [], []
    for _ in range(n_rounds):
        if loss == "squared":
            gradient = [w * (s - v) for w, s, v in zip(weight, scores, y, strict=True)]
            curvature = list(weight)
        else:
            share = [1 / (1 + math.exp(-s)) for s in scores]
            gradient = [w * (p - v) for w, p, v in zip(weight, share, y, strict=True)]
            curvature = [w * p * (1 - p) for w, p in zip(weight, share, strict=True)]
        tree = grow(X, gradient, curvature, weight, unit_costs, requires, books, charge, rate, max_depth, min_leaf)
        if tree[0] == "leaf":
            break
        scores = [s + learning_rate * answer(tree, row) for s, row in zip(scores, X, strict=True)]
        trees.append(tree)
        staged.append(list(scores))
    spend = [sum(unit_costs[u] for u in units) for units in books["paid"]]
    return trees, staged, spend, books["bought"]


def grow(X, gradient, curvature, weight, unit_costs, requires, books, charge, rate, max_depth, min_leaf):
    """Split, again and again, the node whose best split has the largest net gain at the prices of the moment."""
    root = {"rows": list(range(len(X))), "depth": 0}
    leaves = [root]
    whole = sum(weight)
    while True:
        offers = []
        for node in leaves:
            if node["depth"] < max_depth:
                for split in splits(X, node["rows"], gradient, curvature, weight, min_leaf):
                    price = penalty(split["feature"], node["rows"], weight, whole, unit_costs, requires, books, charge)
                    offers.append((split["gain"] / whole - rate * price, node, split))
        best = max(offers, key=lambda offer: offer[0], default=None)
        if best is None or best[0] <= 1e-12:
            break
        _, node, split = best
        for i in node["rows"]:
            books["paid"][i] |= requires[split["feature"]]
        books["bought"] |= requires[split["feature"]]
        node["split"] = split
        node["children"] = [{"rows": rows, "depth": node["depth"] + 1} for rows in (split["left"], split["right"])]
        leaves = [each for each in leaves if each is not node] + node["children"]
    return nested(root, gradient, curvature)


def nested(node, gradient, curvature):
    if "split" not in node:
        return "leaf", -sum(gradient[i] for i in node["rows"]) / sum(curvature[i] for i in node["rows"])
    split, (left, right) = node["split"], (nested(child, gradient, curvature) for child in node["children"])
    return "split", split["feature"], split["threshold"], split["missing_left"], left, right


def splits(X, rows, gradient, curvature, weight, min_leaf):
    """Yield every way to split the rows, missing values on either side, that leaves enough rows on both."""
    for feature in range(len(X[0])):
        there = [i for i in rows if not math.isnan(X[i][feature])]
        missing = [i for i in rows if math.isnan(X[i][feature])]
        values = sorted({X[i][feature] for i in range(len(X)) if not math.isnan(X[i][feature])})
        thresholds = [(a + b) / 2 for a, b in pairwise(values)] + [math.inf]
        for missing_left, threshold in product((False, True) if missing else (None,), thresholds):
            left = [i for i in there if X[i][feature] <= threshold]
            right = [i for i in there if X[i][feature] > threshold]
            if missing_left is None:  # no row tells, so with the heavier side
                missing_left = sum(weight[i] for i in left) >= sum(weight[i] for i in right)
            left, right = (left + missing, right) if missing_left else (left, right + missing)
            if all(is_large(side, rows, curvature, weight, min_leaf) for side in (left, right)):
                after = reach(left, gradient, curvature) + reach(right, gradient, curvature)
                yield {
                    "feature": feature,
                    "threshold": threshold,
                    "missing_left": missing_left,
                    "left": sorted(left),
                    "right": sorted(right),
                    "gain": 0.5 * (after - reach(rows, gradient, curvature)),
                }


def is_large(side, rows, curvature, weight, min_leaf):
    """Whether a side has enough weight, and at least the same share of the node's curvature."""
    of_weight, of_curvature = (sum(of[i] for i in side) / sum(of[i] for i in rows) for of in (weight, curvature))
    least = min_leaf / sum(weight[i] for i in rows)
    return min(of_weight, of_curvature) >= least - 1e-9


def reach(rows, gradient, curvature):
    rows = sorted(rows)
    return sum(gradient[i] for i in rows) ** 2 / sum(curvature[i] for i in rows)


def penalty(feature, rows, weight, whole, unit_costs, requires, books, charge):
    """What eq. (5) charges for a feature: unpaid units, of the ensemble or of the rows that look at it."""
    if charge == "ensemble":
        return sum(unit_costs[u] for u in requires[feature] - books["bought"])
    return sum(weight[i] * unit_costs[u] for i in rows for u in requires[feature] - books["paid"][i]) / whole


def answer(tree, row):
    while tree[0] == "split":
        _, feature, threshold, missing_left, left, right = tree
        goes_left = missing_left if math.isnan(row[feature]) else row[feature] <= threshold
        tree = left if goes_left else right
    return tree[1]


def lambdas(scores, labels):
    """First and second derivatives of LambdaRank: every pair of one query, normalised twice as the kernel says."""
    n = len(scores)
    order = sorted(range(n), key=lambda i: -scores[i])
    rank = {i: r for r, i in enumerate(order)}
    ideal = sum((2.0**label - 1) / math.log2(2 + r) for r, label in enumerate(sorted(labels, reverse=True)))
    gradient, curvature, total = np.zeros(n), np.zeros(n), 0.0
    for i in range(n):
        for j in range(n):
            if labels[i] > labels[j]:
                change = abs(1 / math.log2(2 + rank[i]) - 1 / math.log2(2 + rank[j]))
                change *= (2.0 ** labels[i] - 2.0 ** labels[j]) / ideal
                if max(scores) != min(scores):
                    change /= 0.01 + abs(scores[i] - scores[j])
                wrong = 1 / (1 + math.exp(scores[i] - scores[j]))
                gradient[i] -= wrong * change
                gradient[j] += wrong * change
                curvature[i] += wrong * (1 - wrong) * change
                curvature[j] += wrong * (1 - wrong) * change
                total += 2 * wrong * change
    factor = math.log2(1 + total) / total if total else 1.0
    return gradient * factor, curvature * factor
