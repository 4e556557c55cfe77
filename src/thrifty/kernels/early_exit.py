"""Documents of a query that leave the forest once others are too far ahead.

The documents of a query go through the rounds side by side, from checkpoint to checkpoint. There each one that is too
far behind the best few leaves for good; those that may not pay on stay where they are, and stay in the comparison.
"""

import numpy as np
from numba import njit

from thrifty.kernels.forest_purchases import buy_rounds, write_row

GOING, BROKE, GONE = 0, 1, 2  # on its way; cannot pay on; left


@njit(cache=True, nogil=True)
def exit_early(
    forest, units, X, cap, order, query_at, checkpoints, widths, top, first, last, sums, spend, exits, acquired
):
    """Send the documents of queries first..last through the rounds.

    order, query_at: query q has documents order[query_at[q]:query_at[q + 1]]; checkpoints: rounds after which to
    compare, the last of all included; widths: how far behind the top-th best document is too far, at each.
    `acquired` (n, d) is written too, unless it has no rows.
    """
    largest = 0
    for q in range(first, last):
        largest = max(largest, query_at[q + 1] - query_at[q])
    bought = np.empty((largest, X.shape[1]), np.uint8)
    paid = np.empty((largest, units.ticks.size), np.uint8)
    spent, score, state = np.empty(largest), np.empty(largest), np.empty(largest, np.uint8)
    n_rounds = np.zeros(largest, np.int64)
    trial = np.empty(1)
    for q in range(first, last):
        documents = order[query_at[q] : query_at[q + 1]]
        n = documents.size
        bought[:n] = 0
        paid[:n] = 0
        spent[:n] = 0.0
        state[:n] = GOING
        for document in documents:
            sums[document, 0] = forest.base[0]
        begin = 0
        for c in range(checkpoints.size):
            for k in range(n):
                if state[k] == GOING:
                    i = documents[k]
                    spent[k], done, may_go_on = buy_rounds(
                        forest, units, X[i], cap[i], begin, checkpoints[c], spent[k], bought[k], paid[k], sums[i], trial
                    )
                    n_rounds[k] = done
                    state[k] = GOING if may_go_on else BROKE
                score[k] = sums[documents[k], 0]
            leave(score[:n], state[:n], top, widths[c])
            begin = checkpoints[c]
        for k in range(n):
            write_row(documents[k], spent[k] / units.scale, n_rounds[k], bought[k], spend, exits, acquired)


@njit(cache=True, nogil=True)
def leave(score, state, top, width):
    """Mark the documents as gone whose score is at least `width` below the top-th best of those that are left."""
    rivals = score[state != GONE]
    if rivals.size < top:
        return
    bar = np.sort(rivals)[rivals.size - top] - width
    for k in range(score.size):
        if state[k] == GOING and score[k] <= bar:
            state[k] = GONE
