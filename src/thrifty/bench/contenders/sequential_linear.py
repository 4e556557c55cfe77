"""scikit-learn's SequentialFeatureSelector with a linear model: forward selection that knows no prices."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thrifty.bench.contenders.contender import Contender, Model, Setting, Training, everywhere
from thrifty.bench.problems.problem import Answers, Table
from thrifty.tuning.problem import Task

SIZES = (1, 2, 3, 4, 5, 7, 10, 16, 6, 8, 9, 12, 14)
FOLDS = 2
CANDIDATES = 40  # columns, if there are more: those that are correlated most with the targets


def trials(n: int) -> list[Setting]:
    """Return numbers of columns."""
    return [{"n_columns": size} for size in SIZES[:n]]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield one linear model on the selected columns."""
    y, is_ranking = training.rows.y, training.task is Task.RANKING
    linear: Any = Ridge() if is_ranking else RidgeClassifier()
    ready = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()).fit(training.rows.X)
    X = ready.transform(training.rows.X)
    candidates = _candidates(X, y, is_ranking)
    columns = np.zeros(X.shape[1], dtype=bool)
    if setting["n_columns"] < len(candidates):
        selector = SequentialFeatureSelector(linear, n_features_to_select=setting["n_columns"], cv=FOLDS)
        columns[candidates[selector.fit(X[:, candidates], y).get_support()]] = True
    else:
        columns[candidates] = True
    model = linear.fit(X[:, columns], y)

    def answer(rows: Table) -> Answers:
        return Answers(everywhere(columns, len(rows)), model.predict(ready.transform(rows.X)[:, columns]))

    yield Model("", answer)


def _candidates(X: np.ndarray, y: np.ndarray, is_ranking: bool) -> np.ndarray:
    if X.shape[1] <= CANDIDATES:
        return np.arange(X.shape[1])
    targets = y[:, None] if is_ranking else np.eye(int(y.max()) + 1)[y.astype(int)]
    strength = np.abs(X.T @ (targets - targets.mean(axis=0))).max(axis=1)
    return np.sort(np.argsort(-strength, kind="stable")[:CANDIDATES])


CONTENDER = Contender("sequential-linear", "SequentialFeatureSelector, linear model", trials, fit)
