"""The data classifier: scores the classes of a row from the factors it has, the others being zero.

Columns are standardised, so that zero stands for the mean, whether a value was not acquired or could not be had. Flags,
where there are any, tell a mean from nothing. A linear classifier is brought up to date by what a new factor
contributes; any other predicts the masked row anew.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model._base import LinearClassifierMixin

from thrifty.kernels.policies import add_factors
from thrifty.models.policies.factors import Factors

LEAST_PROBABILITY = 1e-12  # a probability of 0 has no logarithm
ROWS_AT_ONCE = 65_536  # that a classifier of unknown appetite is asked to predict
FLAG = 1.0  # of a factor that a row has, 0 otherwise


class Standardiser:
    """Centres and scales columns as they were in training; constant ones become 0, and so does what is missing.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Training rows, NaN where a value could not be had.
    count : ndarray of shape (n,)
        How often each row counts.
    """

    def __init__(self, X: np.ndarray, count: np.ndarray):
        there = ~np.isnan(X)
        seen = np.maximum(count @ there, np.finfo(float).tiny)
        self.centre = count @ np.where(there, X, 0.0) / seen
        away = np.where(there, X - self.centre, 0.0)
        reach = np.abs(away).max(axis=0)  # squares of what is huge or tiny would be infinite or 0
        deviation = reach * np.sqrt(count @ (away / np.where(reach > 0, reach, 1.0)) ** 2 / seen)
        varies = deviation > 1e-10 * np.abs(self.centre)
        self.slope = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return standardised values."""
        Z = (X - self.centre) * self.slope
        np.copyto(Z, 0.0, where=np.isnan(X))
        return Z


def encode(X: np.ndarray, standardiser: Standardiser, factors: Factors) -> np.ndarray:
    """Return rows as the data classifier sees them: standardised values and flags of the factors that are known.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Columns sorted by factor, NaN where a value could not be had.
    """
    values = standardiser.transform(X)
    if not factors.flagged:
        return values
    flags = factors.starts[1:] - 1
    unknown = np.logical_and.reduceat(np.isnan(X), factors.starts[:-1] - np.arange(len(factors)), axis=1)
    Z = np.empty((len(X), factors.starts[-1]))
    Z[:, factors.places], Z[:, flags] = values, np.where(unknown, 0.0, FLAG)
    return Z


