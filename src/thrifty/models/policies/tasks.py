"""What data models predict, classes or numbers, and what depends on it when they are fitted and compared."""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error

from thrifty.models.rows import Rows

MASKED_C = (0.3, 3.0)  # values of C for masked training; which one is better depends on the data
MASKED_ALPHA = (1.0, 30.0)  # the same for the penalty of ridge regression


class Task(ABC):
    """What depends on whether targets are classes or numbers."""

    @abstractmethod
    def candidates(self, masked: bool) -> list[Any]:
        """Return the data models to choose from by default, with or without masked training."""

    @abstractmethod
    def loss(self, fitted: Any, rows: Rows) -> float:
        """Return the mean loss of a fitted data model on rows."""

    @abstractmethod
    def is_known(self, targets: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return which rows (n,) have a target that a data model can predict after it was fitted to the seen rows."""

    @abstractmethod
    def can_fit(self, targets: np.ndarray) -> bool:
        """Return whether a data model can be fitted to rows with these targets."""

    @abstractmethod
    def strata(self, targets: np.ndarray) -> np.ndarray:
        """Return the strata (n,) of folds; every fold has its share of each."""

    @abstractmethod
    def points(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return how good predictions are (n, ...), given scores (n, ..., n_scores) and targets (n,)."""

    @abstractmethod
    def score(self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> float:
        """Return the accuracy, or R², of scores (n, n_scores)."""

    @abstractmethod
    def refuse_unless_usable(self, model: Any, owner: str, name: str) -> None:
        """Raise ValueError unless an object can be a data model.

        Parameters
        ----------
        model : object
        owner, name : str
            Estimator or function, and its parameter, for the message.
        """


class Classification(Task):
    """Targets are indices of classes; a row has one score per class."""

    def candidates(self, masked: bool) -> list[Any]:
        """Return logistic regressions."""
        make = partial(LogisticRegression, max_iter=1000, tol=1e-3)
        return [make(C=C) for C in MASKED_C] if masked else [make()]

    def loss(self, fitted: Any, rows: Rows) -> float:
        """Return the log-loss."""
        return log_loss(rows.y, fitted.predict_proba(rows.X), sample_weight=rows.weight, labels=fitted.classes_)

    def is_known(self, targets: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return which rows have a class of a seen row."""
        return np.isin(targets, targets[seen])

    def can_fit(self, targets: np.ndarray) -> bool:
        """Return whether there are two classes."""
        return len(np.unique(targets)) > 1

    def strata(self, targets: np.ndarray) -> np.ndarray:
        """Return the classes."""
        return targets

    def points(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return 1 for correct predictions and 0 for others."""
        return (scores.argmax(axis=-1) == _aligned(targets, scores)).astype(float)

    def score(self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> float:
        """Return the accuracy."""
        return float(np.average(self.points(scores, targets), weights=weight))

    def refuse_unless_usable(self, model: Any, owner: str, name: str) -> None:
        """Raise ValueError unless an object is a scikit-learn classifier with scores."""
        if isinstance(model, type) or not hasattr(model, "fit") or not is_classifier(model):
            raise ValueError(f"{owner}: {name} is {model!r}; expected a scikit-learn classifier.")
        if not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
            raise ValueError(
                f"{owner}: {name} is {model!r}, which has neither predict_proba nor decision_function. "
                "Pass a classifier with scores."
            )


class Regression(Task):
    """Targets are standardised numbers; the only score of a row is the prediction."""

    def candidates(self, masked: bool) -> list[Any]:
        """Return ridge regressions."""
        return [Ridge(alpha=alpha) for alpha in MASKED_ALPHA] if masked else [Ridge()]

    def loss(self, fitted: Any, rows: Rows) -> float:
        """Return the mean squared error."""
        return mean_squared_error(rows.y, fitted.predict(rows.X), sample_weight=rows.weight)

    def is_known(self, targets: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return True for all rows."""
        return np.ones(len(targets), dtype=bool)

    def can_fit(self, targets: np.ndarray) -> bool:
        """Return whether there is a row."""
        return len(targets) > 0

    def strata(self, targets: np.ndarray) -> np.ndarray:
        """Return a single stratum."""
        return np.zeros(len(targets), dtype=np.int64)

    def points(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return minus the squared errors."""
        return -((scores[..., 0] - _aligned(targets, scores)) ** 2)

    def score(self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> float:
        """Return R²; 0 if all targets are equal."""
        variance = np.average((targets - np.average(targets, weights=weight)) ** 2, weights=weight)
        error = -np.average(self.points(scores, targets), weights=weight)
        return float(1.0 - error / variance) if variance > 0 else 0.0

    def refuse_unless_usable(self, model: Any, owner: str, name: str) -> None:
        """Raise ValueError unless an object is a scikit-learn regressor."""
        if isinstance(model, type) or not hasattr(model, "fit") or not is_regressor(model):
            raise ValueError(f"{owner}: {name} is {model!r}; expected a scikit-learn regressor.")


def _aligned(targets: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return targets (n,) with axes of length 1 for the axes of scores (n, ..., n_scores) except the last."""
    return targets.reshape(-1, *[1] * (scores.ndim - 2))
