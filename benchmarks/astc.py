"""ASTC at the size of the Yahoo! training set: fitting, memory, batch prediction, a single row."""

import tracemalloc

import numpy as np

from benchmarks.contenders import gram_schmidt_tree
from benchmarks.problems import YAHOO_SIZE, correlated_regression
from benchmarks.report import Line, report, seconds
from thrifty import ASTCRegressor
from thrifty.models.session import drive

MAX_DEPTH = 5
FEW, MANY = 2, 50  # features a node buys


def main() -> bool:
    X, y = correlated_regression(*YAHOO_SIZE)
    weights = np.ones(X.shape[1])
    fit(X[:2000], y[:2000], FEW).acquire(X[:2000])  # compile
    product = seconds(lambda: X @ weights, 10)
    gram = seconds(lambda: X.T @ X)
    lines = []
    for budget, speed_up in ((FEW, 2.0), (MANY, 10.0)):
        model = fit(X, y, budget)
        ours = seconds(lambda budget=budget: fit(X, y, budget))
        theirs, nodes = timed_contender(X, y, budget)
        each = f"{budget} features a node"
        lines += [
            Line(
                f"{each}: nodes with the features of Gram-Schmidt", share_of_equal_nodes(model, nodes), 100, True, "%"
            ),
            Line(f"{each}: faster than Gram-Schmidt in NumPy", theirs / ours, speed_up, True),
            Line(f"{each}: whole tree, in times of three products X'X", ours / (3 * gram), 2, False),
            Line(f"{each}: extra memory, in sizes of X", peak_memory(X, y, budget) / X.nbytes, 1.5, False),
            Line(f"{each}: acquire, in times of X @ w", seconds(lambda m=model: m.acquire(X), 10) / product, 3, False),
            Line(
                f"{each}: the same, with .acquired looked at",
                seconds(lambda m=model: m.acquire(X).acquired, 10) / product,
                3,
                False,
            ),
            Line(f"{each}: one whole session", session_microseconds(model, X[:200]), 100, False, "us"),
        ]
    return report(f"ASTC, {X.shape[0]} x {X.shape[1]}, depth {MAX_DEPTH}", lines)


def fit(X, y, budget):
    return ASTCRegressor(max_depth=MAX_DEPTH, node_budget=budget).fit(X, y)


def timed_contender(X, y, budget):
    nodes = {}
    return seconds(lambda: nodes.update(gram_schmidt_tree(X, y, budget, MAX_DEPTH)), 1), nodes


def share_of_equal_nodes(model, nodes):
    """Per cent of the nodes whose set of features is the contender's."""
    equal = [set(node.features) == set(nodes[k]) for k, node in enumerate(model.nodes_)]
    return 100.0 * np.mean(equal) if len(equal) == len(nodes) else 0.0


def peak_memory(X, y, budget):
    tracemalloc.start()
    fit(X, y, budget)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def session_microseconds(model, X):
    rows = [dict(enumerate(row.tolist())) for row in X]

    def run():
        for row in rows:
            drive(model.session(), row.__getitem__)

    return 1e6 * seconds(run) / len(rows)
