from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest

from thrifty.costs import CostModel
from thrifty.models.linear_nodes.tree import LinearNode, LinearTree

matplotlib.use("Agg")


class FixedTreeEstimator:
    """Estimator with a given tree: node k buys the given columns and compares their sum with the threshold."""

    def __init__(self, upper, lower, buys, *, costs, threshold=0.0, classes=None):
        self.cost_model_ = costs
        self.tree_ = LinearTree(self._nodes(upper, lower, buys, threshold), [0.0], costs)
        if classes is not None:
            self.classes_ = np.array(classes)

    @staticmethod
    def _nodes(upper, lower, buys, threshold):
        held, nodes = {0: 0}, []
        for k, (up, low, bought) in enumerate(zip(upper, lower, buys, strict=True)):
            n_held = held[k] + len(bought)
            held |= {up: n_held, low: n_held}
            new = np.arange(n_held) >= held[k]
            node = LinearNode(bought, np.zeros((1, n_held)), np.zeros(1), new.astype(float), 0.0, threshold, up, low)
            nodes.append(node)
        return nodes

    def acquire(self, X):
        return SimpleNamespace(exit=self.tree_.run(X, np.full(len(X), np.inf))[1])

    def node_purchases(self):
        columns = np.arange(self.cost_model_.n_features)
        return np.array([np.isin(columns, self.tree_.buys(k)) for k in range(self.tree_.n_nodes)])

    node_supports = node_purchases


@pytest.fixture
def make_tree_estimator():
    return FixedTreeEstimator


@pytest.fixture
def full_tree():
    """Make estimators with a complete binary tree and rows for it. Node k buys the k-th group of n_bought columns."""

    def grow(depth, *, n_bought=1, classes=(0, 1), unit="CAD", n_rows=400, names=None):
        n_nodes = 2**depth - 1
        numbers = np.arange(n_nodes)
        is_inner = numbers < n_nodes // 2
        upper, lower = (np.where(is_inner, 2 * numbers + side, -1).tolist() for side in (1, 2))
        buys = [range(n_bought * k, n_bought * (k + 1)) for k in numbers]
        names = names or [f"feature{j}" for j in range(n_bought * n_nodes)]
        costs = CostModel(dict.fromkeys(names, 2.5), unit=unit)
        X = np.random.default_rng(depth).normal(size=(n_rows, len(names)))
        return FixedTreeEstimator(upper, lower, buys, costs=costs, classes=classes), X

    return grow


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
