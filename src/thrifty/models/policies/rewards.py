"""Rewards of states: how good the prediction is, minus what it costs.

    r  =  quality - cost_weight * cost                                                                       (1)

    cost     paid share of the cost of all features
    quality  one of

        "probability"     p_y - max over classes c != y of p_c, with the class probabilities p = softmax(scores)
        "score"           s_y - max over classes c != y of s_c, with the scores s; this is the margin of the paper
        "squared_error"   -(y - value)^2

y is the class of the row, or the number to predict.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from thrifty.kernels.policies import PROBABILITY_MARGIN, SCORE_MARGIN, SQUARED_ERROR, RewardRule

MARGINS = ("probability", "score")
KERNEL_CODES = {"probability": PROBABILITY_MARGIN, "score": SCORE_MARGIN, "squared_error": SQUARED_ERROR}


@dataclass(frozen=True)
class Reward:
    """The reward (1) of a state.

    Attributes
    ----------
    quality : {"probability", "score", "squared_error"}
    cost_weight : float

    Examples
    --------
    >>> import numpy as np
    >>> scores, labels = np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([0, 1])
    >>> Reward("score", cost_weight=0.5).of(scores, labels, cost=np.array([0.0, 1.0]))
    array([-2. ,  1.5])
    """

    quality: str
    cost_weight: float

    def of(self, scores: np.ndarray, targets: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """Return the rewards (n, ...) of states.

        Parameters
        ----------
        scores : ndarray of shape (n, ..., n_scores)
        targets : ndarray of shape (n,)
            Indices of the true classes, or the numbers to predict.
        cost : ndarray of shape (n, ...)
        """
        if self.quality == "squared_error":
            quality = -((targets.reshape(-1, *[1] * (scores.ndim - 2)) - scores[..., 0]) ** 2)
        else:
            quality = margins(softmax(scores, axis=-1) if self.quality == "probability" else scores, targets)
        return quality - self.cost_weight * cost

    @property
    def rule(self) -> RewardRule:
        """The reward as the kernels take it."""
        return RewardRule(KERNEL_CODES[self.quality], float(self.cost_weight))


def margins(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the scores of the true classes (n,) minus the largest scores of other classes, of (n, ..., n_classes)."""
    at = np.broadcast_to(labels.reshape(-1, *[1] * (scores.ndim - 1)), (*scores.shape[:-1], 1))
    others = scores.copy()
    np.put_along_axis(others, at, -np.inf, axis=-1)
    return np.take_along_axis(scores, at, axis=-1)[..., 0] - others.max(axis=-1)


def refuse_unless_margin(margin: Any, owner: str) -> None:
    """Raise ValueError unless a `margin` parameter is one of `MARGINS`."""
    if margin not in MARGINS:
        raise ValueError(f"{owner}: margin is {margin!r}; expected 'probability' or 'score'.")
