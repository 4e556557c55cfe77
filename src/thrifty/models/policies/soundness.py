"""Checks of a loaded policy and of the scores of its data classifier."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from thrifty.models.parameters import is_number
from thrifty.models.policies.data_model import LinearScores, PredictedScores
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.policy import LinearPolicy, PredictedPolicy
from thrifty.models.soundness import is_numbers, is_whole_numbers, require


def refuse_unsound_scores(scores: Any, factors: Factors, n_classes: int) -> None:
    """Raise ValueError unless the scores of the data classifier have the shapes of the factors and classes."""
    width = int(factors.starts[-1])
    alike = is_whole_numbers(scores.starts, len(factors) + 1) and scores.starts.dtype == factors.starts.dtype
    require(alike and (scores.starts == factors.starts).all(), "its scores have other factors")
    require(scores.n_scores == n_classes, "its scores have other classes")
    if isinstance(scores, LinearScores):
        complete = is_numbers(scores.weights, 1, width, n_classes) and is_numbers(scores.intercepts, 1, n_classes)
    else:
        complete = isinstance(scores, PredictedScores) and len(scores.models) == 1
        complete = complete and _has_columns(scores.models[0], width)
    complete = complete and scores.start(np.zeros(1, dtype=np.int64)).shape == (1, n_classes)
    require(complete, "its data classifier has other columns or classes")


def refuse_unsound_policy(policy: Any, factors: Factors, n_meta: int) -> None:
    """Raise ValueError unless a policy has the shapes of the factors and of the meta-features."""
    width, n_actions = int(factors.starts[-1]), len(factors) + 1
    if isinstance(policy, LinearPolicy):
        complete = is_numbers(policy.values, 1, width, n_actions) and is_numbers(policy.meta, n_meta, n_actions)
        complete = complete and is_numbers(policy.intercepts, n_actions)
    else:
        complete = isinstance(policy, PredictedPolicy) and policy.n_actions == n_actions
        complete = complete and is_number(policy.stop_bias) and _has_columns(policy.classifier, width + n_meta)
        complete = complete and _predicts_actions(policy.classifier, n_actions)
    require(complete, "its policy has other columns or actions")


def _predicts_actions(classifier: Any, n_actions: int) -> bool:
    """Return whether the classes of a classifier are actions, with one score each."""
    known = classifier.classes_
    if not is_whole_numbers(known, len(known)) or not set(known.tolist()) <= set(range(n_actions)):
        return False
    method = getattr(classifier, "decision_function", None) or classifier.predict_proba
    scores = method(np.zeros((1, classifier.n_features_in_)))
    return scores.shape == (1, len(known)) or (len(known) == 2 and scores.shape == (1,))


def _has_columns(classifier: Any, n_columns: int) -> bool:
    return isinstance(classifier, BaseEstimator) and classifier.n_features_in_ == n_columns
