"""Mean total cost of a case on held-out rows, tests and errors together, of searches with and without error costs."""

import warnings

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.problems import missing
from benchmarks.report import table
from thrifty import BudgetSearchCV, GreedyMiserClassifier
from thrifty.costs import ErrorCosts
from thrifty.datasets import load_heart, load_pima, load_thyroid

METHODS = ("l1", "static", "attentive")  # fast methods
N_TRAIN, N_TEST = 800, 2000  # at most
WAYS = ("constant answer", "all tests", "without error costs", "with error costs")


def uniform(cost: float, n_classes: int) -> np.ndarray:
    """Return costs that are the same for all errors."""
    return cost * (1.0 - np.eye(n_classes))


# by true class and answer; the last class of heart and pima is the illness, and that of thyroid is health
PROBLEMS = {
    "heart, 400 each": (load_heart, uniform(400.0, 2)),
    "heart, 800 missed, 200 false": (load_heart, np.array([[0.0, 200.0], [800.0, 0.0]])),
    "pima, 400 each": (load_pima, uniform(400.0, 2)),
    "pima, 200 missed, 50 false": (load_pima, np.array([[0.0, 50.0], [200.0, 0.0]])),
    "thyroid, 1000 each": (load_thyroid, uniform(1000.0, 3)),
    "thyroid, 2000 missed, 200 false": (
        load_thyroid,
        np.array([[0.0, 500.0, 2000.0], [500.0, 0.0, 2000.0], [200.0, 200.0, 0.0]]),
    ),
}


def main() -> None:
    error_costs()


def error_costs(n_splits: int = 5) -> None:
    """Fit on at most 800 rows and measure on others, for several splits; official test rows are not used."""
    lines = []
    for name, (load, matrix) in PROBLEMS.items():
        if load is load_heart or not missing(name.split(",")[0]):
            totals = np.array([total_costs(*rows, matrix, seed) for seed, rows in enumerate(_splits(load(), n_splits))])
            gain = totals[:, :-1] - totals[:, -1:]
            error = gain.std(axis=0, ddof=1) / np.sqrt(n_splits)
            means = [f"{mean:.1f}" for mean in totals.mean(axis=0)]
            saved = [f"{mean:+.1f} ± {se:.1f}" for mean, se in zip(gain.mean(axis=0), error, strict=True)]
            lines.append((name, *means, *saved))
            print(*lines[-1], sep=" | ", flush=True)
    header = ("", *WAYS, *(f"saved against {way}" for way in WAYS[:-1]))
    table(f"Mean total cost of a held-out case, {n_splits} splits", header, lines)


def _splits(data, n_splits: int):
    """Yield costs, training rows and held-out rows."""
    kept = ~data.test if "test" in data else np.ones(len(data.y), dtype=bool)
    X, y = np.asarray(data.X)[kept], data.y[kept]
    for train, test in StratifiedShuffleSplit(n_splits, test_size=1 / 3, random_state=0).split(X, y):
        train, test = train[:N_TRAIN], test[:N_TEST]
        yield data.costs, X[train], y[train], X[test], y[test]


def total_costs(costs, X, y, X_test, y_test, matrix: np.ndarray, seed: int) -> list[float]:
    """Return the mean total costs of `WAYS` on held-out rows."""
    errors = ErrorCosts.resolve(matrix, np.unique(y))
    everything = GreedyMiserClassifier(costs=costs, cost_weight=0.0).fit(X, y)
    found = [
        (np.full(len(y_test), errors.constant(y)), 0.0),
        (everything.predict(X_test), costs.total),
    ]
    for parameters in ({}, {"error_costs": matrix}):
        search = BudgetSearchCV(METHODS, costs=costs, random_state=seed, **parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            acquired = search.fit(X, y).acquire(X_test)
        found.append((acquired.prediction, acquired.spend.mean()))
    return [float(errors.of(y_test, answers).mean() + spend) for answers, spend in found]
