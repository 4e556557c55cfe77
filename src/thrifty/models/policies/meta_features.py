"""Meta-features: what a policy sees of a state beside the masked row (section 3.3 of He, Daumé and Eisner, 2012).

With the class probabilities p = softmax(scores) of the data model and the paid share c of the cost of all features,
they are

    0    confidence: max p                           4    change of c by the latest factor
    1    change of max p by the latest factor        5    c / max p
    2    1 if the latest factor changed the          6..  the most likely class, one-hot
         most likely class, else 0
    3    cost: c

If the data model predicts a number, in units of the standard deviation of the targets, there are no classes, and

    0    the prediction, minus the mean              2    absolute value of 1
    1    its change by the latest factor             5    absolute value of 0
"""

from typing import NamedTuple

import numpy as np

from thrifty.kernels.policies import judge

N_SCALARS = 6  # meta-features before the one-hot class


class ClassSummary(NamedTuple):
    """Confidence and most likely class of the data model, and the paid share of the cost of all features."""

    confidence: np.ndarray
    guess: np.ndarray
    cost: np.ndarray


class ValueSummary(NamedTuple):
    """Prediction of the data model, and the paid share of the cost of all features."""

    value: np.ndarray
    cost: np.ndarray


StateSummary = ClassSummary | ValueSummary


def summarise(scores: np.ndarray, cost: np.ndarray) -> StateSummary:
    """Return the summaries of states with scores (n, n_scores); a single score is a number, several are of classes."""
    if scores.shape[1] == 1:
        return ValueSummary(scores[:, 0].copy(), cost)
    confidence, guess = np.empty(len(scores)), np.empty(len(scores), dtype=np.int64)
    judge(scores, confidence, guess)
    return ClassSummary(confidence, guess, cost)


def meta_features(now: StateSummary, before: StateSummary, n_scores: int) -> np.ndarray:
    """Return the meta-features (n, n_meta_features) of states, given the states before the latest factor."""
    meta = np.zeros((len(now.cost), n_meta_features(n_scores)))
    if isinstance(now, ClassSummary) and isinstance(before, ClassSummary):
        meta[:, 0] = now.confidence
        meta[:, 1] = now.confidence - before.confidence
        meta[:, 2] = now.guess != before.guess
        meta[:, 5] = now.cost / now.confidence
        meta[np.arange(len(meta)), N_SCALARS + now.guess] = 1.0
    elif isinstance(now, ValueSummary) and isinstance(before, ValueSummary):
        meta[:, 0] = now.value
        meta[:, 1] = now.value - before.value
        meta[:, [2, 5]] = np.abs(meta[:, [1, 0]])
    meta[:, 3] = now.cost
    meta[:, 4] = now.cost - before.cost
    return meta


def n_meta_features(n_scores: int) -> int:
    """Return the number of meta-features; a data model of numbers has one score."""
    return N_SCALARS + (n_scores if n_scores > 1 else 0)
