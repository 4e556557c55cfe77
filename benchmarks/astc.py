"""ASTC on data of the size of the Yahoo! training set: time and memory of fit, time of acquire and of a session."""

import tracemalloc

import numpy as np

from benchmarks.contenders import gram_schmidt_tree
from benchmarks.problems import YAHOO_SIZE, correlated_regression
from benchmarks.report import at_least, at_most, ratio, report, seconds
from thrifty import ASTCRegressor
from thrifty.models.session import drive

MAX_DEPTH = 5
FEW, MANY = 2, 50  # features that each node buys


def main() -> None:
    X, y = correlated_regression(*YAHOO_SIZE)
    fit(X[:2000], y[:2000], FEW).acquire(X[:2000])  # compile
    lines = [line for budget, speed_up in ((FEW, 2.0), (MANY, 10.0)) for line in measure(X, y, budget, speed_up)]
    report(f"ASTC, {X.shape[0]} x {X.shape[1]}, depth {MAX_DEPTH}", lines)


def measure(X, y, budget, speed_up):
    model, nodes, weights = fit(X, y, budget), {}, np.ones(X.shape[1])

    def gram_schmidt():
        nodes.update(gram_schmidt_tree(X, y, budget, MAX_DEPTH))

    fit_speed_up = 1 / ratio(lambda: fit(X, y, budget), gram_schmidt, 1)
    fit_ratio = ratio(lambda: fit(X, y, budget), lambda: X.T @ X) / 3
    acquire = ratio(lambda: model.acquire(X), lambda: X @ weights, 20)
    acquire_with_masks = ratio(lambda: model.acquire(X).acquired, lambda: X @ weights, 20)
    setting = f"{budget} features per node"
    return [
        at_least(f"{setting}: nodes with the same features as Gram-Schmidt", equal_nodes(model, nodes), 100, "%"),
        at_least(f"{setting}: fit, speed-up over Gram-Schmidt in NumPy", fit_speed_up, speed_up),
        at_most(f"{setting}: fit, time / time of three products X'X", fit_ratio, 2),
        at_most(f"{setting}: fit, peak extra memory / size of X", peak_memory(X, y, budget) / X.nbytes, 1.5),
        at_most(f"{setting}: acquire, time / time of X @ w", acquire, 3),
        at_most(f"{setting}: acquire and .acquired, time / time of X @ w", acquire_with_masks, 3),
        at_most(f"{setting}: one complete session", session_microseconds(model, X[:20]), 100, "us"),
    ]


def fit(X, y, budget):
    return ASTCRegressor(max_depth=MAX_DEPTH, node_budget=budget).fit(X, y)


def equal_nodes(model, nodes):
    """Return the percentage of the nodes that have the same set of features in both trees."""
    equal = [set(node.features) == set(nodes[k]) for k, node in enumerate(model.nodes_)]
    return 100.0 * np.mean(equal) if len(equal) == len(nodes) else 0.0


def peak_memory(X, y, budget):
    tracemalloc.start()
    fit(X, y, budget)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def session_microseconds(model, X):
    """Return the mean time of a session in microseconds, on rows that are in the processor cache."""
    rows = [dict(enumerate(row.tolist())) for row in X]

    def run():
        for row in rows:
            drive(model.session(), row.__getitem__)

    return 1e6 * seconds(run, 10) / len(rows)
