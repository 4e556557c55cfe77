"""Scores of rows that were answered once, under a cap, whatever scorer asks for the answers."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

from thrifty.models.acquisition import Acquisition
from thrifty.tuning.methods import Task

DEFAULT_SCORING: dict[Task, str] = {
    "binary": "accuracy",
    "multiclass": "accuracy",
    "regression": "r2",
    "ranking": "ndcg@5",
}


class Answered(BaseEstimator):
    """A model's answers to some rows, held ready for a scorer to ask for them."""

    def __init__(self, model: Any, acquisition: Acquisition):
        self.model, self.acquisition = model, acquisition
        if is_classifier(model):
            self.classes_ = model.classes_

    def predict(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return the predictions."""
        return self.acquisition.prediction

    def decision_function(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return the scores."""
        return self.acquisition.score

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities behind the scores."""
        return self.model._probabilities(self.acquisition.score)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.model)
