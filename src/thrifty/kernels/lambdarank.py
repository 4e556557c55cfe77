"""Gradients of LambdaRank.

C. J. C. Burges. From RankNet to LambdaRank to LambdaMART: an overview. Microsoft Research, 2010.

For two documents i, j of a query, i more relevant than j, with scores s_i, s_j at ranks a < b (in either order):

    rho     = 1 / (1 + exp(s_i - s_j))
    delta   = (gain_i - gain_j) * (discount_a - discount_b) / best DCG of the query        change of NDCG by a swap
    lambda  = rho * delta                the gradient is -lambda for i and +lambda for j
    hessian = rho * (1 - rho) * delta    for both

Two normalisations are added, as in LightGBM. If the scores of the query differ, delta is divided by 0.01 + |s_i - s_j|,
so that pairs with a large difference count less. All gradients and Hessians of a query are multiplied by
log2(1 + T) / T, where T = 2 * sum of lambda, so that long queries do not dominate the others.
"""

import numpy as np
from numba import njit

SCORE_OFFSET = 0.01  # keeps delta finite if two scores are equal


@njit(cache=True, nogil=True)
def lambda_gradients(scores, gain, order, starts, discount, truncation, gradient, hessian):
    """Add the gradients and Hessians (n,) of all queries; the rows of query q are order[starts[q]:starts[q + 1]].

    Only pairs with a document among the first `truncation` ranks count.
    """
    for q in range(starts.size - 1):
        rows = order[starts[q] : starts[q + 1]]
        _query_gradients(scores, gain, rows, discount, truncation, gradient, hessian)


@njit(cache=True, nogil=True)
def _query_gradients(scores, gain, rows, discount, truncation, gradient, hessian):
    best_dcg = _best_dcg(gain[rows], discount, truncation)
    if best_dcg == 0:
        return
    ranked = rows[np.argsort(-scores[rows], kind="mergesort")]
    scores_differ = scores[ranked[0]] != scores[ranked[-1]]
    total = 0.0
    for a in range(min(truncation, ranked.size - 1)):
        for b in range(a + 1, ranked.size):
            i, j = ranked[a], ranked[b]
            if gain[i] == gain[j]:
                continue
            if gain[i] < gain[j]:
                i, j = j, i
            difference = scores[i] - scores[j]
            delta = (gain[i] - gain[j]) * (discount[a] - discount[b]) / best_dcg
            if scores_differ:
                delta /= SCORE_OFFSET + abs(difference)
            rho = 1.0 / (1.0 + np.exp(difference))
            pair_lambda, pair_hessian = rho * delta, rho * (1.0 - rho) * delta
            gradient[i] -= pair_lambda
            gradient[j] += pair_lambda
            hessian[i] += pair_hessian
            hessian[j] += pair_hessian
            total += 2 * pair_lambda
    if total > 0:
        for i in rows:
            gradient[i] *= np.log2(1.0 + total) / total
            hessian[i] *= np.log2(1.0 + total) / total


@njit(cache=True, nogil=True)
def _best_dcg(gain, discount, truncation):
    descending = -np.sort(-gain)
    best_dcg = 0.0
    for rank in range(min(truncation, gain.size)):
        best_dcg += descending[rank] * discount[rank]
    return best_dcg
