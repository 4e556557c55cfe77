"""Operating points: what a fitted model spends and scores on the test rows under one setting."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.adaptive.problems import Problem

Point = dict[str, Any]  # setting, spend, accuracy, and auc (two classes) or log_loss
Points = Iterator[Point]


def point(problem: Problem, setting: dict[str, Any], spend: Any, probability: np.ndarray) -> Point:
    """Return a point from the spend of the test rows and their probabilities (n, n_classes)."""
    prediction = np.unique(problem.y)[probability.argmax(axis=1)]
    return _point(problem, setting, spend, prediction, probability)


def acquired_point(problem: Problem, setting: dict[str, Any], model: Any, X_test: np.ndarray) -> Point:
    """Return the point of a fitted model of this package; ``cap`` in the setting is the cap under which it is run."""
    cap = setting.get("cap")
    acquisition, probability = model.acquire(X_test, cap), None
    if problem.n_classes == 2:
        probability = np.column_stack([-acquisition.score, acquisition.score])  # the same ranks
    elif hasattr(model, "predict_proba"):
        probability = model.predict_proba(X_test, cap)
    return _point(problem, setting, acquisition.spend, acquisition.prediction, probability)


def _point(
    problem: Problem, setting: dict[str, Any], spend: Any, prediction: np.ndarray, probability: np.ndarray | None
) -> Point:
    accuracy = np.mean(prediction == problem.y_test)
    found = {"setting": setting, "spend": _rounded(np.mean(spend)), "accuracy": _rounded(accuracy)}
    if probability is not None:
        found |= _second_score(problem, probability)
    return found


def _second_score(problem: Problem, probability: np.ndarray) -> dict[str, float]:
    if problem.n_classes == 2:
        return {"auc": _rounded(roc_auc_score(problem.y_test, probability[:, 1]))}
    return {"log_loss": _rounded(log_loss(problem.y_test, probability, labels=np.unique(problem.y)))}


def _rounded(value: Any) -> float:
    return round(float(value), 6)
