"""Scores of rows that were answered once, under a cap, whatever scorer asks for the answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import get_scorer
from sklearn.utils import get_tags

from thrifty.models.acquisition import Acquisition
from thrifty.models.validation import BY_QUERY, query_metric
from thrifty.tuning.methods import Task

DEFAULT_SCORING: dict[Task, str] = {
    "binary": "accuracy",
    "multiclass": "accuracy",
    "regression": "r2",
    "ranking": "ndcg@5",
}


Scorer = Callable[[Any, Any, Any, Any], float]  # of (model, X, y, queries)


def scorer_of(scoring: Any) -> Scorer:
    """Return how answers are scored: by query for names such as ``"ndcg@5"``, else as scikit-learn does it."""
    if by_query := query_metric(scoring):
        metric, k = BY_QUERY[by_query[0]], by_query[1]
        return lambda model, X, y, qid: float(metric(y, model.predict(X), qid=qid, k=k))
    scorer = get_scorer(scoring)
    return lambda model, X, y, qid: float(scorer(model, X, y))


class Answered(BaseEstimator):
    """A model's answers to some rows, held ready for a scorer to ask for them."""

    def __init__(self, model: Any, acquisition: Acquisition):
        self.model, self.acquisition = model, acquisition
        if is_classifier(model):
            self.classes_ = model.classes_

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions."""
        return self.acquisition.prediction

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores."""
        return self.acquisition.score

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities behind the scores."""
        return self.model._probabilities(self.acquisition.score)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.model)
