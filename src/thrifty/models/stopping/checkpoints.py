"""Checkpoints: the numbers of terms at which a row may stop, and the full score that is expected there.

After m terms, with values x_1..x_m, the expected full score is

    plain    intercept + sum_{t <= m} w_t x_t + sum_{t > m} w_t c_t
             the sum so far, with the other terms at a fixed centre c; with the means of the protected class as centre
             this is the centred partial score of section 4 of Pelossof and Ying (2012)

    refit    b + v'x_1..m, where v and b minimise, over the sample of training rows,

                 sum_i count_i (S_i - b - v'x_i)^2  +  sum_{t <= m} penalty_t (v_t - w_t)^2
                 penalty_t = ridge * max(q_t, 1e-9 max_u q_u),    q_t = sum_i count_i (x_it - mean of x_t)^2

             S is the full score. So known terms also help to predict those that are not known yet. Of several ridges,
             the one with the smallest leave-one-out deviation is used.

The deviation of a checkpoint is the root mean square of (full score - expected full score). At the last checkpoint of
all terms, the expected score is the full score.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from thrifty.models.least_squares.calibration import leave_one_out
from thrifty.models.stopping.term_sample import TermSample, evenly_spaced
from thrifty.stored import Array, Flag, Number, Whole, stored

GROWTH = 1.25  # ratio of the numbers of terms at successive checkpoints
MIN_GROUPS = 32  # the grain is reduced if there would be fewer groups of terms
MAX_REFITTED = 1024  # longer prefixes of the terms keep their plain weights
ENOUGH_ROWS = 2048  # more rows would not make a deviation much more precise
RIDGES = (1e-9, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
MIN_DECREASE = 1e-9  # a smaller relative decrease of the deviation may be rounding error
MIN_SCALE = 1e-9  # smallest scale of a penalty, as a share of the largest


@stored(
    n_terms=Whole(0),
    first=Whole(0),
    weights=Array("float64", "n_scores", None),
    intercept=Array("float64", "n_scores"),
    carry=Flag(),
    deviation=Number(),
)
@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The expected full scores after some terms: ``intercept + weights @ values[first:n_terms]``.

    Attributes
    ----------
    n_terms : int
        Number of terms evaluated.
    first : int
        First term that `weights` refers to.
    weights : ndarray of shape (n_scores, n_terms - first)
    intercept : ndarray of shape (n_scores,)
    carry : bool
        Whether the weighted sum is added to that of the checkpoint before, which has the terms before `first`.
    deviation : float
        Root mean square of (full score - expected score); with several classes, of the gap between the two classes
        with the largest expected scores.
    """

    n_terms: int
    first: int
    weights: np.ndarray
    intercept: np.ndarray
    carry: bool
    deviation: float


