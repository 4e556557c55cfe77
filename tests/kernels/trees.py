"""Random trees and rows, and the outputs of a naive evaluation."""

import numpy as np

from reference.forest import descend
from thrifty.models.forests.forest import LEAF, Tree

N_FEATURES = 6
CODES = np.array([0, 1, 2, 3, 5, 62, 63, 64, 65, 130])  # of the last two columns, which are categorical


def random_tree(random, depth, n_values, categorical=False):
    """Return a random incomplete tree: the root first, the other nodes in random order."""
    nodes = []

    def grow(level):
        nodes.append(None)
        node = len(nodes) - 1
        if level == depth or random.random() < 0.2:
            nodes[node] = (LEAF, 0.0, -7, 99)
        else:
            nodes[node] = (random.integers(N_FEATURES), random.normal(), grow(level + 1), grow(level + 1))
        return node

    grow(0)
    order = np.r_[0, 1 + random.permutation(len(nodes) - 1)]
    position = np.argsort(order)
    feature, threshold, left, right = (np.array(column) for column in zip(*(nodes[k] for k in order), strict=True))
    inner = feature != LEAF
    left[inner], right[inner] = position[left[inner]], position[right[inner]]
    value = random.normal(size=(len(nodes), n_values))
    if not categorical:
        return Tree(feature, threshold, left, right, value)
    splits = np.flatnonzero(inner & (feature >= N_FEATURES - 2))
    categories = {int(k): random.choice(CODES, random.integers(0, 6), replace=False).tolist() for k in splits}
    return Tree(feature, threshold, left, right, value, random.random(len(nodes)) < 0.5, categories)


def leaves_and_paths(forest, x):
    return [
        descend(
            *(forest.feature, forest.threshold, forest.left, forest.right, start, x),
            *(forest.missing_left, forest.categories),
        )
        for start in forest.starts
    ]


def naive_outputs(forest, X):
    return np.array([np.concatenate([forest.value[leaf] for leaf, _ in leaves_and_paths(forest, x)]) for x in X])


def rows(n):
    X = np.random.default_rng(0).normal(size=(n, N_FEATURES))
    X[3, 2], X[5] = np.nan, np.nan
    return X


def coded_rows(n):
    random = np.random.default_rng(1)
    X = rows(n)
    X[:, -2:] = random.choice([*CODES, 4, 66, 500, -1, 2.5], size=(n, 2))
    X[random.random(X.shape) < 0.1] = np.nan
    return X
