"""Checks of a loaded policy and of the scores of its data model: their shapes are compared, nothing is run."""

from typing import Any

import numpy as np

from thrifty.models.factors import Factors
from thrifty.models.policies.data_model import LinearScores, PredictedScores, Scores
from thrifty.models.policies.policy import LinearPolicy, Policy, PredictedPolicy
from thrifty.models.soundness import require


def refuse_unsound_scores(scores: Scores, factors: Factors, n_scores: int) -> None:
    """Raise ValueError unless the scores of the data model have the shapes of the factors and classes."""
    assert isinstance(scores, LinearScores | PredictedScores)
    require(np.array_equal(scores.starts, factors.starts), "its scores have other factors")
    require(scores.n_scores == n_scores, "its scores have other classes")
    width = int(factors.starts[-1])
    if isinstance(scores, LinearScores):
        fits = scores.weights.shape[1] == width
    else:
        model = scores.models[0]
        fits = _has_columns(model, width) and len(getattr(model, "classes_", (0,))) == n_scores
    require(fits, "its data model has other columns or classes")


def refuse_unsound_policy(policy: Policy, factors: Factors, n_meta: int) -> None:
    """Raise ValueError unless a policy has the shapes of the factors and of the meta-features."""
    assert isinstance(policy, LinearPolicy | PredictedPolicy)
    width, n_actions = int(factors.starts[-1]), len(factors) + 1
    if isinstance(policy, LinearPolicy):
        fits = policy.values.shape[1:] == (width, n_actions) and policy.meta.shape == (n_meta, n_actions)
    else:
        fits = policy.n_actions == n_actions and _has_columns(policy.classifier, width + n_meta)
        fits = fits and _predicts_actions(policy.classifier, n_actions)
    require(fits, "its policy has other columns or actions")


def _predicts_actions(classifier: Any, n_actions: int) -> bool:
    """Return whether the classes of a classifier are actions."""
    known = classifier.classes_
    whole = np.issubdtype(known.dtype, np.integer) and len(known) > 1
    return whole and set(known.tolist()) <= set(range(n_actions)) and len(set(known.tolist())) == len(known)


def _has_columns(model: Any, n_columns: int) -> bool:
    return model.n_features_in_ == n_columns
