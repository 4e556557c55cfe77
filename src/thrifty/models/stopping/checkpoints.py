"""Where a sum may be stopped, and what the full score is expected to be there.

    plain    the sum so far, and the terms still to come at their mean over the class to protect: the centred partial
             score of section 4 of Pelossof and Ying
    refit    least squares of the full score on the values so far, so that what is known of a term also tells of those
             still to come; pulled towards the plain weights by the ridge that leaving out rows finds best

The last checkpoint of a whole predictor is the predictor itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from thrifty.models.least_squares.calibration import leave_one_out
from thrifty.models.stopping.sample import Sample, evenly

GROWTH = 1.25  # from one checkpoint to the next
MANY = 32  # checkpoints, at which time is saved by looking less often
MOST_REFITTED = 1024  # terms; longer prefixes are left at their plain weights
ENOUGH_ROWS = 2048  # for a deviation
RIDGES = (1e-9, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # shares of the variances
TIE = 1e-9  # relative difference in deviation that is none
SMALLEST = 1e-9  # share of the largest variance that the ridge of a term reckons with at least


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What is expected of the full scores after some terms: intercept + weights @ values[first:n_terms].

    `carry` adds that to the sums of the checkpoint before, whose terms are then not weighed anew. `deviation` is that
    of the full score from what is expected, or, for several classes, of the gap between the two that lead.
    """

    n_terms: int
    first: int
    weights: np.ndarray  # (n_scores, n_terms - first)
    intercept: np.ndarray  # (n_scores,)
    carry: bool
    deviation: float


def checkpoint_terms(n_terms: int, block_size: int | None, grain: int = 1) -> list[int]:
    """Return the numbers of terms at which to look: every `block_size`, or ever fewer of them, the last at the end.

    `grain` is how many terms are best evaluated together, unless there are so few that this would be too coarse.

    >>> checkpoint_terms(30, None)
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 30]
    >>> checkpoint_terms(130, None, grain=4)
    [4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 60, 72, 88, 108, 130]
    """
    if block_size is not None:
        return [*range(block_size, n_terms, block_size), n_terms]
    grain = max(1, min(grain, n_terms // MANY))
    ends = [min(n_terms, grain)]
    while ends[-1] < n_terms:
        further = int(ends[-1] * GROWTH) // grain * grain
        ends.append(min(n_terms, max(ends[-1] + grain, further)))
    return ends


def plain_checkpoints(sample: Sample, centre: np.ndarray, ends: list[int], variance: str) -> Iterator[Checkpoint]:
    """Return the partial sums, with the terms still to come at their `centre` (n_terms,)."""
    started = sample.intercept + sample.weights @ centre
    first, sums = 0, np.zeros_like(sample.scores)
    for end in ends:
        weights = np.ascontiguousarray(sample.weights[:, first:end])
        sums = sums + sample.values[:, first:end] @ weights.T
        intercept = started - sample.weights[:, :end] @ centre[:end]
        measured = spread(sums + intercept, sample.scores, sample.share)
        deviation = measured if variance == "measured" else independent_deviation(sample, end)
        yield Checkpoint(end, first, weights, intercept, True, deviation)
        first = end


def refit_checkpoints(sample: Sample, ends: list[int]) -> Iterator[Checkpoint]:
    """Return least-squares estimates of the full scores, with deviations measured by leaving each row out."""
    refitted = Refit(sample, min(max(ends), MOST_REFITTED))
    overall = [*plain_checkpoints(sample, sample.means, [e for e in ends if e > MOST_REFITTED], "measured")]
    for end in ends:
        if end <= MOST_REFITTED:
            yield refitted.at(end)
        else:
            plain = overall.pop(0)
            weights = np.ascontiguousarray(sample.weights[:, :end])
            yield Checkpoint(end, 0, weights, plain.intercept, False, plain.deviation)


class Refit:
    """Ridge regressions of the full scores on the first so many terms, for any number up to `most`."""

    def __init__(self, sample: Sample, most: int):
        self.sample = sample
        self.means, self.score_mean = sample.means[:most], sample.share @ sample.scores
        centred = np.sqrt(sample.count)[:, None] * (sample.values[:, :most] - self.means)
        self.gram = centred.T @ centred
        self.cross = centred.T @ (np.sqrt(sample.count)[:, None] * (sample.scores - self.score_mean))
        squares = self.gram.diagonal()
        self.scale = np.maximum(squares, SMALLEST * max(squares.max(initial=0.0), np.finfo(float).tiny))
        self.rows = evenly(len(sample.values), ENOUGH_ROWS)

    def at(self, end: int) -> Checkpoint:
        """Return the checkpoint after `end` terms, with the ridge at which the deviation stops to fall."""
        best = self._with_ridge(end, RIDGES[0])
        for ridge in RIDGES[1:]:
            further = self._with_ridge(end, ridge)
            if further.deviation >= best.deviation * (1 - TIE):
                break
            best = further
        return best

    def _with_ridge(self, end: int, ridge: float) -> Checkpoint:
        penalty = ridge * self.scale[:end]
        factor = cho_factor(self.gram[:end, :end] + np.diag(penalty), lower=True)
        pulled = self.cross[:end] + penalty[:, None] * self.sample.weights[:, :end].T
        weights = cho_solve(factor, pulled).T
        intercept = self.score_mean - weights @ self.means[:end]
        deviation = self._deviation(np.tril(factor[0]), weights, intercept)
        return Checkpoint(end, 0, np.ascontiguousarray(weights), intercept, False, deviation)

    def _deviation(self, cholesky: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> float:
        values, scores = self.sample.values[self.rows, : len(cholesky)], self.sample.scores[self.rows]
        whitened = solve_triangular(cholesky, (values - self.means[: len(cholesky)]).T, lower=True)
        leverages = np.einsum("ij,ij->j", whitened, whitened) + 1.0 / self.sample.count.sum()
        expected = leave_one_out(values @ weights.T + intercept, scores, leverages)
        return spread(expected, scores, self.sample.share[self.rows])


def spread(expected: np.ndarray, scores: np.ndarray, share: np.ndarray) -> float:
    """Return the root mean square by which full scores differ from those expected (n, n_scores).

    Of several classes, only the gap between the two that are expected to lead counts.
    """
    errors = (scores - expected)[:, 0]
    if scores.shape[1] > 1:
        leaders = np.argsort(expected, axis=1)[:, -2:]
        errors = np.diff(np.take_along_axis(scores - expected, leaders, axis=1), axis=1)[:, 0]
    return float(np.sqrt(share @ errors**2 / share.sum()))


def independent_deviation(sample: Sample, n_terms: int) -> float:
    """Return the deviation of what is to come as if its terms were independent (of a gap: of two scores)."""
    left = sample.weights[:, n_terms:] ** 2 @ sample.variances[n_terms:]
    return float(np.sqrt(left[0] if len(left) == 1 else 2 * left.mean()))
