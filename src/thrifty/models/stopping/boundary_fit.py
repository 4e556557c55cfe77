"""The boundary of an AttentiveClassifier, from its parameters, the sample of training rows and calibration rows.

`thrifty.models.stopping.boundaries` has the formulas. A stop-error of a row that stops as negative is a positive row
that is answered as negative. So if only negative rows may stop, the positive class is protected: with plain checkpoints
the terms are centred at its means, and var(S_n) is taken over its rows.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.models.parameters import is_number
from thrifty.models.rows import Rows
from thrifty.models.stopping.boundaries import (
    Boundary,
    constant_boundary,
    curved_boundary,
    curved_factor,
)
from thrifty.models.stopping.certified import certified_factor
from thrifty.models.stopping.chain import Chain
from thrifty.models.stopping.checkpoints import Checkpoint, measured_deviation
from thrifty.models.stopping.conformal_fit import fit_conformal_factor
from thrifty.models.stopping.term_sample import TermSample

if TYPE_CHECKING:
    from thrifty.models.stopping.attentive import AttentiveClassifier


def fit_boundary(model: "AttentiveClassifier", sample: TermSample, rows: Rows, calibration: Any) -> None:
    """Set the boundary of the chain of a model.

    Parameters
    ----------
    model : AttentiveClassifier
        Its chain has checkpoints already.
    sample : TermSample
        The training rows, with the terms in the order of the chain.
    rows : Rows
        The training rows. The conformal boundary is cross-fitted on them if there are no calibration rows.
    calibration : array, sparse matrix or None
        Rows that nothing was fitted to. The certified boundary needs them. The curved boundary measures the deviations
        of the checkpoints on them.
    """
    chain = model.chain_
    if model.boundary == "curved" and model.delta > 0 and calibration is not None:
        chain.checkpoints = _measured_checkpoints(chain, calibration)
    chain.boundary = _boundary(model, sample, rows, calibration).for_sides(model.sides)


def plain_centre(sample: TermSample, sides: str) -> np.ndarray:
    """Return the means of the terms in the protected class; if both sides may stop, the mean of the two class means.

    With more than two classes, it is the mean over all rows.
    """
    if sample.scores.shape[1] > 1:
        return sample.means
    positive = sample.targets[:, 0] > 0
    protected = {"negative": [positive], "positive": [~positive], "both": [positive, ~positive]}[sides]
    means = [sample.share[rows] @ sample.values[rows] / sample.share[rows].sum() for rows in protected]
    return np.mean(means, axis=0)


def _boundary(model: "AttentiveClassifier", sample: TermSample, rows: Rows, calibration: Any) -> Boundary:
    chain, n_rivals = model.chain_, max(len(sample.intercept) - 1, 1)
    if is_number(model.boundary):
        return Boundary.constant(-model.boundary, model.boundary, len(chain.checkpoints))
    if model.delta == 0:
        return Boundary.constant(-np.inf, np.inf, len(chain.checkpoints))
    if model.boundary == "conformal":
        return curved_boundary(chain.deviations, fit_conformal_factor(model, rows, calibration))
    if model.boundary == "certified":
        factor = certified_factor(*model._ratios_and_errors(chain, calibration), model.delta, model.confidence)
        return curved_boundary(chain.deviations, factor)
    if model.boundary == "constant":
        start = float(chain.prior[0]) if len(chain.prior) == 1 else 0.0
        return constant_boundary(start, _end_variance(model, sample), model.delta / n_rivals, len(chain.checkpoints))
    return curved_boundary(chain.deviations, curved_factor(model.delta, n_rivals))


def _measured_checkpoints(chain: Chain, calibration: Any) -> list[Checkpoint]:
    """Return the checkpoints with deviations measured on calibration rows."""
    scores = chain.partial_scores(calibration)
    full, share = scores[:, -1], np.full(len(scores), 1.0 / len(scores))
    return [
        replace(checkpoint, deviation=measured_deviation(scores[:, k], full, share))
        for k, checkpoint in enumerate(chain.checkpoints)
    ]


def _end_variance(model: "AttentiveClassifier", sample: TermSample) -> float:
    """Return var(S_n) of the constant boundary: the mean square of (full score - start of the walk).

    With several classes, it is the mean over all pairs of classes of the variance of their gap.
    """
    if model.variance == "independent":
        variances = sample.weights**2 @ sample.variances
        return float(variances[0] if len(variances) == 1 else 2 * variances.mean())
    weight = sample.share * _is_protected(model, sample)
    differences = sample.scores - model.chain_.prior
    covariance = (weight[:, None] * differences).T @ differences / weight.sum()
    n_scores = len(covariance)
    if n_scores == 1:
        return float(covariance[0, 0])
    n_pairs = n_scores * (n_scores - 1) / 2
    return float((n_scores * np.trace(covariance) - covariance.sum()) / n_pairs)


def _is_protected(model: "AttentiveClassifier", sample: TermSample) -> np.ndarray:
    """Return which rows are in the protected class; all rows if both sides may stop, or if checkpoints are refitted."""
    if model.sides == "both" or model.refit:
        return np.ones(len(sample.scores), dtype=bool)
    return sample.targets[:, 0] > 0 if model.sides == "negative" else sample.targets[:, 0] < 0
