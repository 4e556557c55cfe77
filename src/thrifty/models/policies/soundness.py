"""Checks of a loaded policy and of the scores that it reads."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from thrifty.models.parameters import is_number
from thrifty.models.policies.data_classifier import LinearScores, PredictedScores
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.policy import LinearPolicy, PredictedPolicy
from thrifty.models.soundness import is_numbers, is_whole_numbers, require


def refuse_unsound_scores(scores: Any, factors: Factors, n_classes: int) -> None:
    """Raise ValueError unless the scores of the data classifier fit the factors and classes."""
    width = int(factors.starts[-1])
    same = is_whole_numbers(scores.starts, len(factors) + 1) and scores.starts.dtype == factors.starts.dtype
    require(same and (scores.starts == factors.starts).all(), "its scores have other factors")
    require(scores.n_classes == n_classes, "its scores have other classes")
    if isinstance(scores, LinearScores):
        fine = is_numbers(scores.weights, 1, width, n_classes) and is_numbers(scores.intercepts, 1, n_classes)
    else:
        fine = isinstance(scores, PredictedScores) and len(scores.classifiers) == 1
        fine = fine and _fits(scores.classifiers[0], width)
    fine = fine and scores.start(np.zeros(1, dtype=np.int64)).shape == (1, n_classes)
    require(fine, "its data classifier has other columns or classes")


def refuse_unsound_policy(policy: Any, factors: Factors, n_meta: int) -> None:
    """Raise ValueError unless a policy fits the factors and the number of meta-features."""
    width, n_actions = int(factors.starts[-1]), len(factors) + 1
    if isinstance(policy, LinearPolicy):
        fine = is_numbers(policy.values, 1, width, n_actions) and is_numbers(policy.meta, n_meta, n_actions)
        fine = fine and is_numbers(policy.intercepts, n_actions)
    else:
        fine = isinstance(policy, PredictedPolicy) and policy.n_actions == n_actions and is_number(policy.lean)
        fine = fine and _fits(policy.classifier, width + n_meta) and _knows_actions(policy.classifier, n_actions)
    require(fine, "its policy has other columns or actions")


def _knows_actions(classifier: Any, n_actions: int) -> bool:
    known = classifier.classes_
    if not is_whole_numbers(known, len(known)) or not set(known.tolist()) <= set(range(n_actions)):
        return False
    method = getattr(classifier, "decision_function", None) or classifier.predict_proba
    scores = method(np.zeros((1, classifier.n_features_in_)))
    return scores.shape == (1, len(known)) or (len(known) == 2 and scores.shape == (1,))


def _fits(classifier: Any, n_features: int) -> bool:
    return isinstance(classifier, BaseEstimator) and classifier.n_features_in_ == n_features