def checkpoint_terms(n_terms: int, block_size: int | None, grain: int = 1) -> list[int]:
    """Return the number of terms at each checkpoint; the last checkpoint has all terms.

    Parameters
    ----------
    n_terms : int
        Number of terms of the predictor.
    block_size : int or None
        Distance of the checkpoints. None means that the distance grows with the number of terms.
    grain : int, default=1
        Number of terms that are best evaluated together. It is at most a 32nd of the terms.

    >>> checkpoint_terms(30, None)
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 30]
    >>> checkpoint_terms(130, None, grain=4)
    [4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 60, 72, 88, 108, 130]
    """
    if block_size is not None:
        return [*range(block_size, n_terms, block_size), n_terms]
    grain = max(1, min(grain, n_terms // MIN_GROUPS))
    ends = [min(n_terms, grain)]
    while ends[-1] < n_terms:
        further = int(ends[-1] * GROWTH) // grain * grain
        ends.append(min(n_terms, max(ends[-1] + grain, further)))
    return ends


def plain_checkpoints(sample: TermSample, centre: np.ndarray, ends: list[int], variance: str) -> Iterator[Checkpoint]:
    """Yield the plain checkpoints.

    Parameters
    ----------
    sample : TermSample
    centre : ndarray of shape (n_terms,)
        Values of the terms that are not evaluated yet.
    ends : list of int
        Number of terms at each checkpoint.
    variance : {"measured", "independent"}
        How deviations are estimated.
    """
    at_centre = sample.intercept + sample.weights @ centre
    first, sums = 0, np.zeros_like(sample.scores)
    for end in ends:
        weights = np.ascontiguousarray(sample.weights[:, first:end])
        sums = sums + sample.values[:, first:end] @ weights.T
        intercept = at_centre - sample.weights[:, :end] @ centre[:end]
        measured = measured_deviation(sums + intercept, sample.scores, sample.share)
        deviation = measured if variance == "measured" else independent_deviation(sample, end)
        yield Checkpoint(end, first, weights, intercept, True, deviation)
        first = end


def refit_checkpoints(sample: TermSample, ends: list[int]) -> Iterator[Checkpoint]:
    """Yield the refitted checkpoints; prefixes of more than `MAX_REFITTED` terms keep their plain weights."""
    refits = Refits(sample, min(max(ends), MAX_REFITTED))
    long_ends = [end for end in ends if end > MAX_REFITTED]
    for end in ends:
        if end <= MAX_REFITTED:
            yield refits.at(end)
    for plain in plain_checkpoints(sample, sample.means, long_ends, "measured"):
        weights = np.ascontiguousarray(sample.weights[:, : plain.n_terms])
        yield Checkpoint(plain.n_terms, 0, weights, plain.intercept, False, plain.deviation)


class Refits:
    """Ridge regressions of the full scores on the first terms, for any number of terms up to `max_terms`."""

    def __init__(self, sample: TermSample, max_terms: int):
        self.sample = sample
        self.means, self.score_mean = sample.means[:max_terms], sample.share @ sample.scores
        centred = np.sqrt(sample.count)[:, None] * (sample.values[:, :max_terms] - self.means)
        self.gram = centred.T @ centred
        self.cross = centred.T @ (np.sqrt(sample.count)[:, None] * (sample.scores - self.score_mean))
        squares = self.gram.diagonal()
        self.scale = np.maximum(squares, max(MIN_SCALE * squares.max(initial=0.0), np.finfo(float).tiny))
        self.rows = evenly_spaced(len(sample.values), ENOUGH_ROWS)

    def at(self, end: int) -> Checkpoint:
        """Return the checkpoint after `end` terms; the ridge is increased as long as the deviation decreases."""
        best = self.with_ridge(end, RIDGES[0])
        for ridge in RIDGES[1:]:
            candidate = self.with_ridge(end, ridge)
            if candidate.deviation >= best.deviation * (1 - MIN_DECREASE):
                break
            best = candidate
        return best

    def with_ridge(self, end: int, ridge: float) -> Checkpoint:
        """Return the checkpoint after `end` terms for this ridge."""
        penalty = ridge * self.scale[:end]
        factor = cho_factor(self.gram[:end, :end] + np.diag(penalty), lower=True)
        cross = self.cross[:end] + penalty[:, None] * self.sample.weights[:, :end].T
        weights = cho_solve(factor, cross).T
        intercept = self.score_mean - weights @ self.means[:end]
        deviation = self._leave_one_out_deviation(np.tril(factor[0]), weights, intercept)
        return Checkpoint(end, 0, np.ascontiguousarray(weights), intercept, False, deviation)

    def _leave_one_out_deviation(self, cholesky: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> float:
        values, scores = self.sample.values[self.rows, : len(cholesky)], self.sample.scores[self.rows]
        whitened = solve_triangular(cholesky, (values - self.means[: len(cholesky)]).T, lower=True)
        leverages = np.einsum("ij,ij->j", whitened, whitened) + 1.0 / self.sample.count.sum()
        expected = leave_one_out(values @ weights.T + intercept, scores, leverages)
        return measured_deviation(expected, scores, self.sample.share[self.rows])


def measured_deviation(expected: np.ndarray, scores: np.ndarray, share: np.ndarray) -> float:
    """Return the weighted root mean square of the differences of full and expected scores (n, n_scores).

    With several classes, it is that of the gap between the two classes with the largest expected scores.
    """
    errors = (scores - expected)[:, 0]
    if scores.shape[1] > 1:
        leaders = np.argsort(expected, axis=1)[:, -2:]
        errors = np.diff(np.take_along_axis(scores - expected, leaders, axis=1), axis=1)[:, 0]
    return float(np.sqrt(share @ errors**2 / share.sum()))


def independent_deviation(sample: TermSample, n_terms: int) -> float:
    """Return the deviation after `n_terms` terms as if all terms were independent.

    It is sqrt(sum over the other terms t of w_t^2 var(x_t)). With several classes, it is that of the gap between two
    scores: the root of twice the mean variance of a score.
    """
    variances = sample.weights[:, n_terms:] ** 2 @ sample.variances[n_terms:]
    return float(np.sqrt(variances[0] if len(variances) == 1 else 2 * variances.mean()))