class Scores(ABC):
    """Scores of all classes from partial rows; row i is scored by classifier ``which[i]`` of several."""

    n_classes: int

    @staticmethod
    def of(classifiers: list[Any], factors: Factors) -> "Scores":
        """Return the scores of fitted classifiers that all know the same classes."""
        linear = all(isinstance(each, LinearClassifierMixin) for each in classifiers)
        return (LinearScores if linear else PredictedScores).of(classifiers, factors)

    @abstractmethod
    def start(self, which: np.ndarray) -> np.ndarray:
        """Return the scores (n, n_classes) of rows of which nothing is known."""

    @abstractmethod
    def add(
        self, scores: np.ndarray, rows: np.ndarray, chosen: np.ndarray, masked: np.ndarray, which: np.ndarray
    ) -> None:
        """Bring the scores of some rows up to date, in place, each having acquired the factor that it chose."""

    @abstractmethod
    def candidates(self, scores: np.ndarray, masked: np.ndarray, Z: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return the scores (n, n_factors, n_classes) that rows would have after each of the factors."""


class LinearScores(Scores):
    """Scores that are sums of what the factors contribute; weights (n_classifiers, n_features, n_classes)."""

    def __init__(self, weights: np.ndarray, intercepts: np.ndarray, starts: np.ndarray):
        self.weights, self.intercepts, self.starts = np.ascontiguousarray(weights), intercepts, starts
        self.n_classes = weights.shape[2]

    @classmethod
    def of(cls, classifiers: list[Any], factors: Factors) -> Self:
        """Take the coefficients of linear classifiers."""
        weights, intercepts = zip(*map(coefficients, classifiers), strict=True)
        return cls(np.stack(weights).transpose(0, 2, 1), np.stack(intercepts), factors.starts)

    def start(self, which: np.ndarray) -> np.ndarray:
        """Return the intercepts."""
        return self.intercepts[which]

    def add(
        self, scores: np.ndarray, rows: np.ndarray, chosen: np.ndarray, masked: np.ndarray, which: np.ndarray
    ) -> None:
        """Add what the factors contribute."""
        add_factors(scores, rows, chosen, masked, self.starts, self.weights, which)

    def candidates(self, scores: np.ndarray, masked: np.ndarray, Z: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Add what each factor would contribute."""
        everyone, then = np.arange(len(scores)), []
        for factor in range(len(self.starts) - 1):
            then.append(scores.copy())
            self.add(then[-1], everyone, np.full(len(scores), factor), Z, which)
        return np.stack(then, axis=1)


class PredictedScores(Scores):
    """Scores of classifiers that look at whole masked rows."""

    def __init__(self, classifiers: list[Any], starts: np.ndarray):
        self.classifiers, self.starts = classifiers, starts
        self.n_classes = len(classifiers[0].classes_)

    @classmethod
    def of(cls, classifiers: list[Any], factors: Factors) -> Self:
        """Keep the classifiers as they are."""
        return cls(classifiers, factors.starts)

    def start(self, which: np.ndarray) -> np.ndarray:
        """Predict empty rows."""
        nothing = np.zeros((1, self.starts[-1]))
        return np.concatenate([self._predict(each, nothing) for each in self.classifiers])[which]

    def add(
        self, scores: np.ndarray, rows: np.ndarray, chosen: np.ndarray, masked: np.ndarray, which: np.ndarray
    ) -> None:
        """Predict the rows anew."""
        scores[rows] = self._of_rows(masked[rows], which[rows])

    def candidates(self, scores: np.ndarray, masked: np.ndarray, Z: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Predict the rows with each factor filled in."""
        then = np.empty((len(scores), len(self.starts) - 1, self.n_classes))
        for factor, (first, last) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            rows = masked.copy()
            rows[:, first:last] = Z[:, first:last]
            then[:, factor] = self._of_rows(rows, which)
        return then

    def _of_rows(self, masked: np.ndarray, which: np.ndarray) -> np.ndarray:
        scores = np.empty((len(masked), self.n_classes))
        for k in np.unique(which):
            mine = np.flatnonzero(which == k)
            for first in range(0, len(mine), ROWS_AT_ONCE):
                block = mine[first : first + ROWS_AT_ONCE]
                scores[block] = self._predict(self.classifiers[k], masked[block])
        return scores

    @staticmethod
    def _predict(classifier: Any, masked: np.ndarray) -> np.ndarray:
        if hasattr(classifier, "predict_proba"):
            return np.log(np.maximum(classifier.predict_proba(masked), LEAST_PROBABILITY))
        decision = classifier.decision_function(masked)
        return decision if decision.ndim == 2 else np.column_stack([np.zeros_like(decision), decision])


def coefficients(classifier: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (n_classes, n_features) and intercepts (n_classes,) of a linear classifier.

    For two classes scikit-learn keeps one line, the odds of the second; the first then scores 0.
    """
    weights, intercepts = classifier.coef_, np.broadcast_to(classifier.intercept_, len(classifier.coef_))
    if len(weights) == 1:
        return np.vstack([np.zeros_like(weights), weights]), np.append(0.0, intercepts)
    return weights, np.array(intercepts)


def refuse_unscored(classifier: Any, owner: str, name: str) -> None:
    """Refuse anything that is not a classifier with scores."""
    if isinstance(classifier, type) or not hasattr(classifier, "fit") or not is_classifier(classifier):
        raise ValueError(f"{owner}: {name} is {classifier!r}; expected a scikit-learn classifier.")
    if not (hasattr(classifier, "predict_proba") or hasattr(classifier, "decision_function")):
        raise ValueError(
            f"{owner}: {name} is {classifier!r}, which has neither predict_proba nor decision_function. "
            "Pass a classifier with scores."
        )
