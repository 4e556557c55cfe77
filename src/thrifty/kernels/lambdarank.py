"""Pairs of documents: the derivatives of LambdaRank.

C. J. C. Burges. From RankNet to LambdaRank to LambdaMART: an overview. Microsoft Research, 2010.

Two normalisations are added, as the libraries that do this best have them: a pair whose scores are far apart counts
less, and the sum over the pairs of a query enters by its logarithm, so that long queries do not rule the others.
"""

import numpy as np
from numba import njit

CLOSE = 0.01  # difference of scores below which pairs count alike


@njit(cache=True, nogil=True)
def lambda_gradients(scores, gain, order, starts, discount, truncation, gradient, curvature):
    """Write the derivatives (n,); the rows of query q are order[starts[q]:starts[q + 1]]."""
    for q in range(starts.size - 1):
        rows = order[starts[q] : starts[q + 1]]
        _one_query(scores, gain, rows, discount, truncation, gradient, curvature)


@njit(cache=True, nogil=True)
def _one_query(scores, gain, rows, discount, truncation, gradient, curvature):
    best = _best_dcg(gain[rows], discount, truncation)
    if best == 0:
        return
    ranked = rows[np.argsort(-scores[rows], kind="mergesort")]
    spread = scores[ranked[0]] != scores[ranked[-1]]
    total = 0.0
    for a in range(min(truncation, ranked.size - 1)):
        for b in range(a + 1, ranked.size):
            i, j = ranked[a], ranked[b]
            if gain[i] == gain[j]:
                continue
            if gain[i] < gain[j]:
                i, j = j, i
            ahead = scores[i] - scores[j]  # of the more relevant document
            swap = (gain[i] - gain[j]) * (discount[a] - discount[b]) / best
            if spread:
                swap /= CLOSE + abs(ahead)
            wrong = 1.0 / (1.0 + np.exp(ahead))
            pull, bend = wrong * swap, wrong * (1.0 - wrong) * swap
            gradient[i] -= pull
            gradient[j] += pull
            curvature[i] += bend
            curvature[j] += bend
            total += 2 * pull
    if total > 0:
        for i in rows:
            gradient[i] *= np.log2(1.0 + total) / total
            curvature[i] *= np.log2(1.0 + total) / total


@njit(cache=True, nogil=True)
def _best_dcg(gain, discount, truncation):
    descending = -np.sort(-gain)
    best = 0.0
    for rank in range(min(truncation, gain.size)):
        best += descending[rank] * discount[rank]
    return best
