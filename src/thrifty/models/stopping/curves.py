"""What stopping costs and saves: stop-errors against terms, for boundaries from strict to lax (Fig. 4, bottom)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.models.stopping.boundaries import decidedness

N_POINTS = 200


@dataclass(frozen=True, eq=False)
class StopErrorCurve:
    """Points of a curve, by increasing number of terms.

    Attributes
    ----------
    mean_terms : ndarray of shape (n_points,)
        How many terms are evaluated, on average over the rows.
    stop_error : ndarray of shape (n_points,)
        The share of rows that are answered unlike the full predictor answers them.
    """

    mean_terms: np.ndarray
    stop_error: np.ndarray

    def at(self, mean_terms: Any) -> np.ndarray:
        """Return the stop-error between the points, for these numbers of terms."""
        return np.interp(mean_terms, self.mean_terms, self.stop_error)

    def terms_within(self, stop_error: float) -> float:
        """Return the fewest terms, on average, at which stop-errors are no more frequent than this."""
        return float(self.mean_terms[self.stop_error <= stop_error].min())


def attentive_curve(model: Any, X: Any) -> StopErrorCurve:
    """Measure a fitted AttentiveClassifier on rows, with its boundary scaled from lax to strict.

    Parameters
    ----------
    model : AttentiveClassifier
        Its boundary keeps its form: so many deviations, or, for "constant" and numbers, the same everywhere.
    X : array-like or sparse matrix of shape (n, n_features)

    Returns
    -------
    StopErrorCurve
    """
    scores = _partial_scores(model, X)
    straight = not isinstance(model.boundary, str) or model.boundary == "constant"
    ratios = ratios_to(np.ones(scores.shape[1]) if straight else model.deviations_, scores, model.sides)
    wrong, rows = errs(scores), np.arange(len(scores))
    finite = ratios[np.isfinite(ratios) & (ratios > 0)]
    points = []
    for factor in np.quantile(finite, np.linspace(0.0, 1.0, N_POINTS)) if finite.size else [0.0]:
        stop = np.argmax(ratios > factor, axis=1)
        points.append((model.checkpoints_[stop].mean(), wrong[rows, stop].mean()))
    return StopErrorCurve(*np.array(sorted(points)).T)


def truncated_curve(model: Any, X: Any) -> StopErrorCurve:
    """Measure what stopping every row at the same checkpoint of a fitted model would do.

    Parameters
    ----------
    model : AttentiveClassifier or TruncatedClassifier
    X : array-like or sparse matrix of shape (n, n_features)

    Returns
    -------
    StopErrorCurve
    """
    return StopErrorCurve(model.checkpoints_.astype(float), errs(_partial_scores(model, X)).mean(axis=0))


def ratios_to(limits: np.ndarray, scores: np.ndarray, sides: str) -> np.ndarray:
    """Return how many limits (n_checkpoints,) rows are beyond the decision; at the last checkpoint no end of them."""
    decided = np.stack([decidedness(scores[:, k]) for k in range(scores.shape[1])], axis=1)
    sided = {"both": np.abs(decided), "negative": -decided, "positive": decided}[sides]
    with np.errstate(over="ignore"):  # where nothing is left to come, any score is beyond all limits
        ratios = sided / np.maximum(limits, np.finfo(float).tiny)
    ratios[:, -1] = np.inf
    return ratios


def errs(scores: np.ndarray) -> np.ndarray:
    """Mark, for partial scores (n, n_checkpoints, n_scores), where the answer differs from the one at the end."""
    answers = scores[..., 0] > 0 if scores.shape[2] == 1 else scores.argmax(axis=2)
    return answers != answers[:, -1:]


def _partial_scores(model: Any, X: Any) -> np.ndarray:
    scores = model.partial_scores(X)
    return scores if scores.ndim == 3 else scores[..., None]
