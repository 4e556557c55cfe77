"""Stop-errors against the number of evaluated terms, for boundaries of different width (bottom of Fig. 4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from thrifty.models.stopping.boundaries import boundary_ratios, stop_errors

N_POINTS = 200


@dataclass(frozen=True, eq=False)
class StopErrorCurve:
    """Points of a curve, sorted by the number of terms.

    Attributes
    ----------
    mean_terms : ndarray of shape (n_points,)
        Mean number of evaluated terms per row.
    stop_error : ndarray of shape (n_points,)
        Share of rows whose answer differs from the answer of the full predictor.
    """

    mean_terms: np.ndarray
    stop_error: np.ndarray

    def at(self, mean_terms: Any) -> np.ndarray:
        """Return the stop-error at some mean numbers of terms, interpolated between the points.

        Parameters
        ----------
        mean_terms : float or array-like

        Returns
        -------
        float or ndarray of the same shape
        """
        return np.interp(mean_terms, self.mean_terms, self.stop_error)

    def terms_within(self, stop_error: float) -> float:
        """Return the smallest mean number of terms of a point whose stop-error is at most `stop_error`.

        Parameters
        ----------
        stop_error : float

        Returns
        -------
        float
        """
        return float(self.mean_terms[self.stop_error <= stop_error].min())


def attentive_curve(model: Any, X: Any) -> StopErrorCurve:
    """Measure a fitted AttentiveClassifier with its boundary scaled by many factors.

    Parameters
    ----------
    model : AttentiveClassifier
        Its boundary keeps its shape: multiples of the deviations ("curved", "certified"), or the same limit at every
        checkpoint ("constant", a number).
    X : array-like or sparse matrix of shape (n, n_features)
        Rows to measure on.

    Returns
    -------
    StopErrorCurve
    """
    scores = _partial_scores(model, X)
    is_constant = not isinstance(model.boundary, str) or model.boundary == "constant"
    limits = np.ones(scores.shape[1]) if is_constant else model.deviations_
    ratios = boundary_ratios(limits, scores, model.sides)
    errors, rows = stop_errors(scores), np.arange(len(scores))
    finite = ratios[np.isfinite(ratios) & (ratios > 0)]
    points = []
    for factor in np.quantile(finite, np.linspace(0.0, 1.0, N_POINTS)) if finite.size else [0.0]:
        stop = np.argmax(ratios > factor, axis=1)
        points.append((model.checkpoints_[stop].mean(), errors[rows, stop].mean()))
    return StopErrorCurve(*np.array(sorted(points)).T)


def truncated_curve(model: Any, X: Any) -> StopErrorCurve:
    """Measure a fitted model with all rows stopped at the same checkpoint, for every checkpoint.

    Parameters
    ----------
    model : AttentiveClassifier or TruncatedClassifier
    X : array-like or sparse matrix of shape (n, n_features)
        Rows to measure on.

    Returns
    -------
    StopErrorCurve
    """
    return StopErrorCurve(model.checkpoints_.astype(float), stop_errors(_partial_scores(model, X)).mean(axis=0))


def _partial_scores(model: Any, X: Any) -> np.ndarray:
    """Return partial scores with an axis for the scores, also if there is one score only."""
    if not is_classifier(model):
        raise ValueError(f"{type(model).__name__}: a regressor has no stop-errors. Pass a classifier.")
    scores = model.partial_scores(X)
    return scores if scores.ndim == 3 else scores[..., None]
