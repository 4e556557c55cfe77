"""LightGBM on all columns, on fixed sets of columns, and with its own penalties on features (CEGB).

A fixed set is the beginning of one order of the columns. The order is that in which a sweep of CEGB's coupled penalty,
from high to low, takes columns into the model. A set also holds all columns that cost nothing more, such as the other
columns of a bundle without prices of their own.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import lightgbm
import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.adaptive.points import Point, Points, point
from benchmarks.adaptive.problems import Problem
from thrifty import Forest
from thrifty.costs import Ledger

LIGHTGBM = {"n_jobs": 1, "verbose": -1, "learning_rate": 0.1}
FULL_TREES = 300  # of the full model
CEGB_ROUNDS = (30, 100, 300)  # all are prefixes of one fit
FEW_CLASSES = 3  # more classes have 100 rounds, because a round has a tree for each class
MOST_TREES = 300  # of a fixed set; early stopping chooses the number
PATIENCE = 20
ORDER_TREES = 30  # enough to see which columns a penalised model uses
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 45)  # of fixed sets, and all columns
COUPLED = np.geomspace(20.0, 0.02, 28)  # penalties, in shares of the number of rows, for all columns together
LAZY = np.geomspace(30.0, 0.03, 24)  # penalties of a row for all columns together


def full_model(problem: Problem) -> Points:
    """Yield the point of a model with default parameters on all columns."""
    yield _spending(problem, _booster(n_estimators=FULL_TREES), _everything(problem), {"n_estimators": FULL_TREES})


def fixed_sets(problem: Problem) -> Points:
    """Yield a point for each of several numbers of columns."""
    seen: set[bytes] = set()
    for columns in _nested_sets(problem):
        if columns.tobytes() not in seen:
            seen.add(columns.tobytes())
            n_trees = _best_number_of_trees(problem, columns)
            setting = {"n_columns": int(columns.sum()), "n_estimators": n_trees}
            yield _spending(problem, _booster(n_estimators=n_trees), columns, setting)


def cegb_coupled(problem: Problem) -> Points:
    """Yield points for several penalties and numbers of rounds; every row pays for all columns that the model uses."""
    for setting, model in _penalised_sweep(problem, "coupled", COUPLED * len(problem.X)):
        spend = problem.costs.of(model.feature_importance() > 0)
        yield point(problem, setting, spend, _probabilities(model, problem))


def cegb_lazy(problem: Problem) -> Points:
    """Yield points for several penalties and numbers of rounds; every row pays for the columns on its own paths."""
    for setting, model in _penalised_sweep(problem, "lazy", LAZY):
        spend = Forest.from_model(model).with_costs(problem.costs).spend(problem.X_test)
        yield point(problem, setting, spend, _probabilities(model, problem))


def _penalised_sweep(
    problem: Problem, kind: str, penalties: np.ndarray
) -> Iterator[tuple[dict[str, Any], lightgbm.Booster]]:
    """Yield settings and models: the first rounds of one fit per penalty."""
    rounds = CEGB_ROUNDS if problem.n_classes <= FEW_CLASSES else (100,)
    for penalty in penalties.tolist():
        fitted = _penalised(problem, kind, penalty, max(rounds)).booster_
        for n in rounds:
            prefix = lightgbm.Booster(model_str=fitted.model_to_string(num_iteration=n))
            yield {"penalty": penalty, "n_estimators": n}, prefix


def _probabilities(model: lightgbm.Booster, problem: Problem) -> np.ndarray:
    probability = model.predict(problem.X_test, num_threads=1)
    return probability if probability.ndim == 2 else np.column_stack([1 - probability, probability])


def _booster(**options: Any) -> lightgbm.LGBMClassifier:
    return lightgbm.LGBMClassifier(**{**LIGHTGBM, **options})


def _penalised(problem: Problem, kind: str, penalty: float, n_trees: int) -> lightgbm.LGBMClassifier:
    """Return a fitted model whose penalties are the prices of the columns, each bought alone, in shares of the total.

    CEGB knows no bundles.
    """
    prices = Ledger(problem.costs).prices / problem.costs.total
    options = {"n_estimators": n_trees, f"cegb_penalty_feature_{kind}": (penalty * prices).tolist()}
    return _booster(**options).fit(problem.X, problem.y)


def _spending(problem: Problem, model: Any, columns: np.ndarray, setting: dict[str, Any]) -> Point:
    """Fit a model on some columns, and return its point."""
    model.fit(problem.X[:, columns], problem.y)
    return point(problem, setting, problem.costs.of(columns), model.predict_proba(problem.X_test[:, columns]))


def _everything(problem: Problem) -> np.ndarray:
    return np.ones(problem.X.shape[1], dtype=bool)


def _nested_sets(problem: Problem) -> Iterable[np.ndarray]:
    """Yield masks of columns, from few columns to all."""
    order = _order(problem)
    for size in (*(size for size in SIZES if size < len(order)), len(order)):
        columns = np.zeros(len(order), dtype=bool)
        columns[order[:size]] = True
        yield columns | (problem.costs.marginal(columns) == 0)


def _order(problem: Problem) -> list[int]:
    """Return the columns in the order in which lower and lower penalties take them, the largest gains first."""
    order: list[int] = []
    for penalty in np.append(COUPLED, 0.0):
        model = _penalised(problem, "coupled", penalty * len(problem.X), ORDER_TREES)
        gain = model.booster_.feature_importance("gain")
        order += [j for j in np.argsort(-gain, kind="stable").tolist() if gain[j] > 0 and j not in order]
    return order + [j for j in range(problem.X.shape[1]) if j not in order]


def _best_number_of_trees(problem: Problem, columns: np.ndarray) -> int:
    """Return the number of trees with the least loss on a fifth of the training rows."""
    X, held, y, y_held = train_test_split(
        problem.X[:, columns], problem.y, test_size=0.2, stratify=problem.y, random_state=problem.seed
    )
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    model = _booster(n_estimators=MOST_TREES).fit(X, y, eval_X=held, eval_y=y_held, callbacks=[stop])
    return max(1, model.best_iteration_)
