"""The data model: scores of the classes, or a predicted number, from the factors that a row has.

Columns are standardised, and columns that a row does not have are 0. So 0 stands for the mean, whether a value is not
acquired or unavailable. Flags, if there are any, distinguish a mean from an unknown value. For a linear model, a new
factor adds its contribution to the scores. Any other model predicts the masked row again.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel

from thrifty.kernels.policies import add_factors
from thrifty.models.factors import Factors
from thrifty.models.policies.native_bases import LinearClassifier, LinearRegressor, NativeModel
from thrifty.models.policies.native_models import NOT_NATIVE, native
from thrifty.stored import Array, ListOf, OrForeign, Structure, Whole, stored

MIN_PROBABILITY = 1e-12  # smaller probabilities are raised to this, because log(0) is infinite
MAX_ROWS = 65_536  # rows that a model predicts in one call, because its memory use is not known
FLAG = 1.0  # value of the flag of a factor that a row has; otherwise it is 0


@stored(centre=Array("float64", "n_columns", finite=True), slope=Array("float64", "n_columns", finite=True))
class Standardiser:
    """Centring and scaling of columns by their means and standard deviations in training.

    Constant columns and missing values become 0.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Training rows; NaN where a value is unavailable.
    count : ndarray of shape (n,)
        How often each row counts.

    Attributes
    ----------
    centre : ndarray of shape (n_features,)
        Weighted means.
    slope : ndarray of shape (n_features,)
        1 / standard deviation; 0 for constant columns.
    """

    def __init__(self, X: np.ndarray, count: np.ndarray):
        known = ~np.isnan(X)
        total = np.maximum(count @ known, np.finfo(float).tiny)
        self.centre = count @ np.where(known, X, 0.0) / total
        differences = np.where(known, X - self.centre, 0.0)
        largest = np.abs(differences).max(axis=0)  # squares of very large or small numbers would be infinite or 0
        deviation = largest * np.sqrt(count @ (differences / np.where(largest > 0, largest, 1.0)) ** 2 / total)
        varies = deviation > 1e-10 * np.abs(self.centre)
        self.slope = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return standardised rows."""
        Z = (X - self.centre) * self.slope
        np.copyto(Z, 0.0, where=np.isnan(X))
        return Z


def encode(X: np.ndarray, standardiser: Standardiser, factors: Factors) -> np.ndarray:
    """Return rows as the data model sees them: standardised values and flags.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Columns sorted by factor; NaN where a value is unavailable.
    standardiser : Standardiser
    factors : Factors

    Returns
    -------
    ndarray of shape (n, n_columns)
        The flag of a factor is 0 if all its values are unavailable.
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
    """Scores for masked rows, from one or several data models: one score per class, or a single predicted number.

    In all methods, ``which`` (n,) is the number of the data model that scores each row.
    """

    n_scores: int

    @staticmethod
    def of(models: list[Any], factors: Factors) -> "Scores":
        """Return the scores of fitted regressors, or of fitted classifiers with the same classes."""
        return (LinearScores if all(map(is_linear, models)) else PredictedScores).of(models, factors)

    @abstractmethod
    def data_model(self, classes: np.ndarray | None) -> Any:
        """Return the first data model, which a model file holds only as a part of the scores."""

    @abstractmethod
    def start(self, which: np.ndarray) -> np.ndarray:
        """Return the scores (n, n_scores) of rows without any factor."""

    @abstractmethod
    def add(
        self, scores: np.ndarray, rows: np.ndarray, chosen: np.ndarray, masked: np.ndarray, which: np.ndarray
    ) -> None:
        """Update the scores (n, n_scores) of some rows in place, after each has acquired a factor.

        Parameters
        ----------
        scores : ndarray of shape (n, n_scores)
        rows : ndarray of int, shape (m,)
        chosen : ndarray of int, shape (m,)
            The factor that each of these rows has acquired.
        masked : ndarray of shape (n, n_columns)
            All rows, with the new factors.
        which : ndarray of int, shape (n,)
        """

    @abstractmethod
    def candidates(self, scores: np.ndarray, masked: np.ndarray, Z: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return the scores (n, n_factors, n_scores) that rows would have after each factor.

        Parameters
        ----------
        scores : ndarray of shape (n, n_scores)
            Current scores.
        masked : ndarray of shape (n, n_columns)
            Masked rows.
        Z : ndarray of shape (n, n_columns)
            Complete rows.
        which : ndarray of int, shape (n,)
        """


