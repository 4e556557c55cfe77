"""Straightforward NumPy implementation of ASTC, as its paper describes it, for comparison.

M. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Weinberger, Y. Chen. Feature-Cost Sensitive Learning with Submodular Trees of
Classifiers. AAAI, 2014.
"""

import numpy as np

BLOCK_ROWS = 2048  # keeps the rank-one update in cache


def gram_schmidt_tree(X: np.ndarray, y: np.ndarray, node_budget: int, max_depth: int) -> dict[int, list[int]]:
    """Fit ASTC with unit costs by the Gram-Schmidt process, with one update of all candidates per selected feature.

    Return the features of each node, inherited ones first. The upper child of node k is 2k + 1, the lower 2k + 2.
    """
    nodes: dict[int, list[int]] = {}
    queue = [(0, np.arange(len(X)), [])]
    while queue:
        k, rows, held = queue.pop()
        residual = X[rows]
        residual -= residual.mean(axis=0)
        target = y[rows] - y[rows].mean()
        score, selected = _select(residual, target, held, node_budget)
        nodes[k] = selected
        if 2 * k + 2 < 2**max_depth - 1:
            del residual
            above = score > np.median(score)
            queue += [(2 * k + 2, rows[~above], selected), (2 * k + 1, rows[above], selected)]
    return nodes


def _select(Q: np.ndarray, target: np.ndarray, held: list[int], n_new: int) -> tuple[np.ndarray, list[int]]:
    """Make the columns of Q orthogonal to the held features and to the best new ones, in place.

    Return the fitted score and all selected features, held ones first.
    """
    variance = np.einsum("ij,ij->j", Q, Q)
    cross = target @ Q
    usable = np.ones(Q.shape[1], dtype=bool)
    score, selected = np.zeros(len(Q)), []
    for step in range(len(held) + n_new):
        gains = np.where(usable, cross**2 / np.where(usable, variance, 1.0), -1.0)
        best = held[step] if step < len(held) else int(gains.argmax())
        q = Q[:, best] / np.sqrt(variance[best])
        loading = q @ target
        overlap = q @ Q
        for first in range(0, len(Q), BLOCK_ROWS):
            Q[first : first + BLOCK_ROWS] -= np.outer(q[first : first + BLOCK_ROWS], overlap)
        variance -= overlap**2
        cross -= loading * overlap
        usable[best] = False
        score += loading * q
        selected = [*selected, best]
    return score, selected
