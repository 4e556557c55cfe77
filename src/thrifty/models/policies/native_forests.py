"""Trees, forests and boosted trees as arrays."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from thrifty.models.base import drop_single_column
from thrifty.models.forests.forest import Forest
from thrifty.models.policies.native_bases import NativeClassifier, NativeModel, linear_scores, refuse_single
from thrifty.models.soundness import require
from thrifty.stored import Labels, Structure, Whole, stored


def _sums(forest: Forest, X: np.ndarray) -> np.ndarray:
    """Return the sums (n, n_scores) of the trees, in the same order for batches and for single rows."""
    weights = (forest.score_of[:, None] == np.arange(len(forest.base))).astype(float)
    return linear_scores(forest.outputs(X), weights, forest.base)


@stored(n_features_in_=Whole(1), forest=Structure(Forest))
class ForestRegressor(NativeModel):
    """Trees that predict a number."""

    _made_of = ("n_features_in_", "forest")

    def __init__(self, n_features_in_: int, forest: Forest):
        self.n_features_in_, self.forest = n_features_in_, forest
        _refuse_other_trees(forest, n_features_in_, 1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the number of each row (n,)."""
        sums = _sums(self.forest, self._checked(X))
        return sums[:, 0] if self.forest.task is None else self.forest.task.scores(sums)


@stored(classes_=Labels("n_classes"), n_features_in_=Whole(1), forest=Structure(Forest))
class ForestClassifier(NativeClassifier):
    """Trees whose sums are probabilities: of the second of two classes, otherwise of every class."""

    _made_of = ("classes_", "n_features_in_", "forest")

    def __init__(self, classes_: np.ndarray, n_features_in_: int, forest: Forest):
        refuse_single(classes_)
        self.classes_, self.n_features_in_, self.forest = classes_, n_features_in_, forest
        _refuse_other_trees(forest, n_features_in_, 1 if len(classes_) == 2 else len(classes_))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, n_classes)."""
        sums = _sums(self.forest, self._checked(X))
        return np.column_stack([1.0 - sums, sums]) if sums.shape[1] == 1 else sums


@stored()
class BoostedClassifier(ForestClassifier):
    """Trees whose sums are log-odds."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log-odds of the second class, or one score per class."""
        return drop_single_column(_sums(self.forest, self._checked(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, n_classes)."""
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)]) if scores.ndim == 1 else softmax(scores, axis=1)


def _refuse_other_trees(forest: Forest, n_columns: int, n_scores: int) -> None:
    require(forest.n_features == n_columns, "a data model has trees that read other columns")
    require(len(forest.base) == n_scores, "a data model has trees with another number of scores")