@stored(
    n_scores=Whole(1),
    weights=Array("float64", 1, "n_columns", "n_scores"),
    intercepts=Array("float64", 1, "n_scores"),
    starts=Array("int64", "n_starts", low=0),
)
class LinearScores(Scores):
    """Scores of linear models: sums of the contributions of factors.

    Parameters
    ----------
    weights : ndarray of shape (n_models, n_columns, n_scores)
    intercepts : ndarray of shape (n_models, n_scores)
    starts : ndarray of int, shape (n_factors + 1,)
        First column of each factor.
    """

    def __init__(self, weights: np.ndarray, intercepts: np.ndarray, starts: np.ndarray):
        self.weights, self.intercepts, self.starts = np.ascontiguousarray(weights), intercepts, starts
        self.n_scores = weights.shape[2]

    @classmethod
    def of(cls, models: list[Any], factors: Factors) -> Self:
        """Return the scores of linear models."""
        weights, intercepts = zip(*map(coefficients, models), strict=True)
        return cls(np.stack(weights).transpose(0, 2, 1), np.stack(intercepts), factors.starts)

    def data_model(self, classes: np.ndarray | None) -> Any:
        """Return the first data model."""
        parts = (self.weights.shape[1], self.weights[0], self.intercepts[0])
        return LinearRegressor(*parts) if classes is None else LinearClassifier(classes, *parts)

    def start(self, which: np.ndarray) -> np.ndarray:
        """Return the intercepts."""
        return self.intercepts[which]

    def add(
        self, scores: np.ndarray, rows: np.ndarray, chosen: np.ndarray, masked: np.ndarray, which: np.ndarray
    ) -> None:
        """Add the contributions of the factors."""
        add_factors(scores, rows, chosen, masked, self.starts, self.weights, which)

    def candidates(self, scores: np.ndarray, masked: np.ndarray, Z: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Add the contribution of each factor to a copy of the scores."""
        rows, after = np.arange(len(scores)), []
        for factor in range(len(self.starts) - 1):
            after.append(scores.copy())
            self.add(after[-1], rows, np.full(len(scores), factor), Z, which)
        return np.stack(after, axis=1)


@stored(
    n_scores=Whole(1),
    models=ListOf(OrForeign(Structure(NativeModel), NOT_NATIVE), 1, 1),
    starts=Array("int64", "n_starts", low=0),
)
class PredictedScores(Scores):
    """Scores of data models that predict whole masked rows.

    Parameters
    ----------
    models : list of fitted classifiers or regressors
    starts : ndarray of int, shape (n_factors + 1,)
        First column of each factor.
    """

    def __init__(self, models: list[Any], starts: np.ndarray):
        self.models, self.starts = models, starts
        self.n_scores = len(models[0].classes_) if hasattr(models[0], "classes_") else 1

    @classmethod
    def of(cls, models: list[Any], factors: Factors) -> Self:
        """Return the scores of any data models."""
        return cls([native(each) for each in models], factors.starts)

    def data_model(self, classes: np.ndarray | None) -> Any:
        """Return the first data model."""
        return self.models[0]

    def start(self, which: np.ndarray) -> np.ndarray:
        """Predict a row of zeros."""
        zeros = np.zeros((1, self.starts[-1]))
        return np.concatenate([self._predict(each, zeros) for each in self.models])[which]

    def add(
        self, scores: np.ndarray, rows: np.ndarray, chosen: np.ndarray, masked: np.ndarray, which: np.ndarray
    ) -> None:
        """Predict the rows again."""
        scores[rows] = self._predict_rows(masked[rows], which[rows])

    def candidates(self, scores: np.ndarray, masked: np.ndarray, Z: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Predict the rows with each factor filled in."""
        after = np.empty((len(scores), len(self.starts) - 1, self.n_scores))
        for factor, (first, last) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            filled = masked.copy()
            filled[:, first:last] = Z[:, first:last]
            after[:, factor] = self._predict_rows(filled, which)
        return after

    def _predict_rows(self, masked: np.ndarray, which: np.ndarray) -> np.ndarray:
        scores = np.empty((len(masked), self.n_scores))
        for k in np.unique(which):
            rows = np.flatnonzero(which == k)
            for first in range(0, len(rows), MAX_ROWS):
                block = rows[first : first + MAX_ROWS]
                scores[block] = self._predict(self.models[k], masked[block])
        return scores

    @staticmethod
    def _predict(model: Any, masked: np.ndarray) -> np.ndarray:
        """Return log-probabilities, or the decision function of a classifier without them, or predicted numbers."""
        if not hasattr(model, "classes_"):
            return model.predict(masked).reshape(-1, 1)
        if hasattr(model, "predict_proba"):
            return np.log(np.maximum(model.predict_proba(masked), MIN_PROBABILITY))
        decision = model.decision_function(masked)
        return decision if decision.ndim == 2 else np.column_stack([np.zeros_like(decision), decision])


def coefficients(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (n_scores, n_columns) and intercepts (n_scores,) of a linear model.

    For two classes scikit-learn has one row, for the log-odds of the second class. The first class then scores 0. A
    regressor has one score.
    """
    weights = np.atleast_2d(model.coef_)
    intercepts = np.broadcast_to(model.intercept_, len(weights))
    if len(weights) == 1 and is_classifier(model):
        return np.vstack([np.zeros_like(weights), weights]), np.append(0.0, intercepts)
    return weights, np.array(intercepts)


def is_linear(model: Any) -> bool:
    """Return whether the scores of a fitted model are linear in its columns."""
    if is_regressor(model):
        return isinstance(model, LinearModel) and np.ndim(model.coef_) == 1
    return isinstance(model, LinearClassifierMixin)
