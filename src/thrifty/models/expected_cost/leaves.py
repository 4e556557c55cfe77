"""Leaves in closed form (eq. 14-16).

Nothing depends on a leaf's scores but its own loss, so that with squared loss and the auxiliaries of Lemma 1 held,
its weights solve a ridge regression with a penalty per feature. Fitting and moving the auxiliaries take turns.
"""

import numpy as np

from thrifty.models.expected_cost.objective import Objective, Parameters
from thrifty.models.expected_cost.penalties import SMALLEST

ROUNDS = 30
RIDGE = 1e-9  # of the largest variance, for columns that tell the same
STILL = 1e-4  # largest change of a weight in a round after which a leaf is done


def fit_leaves(
    objective: Objective, parameters: Parameters, leaves: np.ndarray, *, from_here: bool = False
) -> Parameters:
    """Return the parameters with the weights and intercepts of these leaves fitted, all others as they are.

    The leaves begin anew, from a plain ridge regression, or `from_here`, where weights at zero stay there.
    """
    soft = objective.traverse(parameters)
    regressions = {k: _Regression(objective, soft.reach[:, k]) for k in leaves}
    weights, intercepts = parameters.weights.copy(), parameters.intercepts.copy()
    if not from_here:
        weights[leaves] = 1.0  # auxiliaries of one: a plain ridge
    for _ in range(ROUNDS):
        squares = np.einsum("kmd,kmd->kd", weights, weights)
        curvature = objective.curvature(squares, soft)
        before = weights[leaves].copy()
        for k, regression in regressions.items():
            weights[k], intercepts[k] = regression.solve(curvature[k], squares[k] > 0)
        if np.abs(weights[leaves] - before).max(initial=0.0) < STILL:
            break
    return Parameters(weights, intercepts, parameters.thresholds, parameters.directions)


class _Regression:
    """Weighted least squares with a penalty per feature."""

    def __init__(self, objective: Objective, reach: np.ndarray):
        weight = objective.loss_weight * reach
        share = weight / max(weight.sum(), np.finfo(float).tiny)
        X, targets = objective.X, objective.targets
        self.mean, self.target_mean = share @ X, share @ targets
        centred = np.sqrt(weight)[:, None] * (X - self.mean)
        self.gram = 2.0 * (centred.T @ centred)
        self.largest = self.gram.diagonal().max(initial=0.0)
        self.cross = 2.0 * (centred.T @ (np.sqrt(weight)[:, None] * (targets - self.target_mean)))

    def solve(self, curvature: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (m, d), those that are not free or all but zero exactly zero, and intercepts (m,)."""
        kept = np.flatnonzero(free)
        weights = np.zeros((self.cross.shape[1], len(free)))
        if not kept.size:
            return weights, self.target_mean
        system = self.gram[np.ix_(kept, kept)]
        system[np.diag_indices(len(kept))] += curvature[kept] + RIDGE * max(self.largest, np.finfo(float).tiny)
        weights[:, kept] = np.linalg.solve(system, self.cross[kept]).T
        weights[:, (weights**2).sum(axis=0) < SMALLEST**2] = 0.0
        return weights, self.target_mean - weights @ self.mean
