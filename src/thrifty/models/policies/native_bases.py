"""Bases of data models and policies that are arrays, and the linear ones."""

from abc import ABC
from typing import Any

import numpy as np

from thrifty.kernels.policies import add_products
from thrifty.models.rebuilt import Rebuilt
from thrifty.models.soundness import require
from thrifty.stored import Array, Labels, Whole, stored


class NativeModel(Rebuilt, ABC):
    """A fitted model of arrays.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    """

    n_features_in_: int

    def _checked(self, X: Any) -> np.ndarray:
        rows = np.ascontiguousarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(f"{name}: X has shape {rows.shape}; expected (n, {self.n_features_in_}).")
        return rows


class NativeClassifier(NativeModel):
    """A fitted classifier of arrays; it has `predict_proba` or `decision_function`, or both.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    """

    classes_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row (n,)."""
        scores = getattr(self, "decision_function", None) or self.predict_proba  # type: ignore[attr-defined]
        found = scores(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]


def refuse_single(classes: np.ndarray) -> None:
    """Raise ValueError if there are fewer than two classes."""
    require(len(classes) > 1, "a classifier has fewer than two classes")


def linear_scores(X: np.ndarray, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Return X @ weights + intercepts, summed in the same order for batches and for single rows."""
    scores = np.tile(intercepts, (len(X), 1))
    add_products(scores, X, weights)
    return scores


@stored(
    classes_=Labels("n_classes"),
    n_features_in_=Whole(1),
    weights=Array("float64", "n_features_in_", "n_classes"),
    intercepts=Array("float64", "n_classes"),
)
class LinearClassifier(NativeClassifier):
    """A linear classifier."""

    _made_of = ("classes_", "n_features_in_", "weights", "intercepts")

    def __init__(self, classes_: np.ndarray, n_features_in_: int, weights: np.ndarray, intercepts: np.ndarray):
        refuse_single(classes_)
        self.classes_, self.n_features_in_ = classes_, n_features_in_
        self.weights, self.intercepts = np.ascontiguousarray(weights), intercepts

    def decision_function(self, X: Any) -> np.ndarray:
        """Return one score per row for two classes, otherwise one per class."""
        scores = linear_scores(self._checked(X), self.weights, self.intercepts)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


@stored(n_features_in_=Whole(1), weights=Array("float64", "n_features_in_", 1), intercepts=Array("float64", 1))
class LinearRegressor(NativeModel):
    """A linear regressor."""

    _made_of = ("n_features_in_", "weights", "intercepts")

    def __init__(self, n_features_in_: int, weights: np.ndarray, intercepts: np.ndarray):
        self.n_features_in_ = n_features_in_
        self.weights, self.intercepts = np.ascontiguousarray(weights), intercepts

    def predict(self, X: Any) -> np.ndarray:
        """Return the number of each row (n,)."""
        return linear_scores(self._checked(X), self.weights, self.intercepts)[:, 0]
