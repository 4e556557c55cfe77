"""Early exit of documents: a document leaves the forest once it is too far behind the best documents of its query.

All documents of a query are evaluated up to the next checkpoint before any of them goes further. At the checkpoint
their scores are compared, and documents that are too far behind exit. A document that cannot pay for the next purchase
stops, but its score still takes part in the comparisons.
"""

import numpy as np
from numba import njit

from thrifty.kernels.forest_purchases import buy_rounds, write_row

ACTIVE, CAPPED, EXITED = 0, 1, 2  # still evaluated; stopped by its cap; too far behind


@njit(cache=True, nogil=True)
def exit_early(
    forest, units, X, cap, order, query_at, checkpoints, widths, top, first, last, sums, spend, exits, acquired
):
    """Evaluate the documents of queries first..last and write their sums, spend, exits and acquired features.

    order, query_at   query q has the documents order[query_at[q]:query_at[q + 1]]
    checkpoints       numbers of rounds after which scores are compared; the last one is the number of all rounds
    widths            at each checkpoint, the distance to the top-th best score at which a document exits
    acquired          (n, d), not written if it has no rows
    """
    max_documents = 0
    for q in range(first, last):
        max_documents = max(max_documents, query_at[q + 1] - query_at[q])
    bought = np.empty((max_documents, X.shape[1]), np.uint8)
    paid = np.empty((max_documents, units.ticks.size), np.uint8)
    spent, score, state = np.empty(max_documents), np.empty(max_documents), np.empty(max_documents, np.uint8)
    n_rounds = np.zeros(max_documents, np.int64)
    scratch = np.empty(1)
    for q in range(first, last):
        documents = order[query_at[q] : query_at[q + 1]]
        n = documents.size
        bought[:n] = 0
        paid[:n] = 0
        spent[:n] = 0.0
        state[:n] = ACTIVE
        for document in documents:
            sums[document, 0] = forest.base[0]
        begin = 0
        for c in range(checkpoints.size):
            for k in range(n):
                if state[k] == ACTIVE:
                    i = documents[k]
                    spent[k], next_round, can_continue = buy_rounds(
                        forest,
                        units,
                        X[i],
                        cap[i],
                        begin,
                        checkpoints[c],
                        spent[k],
                        bought[k],
                        paid[k],
                        sums[i],
                        scratch,
                    )
                    n_rounds[k] = next_round
                    state[k] = ACTIVE if can_continue else CAPPED
                score[k] = sums[documents[k], 0]
            mark_exits(score[:n], state[:n], top, widths[c])
            begin = checkpoints[c]
        for k in range(n):
            write_row(documents[k], spent[k] / units.scale, n_rounds[k], bought[k], spend, exits, acquired)


@njit(cache=True, nogil=True)
def mark_exits(score, state, top, width):
    """Mark active documents as exited if their score is at least `width` below the top-th best score.

    Documents that have already exited do not take part in the comparison.
    """
    remaining = score[state != EXITED]
    if remaining.size < top:
        return
    limit = np.sort(remaining)[remaining.size - top] - width
    for k in range(score.size):
        if state[k] == ACTIVE and score[k] <= limit:
            state[k] = EXITED
