"""The boundary of regressors: a row stops when its expected value has changed little since the checkpoint before.

Symbols
    s_k       expected full value of a row at checkpoint k
    d_k       |s_k - s_(k-1)|, with the value of a row without any known feature as s_0
    u_k       expected size of (full value - s_k) given d_k:  u_k^2 = a_k + b_k d_k^2

a_k and b_k, at least 0, are fitted by least squares to the squared errors of training rows. A row stops at checkpoint k
if tolerance / u_k is above a factor c, which is the conformal factor of the errors |full value - s_k| > tolerance; see
`thrifty.models.stopping.conformal`. This is the case if d_k is below

    limit_k  =  sqrt(((tolerance / c)^2 - a_k) / b_k);    0 if the root is negative, infinity if b_k = 0 otherwise
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from thrifty.stored import Array, stored


@stored(limits=Array("float64", "n_checkpoints", low=0))
class SmallChanges(NamedTuple):
    """The changes of the score below which a row stops.

    Attributes
    ----------
    limits : ndarray of shape (n_checkpoints,)
        A row stops at checkpoint k if its score there differs by less than ``limits[k]`` from its score at the
        checkpoint before.
    """

    limits: np.ndarray

    @classmethod
    def below(cls, error_size: float, squares: np.ndarray) -> "SmallChanges":
        """Return the boundary that stops rows with u_k < `error_size`; `squares` are a_k and b_k (n_checkpoints, 2)."""
        spare = error_size**2 - squares[:, 0]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            limits = np.sqrt(np.maximum(spare, 0.0) / squares[:, 1], where=spare > 0, out=np.zeros(len(squares)))
        return cls(limits)

    def is_inside(self, k: int, scores: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return which rows with these scores (n, 1) at checkpoint k, and at the one before, do not stop."""
        return np.abs(scores[:, 0] - before[:, 0]) >= self.limits[k]

    def can_stop_at(self, k: int) -> bool:
        """Return whether any change stops a row at checkpoint k."""
        return bool(self.limits[k] > 0)


def changes(scores: np.ndarray, prior: float) -> np.ndarray:
    """Return d_k (n, n_checkpoints) of partial scores (n, n_checkpoints)."""
    return np.abs(np.diff(scores, axis=1, prepend=prior))


def fit_squares(scores: np.ndarray, prior: float, count: np.ndarray) -> np.ndarray:
    """Return a_k and b_k (n_checkpoints, 2).

    Parameters
    ----------
    scores : ndarray of shape (n, n_checkpoints)
        Partial scores, the last of which are full scores.
    prior : float
        Score of a row without any known value.
    count : ndarray of shape (n,)
        How often each row counts.
    """
    errors = (scores - scores[:, -1:]) ** 2
    return np.array([_fit_square(errors[:, k], step**2, count) for k, step in enumerate(changes(scores, prior).T)])


def _fit_square(errors: np.ndarray, squared_changes: np.ndarray, count: np.ndarray) -> np.ndarray:
    terms = np.sqrt(count)[:, None] * np.column_stack([np.ones(len(errors)), squared_changes])
    weighted_errors = np.sqrt(count) * errors
    scale, error_scale = (np.maximum(each.max(axis=0), np.finfo(float).tiny) for each in (terms, weighted_errors))
    return nnls(terms / scale, weighted_errors / error_scale)[0] * (error_scale / scale)
