"""Optimal cost-sensitive trees (pystreed): small trees whose cost of errors and columns is least on training rows.

Columns are made binary at quantiles. A row pays for the columns on its path. In a bundle, pystreed charges the
discounted price from the second column on.

J. van der Linden, M. de Weerdt, E. Demirovic. Necessary and Sufficient Conditions for Optimal Decision Trees using
Dynamic Programming. NeurIPS 2023.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.bench.contenders.contender import (
    CLASSES,
    Contender,
    Model,
    Setting,
    Training,
    column_prices,
    missing_package,
)
from thrifty.bench.problems.problem import Answers, Table
from thrifty.costs import CostModel

DEPTH, TIME_LIMIT = 3, 20.0
MOST_BINARY = 60  # binary columns; the time of a fit grows with their third power
QUANTILES = 5
LARGEST, SMALLEST = 30.0, 0.3  # costs of an error, relative to the cost of all columns


def trials(n: int) -> list[Setting]:
    """Return costs of errors from one that buys little to one that buys most."""
    return [{"error_cost": cost} for cost in np.geomspace(SMALLEST, LARGEST, n).tolist()]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield one tree."""
    try:
        from pystreed import CostSpecifier, FeatureCostSpecifier, STreeDCostSensitiveClassifier
    except ImportError as error:
        raise missing_package("optimal-trees", "pystreed and scikit-survival", error) from error
    binary = _Binary.learned(training)
    price, discounted = column_prices(training.costs), _discounted(training.costs)
    group = _groups(training.costs)
    costs, begin = [], 0
    for j in np.unique(binary.column).tolist():
        end = begin + int((binary.column == j).sum())
        costs.append(FeatureCostSpecifier(price[j], discounted[j], group[j], begin, end))
        begin = end
    errors = setting["error_cost"] * (1.0 - np.eye(training.n_classes))
    tree = STreeDCostSensitiveClassifier(max_depth=DEPTH, time_limit=TIME_LIMIT, random_seed=training.seed)
    tree.fit(binary.of(training.rows.X), training.rows.y.astype(np.intc), CostSpecifier(errors.tolist(), costs))
    root = tree.get_tree()

    def answer(rows: Table) -> Answers:
        values = binary.of(rows.X)
        acquired, prediction = np.zeros(rows.X.shape, dtype=bool), np.zeros(len(rows), dtype=int)
        _walk(root, values, binary.column, np.arange(len(rows)), acquired, prediction)
        return Answers(acquired, prediction)

    yield Model("", answer)


@dataclass(frozen=True, eq=False)
class _Binary:
    """Binary columns: whether a column is above a threshold. A missing value is below."""

    column: np.ndarray
    threshold: np.ndarray

    @classmethod
    def learned(cls, training: Training) -> "_Binary":
        """Return thresholds between quantiles, of the columns that trees split on most if there are many."""
        X = training.rows.X
        shares = np.linspace(0, 1, QUANTILES + 2)[1:-1]
        pairs = [(j, t) for j in range(X.shape[1]) for t in _thresholds(X[:, j], shares)]
        if len(pairs) > MOST_BINARY:
            pairs = _most_informative(pairs, X, training.rows.y)
        column, threshold = zip(*pairs, strict=True)
        return cls(np.array(column), np.array(threshold))

    def of(self, X: np.ndarray) -> np.ndarray:
        """Return the binary columns of rows."""
        return (X[:, self.column] > self.threshold).astype(np.intc)


def _thresholds(values: np.ndarray, shares: np.ndarray) -> list[float]:
    known = np.unique(values[~np.isnan(values)])
    if len(known) <= len(shares) + 1:
        return ((known[1:] + known[:-1]) / 2).tolist()
    found = np.unique(np.nanquantile(values, shares))
    return found[found < known[-1]].tolist()


def _most_informative(pairs: list[tuple[int, float]], X: np.ndarray, y: np.ndarray) -> list[tuple[int, float]]:
    """Return the binary columns that alone tell most about the class, in the order of the columns."""
    gains = [_information(X[:, j] > t, y) for j, t in pairs]
    kept = np.argsort(-np.array(gains), kind="stable")[:MOST_BINARY]
    return [pairs[at] for at in sorted(kept.tolist())]


def _information(above: np.ndarray, y: np.ndarray) -> float:
    return -sum(mask.mean() * _entropy(y[mask]) for mask in (above, ~above) if mask.any())


def _entropy(y: np.ndarray) -> float:
    share = np.unique(y, return_counts=True)[1] / len(y)
    return float(-(share * np.log(share)).sum())


def _discounted(costs: CostModel) -> np.ndarray:
    """Return the price of each column if another column of its bundle is bought already, in shares of the total."""
    without = CostModel(np.asarray(costs.requirement, dtype=float) @ _private(costs))
    return column_prices(without) * (without.total / (costs.total or 1.0))


def _private(costs: CostModel) -> np.ndarray:
    """Return the prices of the units that one column alone requires; 0 for shared ones."""
    return costs.unit_costs * (np.asarray(costs.requirement).sum(axis=0) == 1)


def _groups(costs: CostModel) -> list[str]:
    """Return the bundle of each column; pystreed knows one for each, so the most expensive one counts."""
    requirement = np.asarray(costs.requirement)
    shared = requirement.sum(axis=0) > 1
    weights = requirement * shared * (costs.unit_costs + 1e-12)
    return [f"bundle {row.argmax()}" if row.any() else f"column {j}" for j, row in enumerate(weights)]


def _walk(
    node: Any, values: np.ndarray, column: np.ndarray, rows: np.ndarray, acquired: np.ndarray, prediction: np.ndarray
) -> None:
    """Write what rows acquire below a node, and their predictions."""
    if node.is_leaf_node():
        prediction[rows] = node.label
        return
    acquired[rows, column[node.feature]] = True
    right = values[rows, node.feature] == 1
    _walk(node.left_child, values, column, rows[~right], acquired, prediction)
    _walk(node.right_child, values, column, rows[right], acquired, prediction)


CONTENDER = Contender("optimal-trees", "Optimal cost-sensitive trees (pystreed)", trials, fit, CLASSES)
