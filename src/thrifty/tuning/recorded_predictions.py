"""Predictions that were made once, under a cap, in the form of a model that scorers can call."""

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

from thrifty.costs.error_costs import ClassErrorCosts, ErrorCosts
from thrifty.models.acquisition import Acquisition


class RecordedPredictions(BaseEstimator):
    """A stand-in for a model that returns recorded predictions, for any rows.

    Parameters
    ----------
    model : BudgetedEstimator
        The model that made the predictions.
    acquisition : Acquisition
        Its predictions.
    error_costs : ErrorCosts, optional
        The predictions of a classifier are replaced by the classes with the smallest expected cost.
    """

    def __init__(self, model: Any, acquisition: Acquisition, error_costs: ErrorCosts | None = None):
        self.model, self.acquisition = model, acquisition
        if is_classifier(model):
            self.classes_ = model.classes_
        if isinstance(error_costs, ClassErrorCosts):
            self.acquisition = copy(acquisition)
            probabilities = model._probabilities(acquisition.score)
            self.acquisition.prediction = error_costs.cheapest(probabilities, model.classes_)

    def acquire(self, X: Any, *, qid: Any = None) -> Acquisition:
        """Return the predictions, with what was paid for them."""
        return self.acquisition

    def predict(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """Return the predictions."""
        return self.acquisition.prediction

    def decision_function(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """Return the scores that the predictions are made from."""
        return self.acquisition.score

    def predict_proba(self, X: Any, *, qid: Any = None) -> np.ndarray:
        """Return the class probabilities that belong to the scores."""
        return self.model._probabilities(self.acquisition.score)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.model)
