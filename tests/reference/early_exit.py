"""Early exit by proximity threshold (Xu et al., JMLR 15, 2014, section 6.2); imports nothing of thrifty."""


def rounds_evaluated(scores, s, top, checkpoints):
    """Return how many rounds each document of one query goes through.

    `scores[i][t]` is the score of document i after t + 1 rounds; at the k-th of K checkpoints, after checkpoints[k - 1]
    rounds, a document leaves that is (K - k) / (K - 1) * s or more below the top-th best of those still there.
    """
    n_checkpoints = len(checkpoints)
    left_after = {}
    for k, n_rounds in enumerate(checkpoints, start=1):
        there = [i for i in range(len(scores)) if i not in left_after]
        if len(there) < top or k == n_checkpoints:
            continue
        width = (n_checkpoints - k) / (n_checkpoints - 1) * s
        best = sorted((scores[i][n_rounds - 1] for i in there), reverse=True)[top - 1]
        for i in there:
            if scores[i][n_rounds - 1] <= best - width:
                left_after[i] = n_rounds
    return [left_after.get(i, checkpoints[-1]) for i in range(len(scores))]
