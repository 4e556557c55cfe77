"""SAMME (Zhu, Zou, Rosset, Hastie, 2009) with trees by Gini impurity, plainly, and the draws of AdaBoostRS.

    X        a list of rows; NaN is missing
    labels   the class of each row, from 0
    count    how many rows each row counts as

A tree is nested: ("leaf", class), or ("split", feature, threshold, missing_left, left, right).
"""

import math
from itertools import pairwise


def boost(X, labels, n_classes, count, n_rounds, max_depth, min_leaf):
    """Return the trees with their weights."""
    weight, voters = list(count), []
    for _ in range(n_rounds):
        tree = grow(X, labels, n_classes, weight, count, list(range(len(X))), max_depth, min_leaf)
        wrong = [answer(tree, row) != label for row, label in zip(X, labels, strict=True)]
        error = sum(w for w, bad in zip(weight, wrong, strict=True) if bad) / sum(weight)
        if error >= 1 - 1 / n_classes:
            break
        alpha = math.log((1 - error) / error) + math.log(n_classes - 1)
        voters.append((tree, alpha))
        weight = [w * math.exp(alpha) if bad else w for w, bad in zip(weight, wrong, strict=True)]
        weight = [w * sum(count) / sum(weight) for w in weight]
    return voters


def grow(X, labels, n_classes, weight, count, rows, depth, min_leaf):
    def by_class(some):
        return [sum(weight[i] for i in some if labels[i] == k) for k in range(n_classes)]

    def purity(some):
        return sum(w * w for w in by_class(some)) / sum(by_class(some))

    best = None
    least = min_leaf / sum(count[i] for i in rows) * sum(weight[i] for i in rows) - 1e-9
    for feature in range(len(X[0]) if depth else 0):
        there = [i for i in rows if not math.isnan(X[i][feature])]
        missing = [i for i in rows if math.isnan(X[i][feature])]
        values = sorted({row[feature] for row in X if not math.isnan(row[feature])})
        for threshold in [(a + b) / 2 for a, b in pairwise(values)] + [math.inf]:
            for missing_left in (False, True) if missing else (None,):
                left = [i for i in there if X[i][feature] <= threshold] + (missing if missing_left else [])
                right = [i for i in rows if i not in set(left)]
                on_left, on_right = (sum(weight[i] for i in side) for side in (left, right))
                if left and right and min(on_left, on_right) >= least:
                    gain = purity(left) + purity(right) - purity(rows)
                    heavier = on_left >= on_right if missing_left is None else missing_left
                    if gain > 1e-9 and (best is None or gain > best[0] + 1e-9):
                        best = gain, feature, threshold, heavier, left, right
    if best is None:
        return "leaf", max(range(n_classes), key=lambda k: by_class(rows)[k])
    _, feature, threshold, missing_left, left, right = best
    sides = (grow(X, labels, n_classes, weight, count, side, depth - 1, min_leaf) for side in (left, right))
    return "split", feature, threshold, missing_left, *sides


def answer(tree, row):
    while tree[0] == "split":
        _, feature, threshold, missing_left, left, right = tree
        goes_left = missing_left if math.isnan(row[feature]) else row[feature] <= threshold
        tree = left if goes_left else right
    return tree[1]


def features_of(tree):
    """The features that decide a vote: a split with the same vote on both sides does not."""
    if tree[0] == "leaf" or votes_of(tree) == 1:
        return set()
    return {tree[1]} | features_of(tree[4]) | features_of(tree[5])


def votes_of(tree):
    """The number of different votes of a tree."""
    leaves, growing = set(), [tree]
    while growing:
        node = growing.pop()
        leaves |= {node[1]} if node[0] == "leaf" else set()
        growing += node[4:] if node[0] == "split" else []
    return len(leaves)


def draw_probabilities(voters, prices):
    """Weight over cost, normalised."""
    shares = [alpha / sum(prices[j] for j in features_of(tree)) for tree, alpha in voters]
    return [share / sum(shares) for share in shares]
