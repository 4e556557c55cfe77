"""ASTC at the size of the Yahoo! training set: fitting, memory, batch prediction, a single row."""

import tracemalloc

import numpy as np

from benchmarks.contenders import gram_schmidt_tree
from benchmarks.problems import YAHOO_SIZE, correlated_regression
from benchmarks.report import at_least, at_most, ratio, report, seconds
from thrifty import ASTCRegressor
from thrifty.models.session import drive

MAX_DEPTH = 5
FEW, MANY = 2, 50  # features a node buys


def main() -> None:
    X, y = correlated_regression(*YAHOO_SIZE)
    fit(X[:2000], y[:2000], FEW).acquire(X[:2000])  # compile
    lines = [line for budget, speed_up in ((FEW, 2.0), (MANY, 10.0)) for line in measure(X, y, budget, speed_up)]
    report(f"ASTC, {X.shape[0]} x {X.shape[1]}, depth {MAX_DEPTH}", lines)


def measure(X, y, budget, speed_up):
    model, nodes, weights = fit(X, y, budget), {}, np.ones(X.shape[1])

    def gram_schmidt():
        nodes.update(gram_schmidt_tree(X, y, budget, MAX_DEPTH))

    faster = 1 / ratio(lambda: fit(X, y, budget), gram_schmidt, 1)
    whole = ratio(lambda: fit(X, y, budget), lambda: X.T @ X) / 3
    acquire = ratio(lambda: model.acquire(X), lambda: X @ weights, 20)
    looked_at = ratio(lambda: model.acquire(X).acquired, lambda: X @ weights, 20)
    each = f"{budget} features a node"
    return [
        at_least(f"{each}: nodes with the features of Gram-Schmidt", share_of_equal_nodes(model, nodes), 100, "%"),
        at_least(f"{each}: faster than Gram-Schmidt in NumPy", faster, speed_up),
        at_most(f"{each}: whole tree, in times of three products X'X", whole, 2),
        at_most(f"{each}: extra memory, in sizes of X", peak_memory(X, y, budget) / X.nbytes, 1.5),
        at_most(f"{each}: acquire, in times of X @ w", acquire, 3),
        at_most(f"{each}: the same, with .acquired looked at", looked_at, 3),
        at_most(f"{each}: one whole session", session_microseconds(model, X[:20]), 100, "us"),
    ]


def fit(X, y, budget):
    return ASTCRegressor(max_depth=MAX_DEPTH, node_budget=budget).fit(X, y)


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
    """Time whole sessions on rows that are in cache, as a row that was just asked for is."""
    rows = [dict(enumerate(row.tolist())) for row in X]

    def run():
        for row in rows:
            drive(model.session(), row.__getitem__)

    return 1e6 * seconds(run, 10) / len(rows)
