"""Leaves in closed form (eq. 14 to 16).

The scores of a leaf influence only its own loss. With squared loss and fixed auxiliary variables (Lemma 1), its
weights solve a ridge regression with one penalty per column:

    minimise over w, b   sum over rows i of v[i] * (x[i] @ w + b - y[i])^2  +  sum over j of h[j] * w[j]^2 / 2

where v is the loss weight times the probability to reach the leaf, and h the curvature of the penalties. The fit
alternates between this regression and the update of the auxiliary variables.
"""

import numpy as np

from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.tree_parameters import Parameters

ROUNDS = 30
RIDGE = 1e-9  # added to the diagonal, as a share of its largest entry, so that identical columns can be solved for
SMALL_CHANGE = 1e-4  # a leaf is done when no weight changes by more in a round


def fit_leaves(
    objective: Objective, parameters: Parameters, leaves: np.ndarray, *, warm_start: bool = False
) -> Parameters:
    """Return parameters in which the weights and intercepts of some leaves are fitted, with all others fixed.

    With `warm_start`, the fit begins at the given weights, and weights that are zero stay zero. Otherwise it begins
    with a ridge regression in which all auxiliary variables are those of weights equal to 1.
    """
    soft = objective.traverse(parameters)
    regressions = {k: _Regression(objective, soft.reach[:, k]) for k in leaves}
    weights, intercepts = parameters.weights.copy(), parameters.intercepts.copy()
    if not warm_start:
        weights[leaves] = 1.0
    for _ in range(ROUNDS):
        squares = np.einsum("kmd,kmd->kd", weights, weights)
        curvature = objective.curvature(squares, soft)
        before = weights[leaves].copy()
        for k, regression in regressions.items():
            weights[k], intercepts[k] = regression.solve(curvature[k], squares[k] > 0)
        if np.abs(weights[leaves] - before).max(initial=0.0) < SMALL_CHANGE:
            break
    return Parameters(weights, intercepts, parameters.thresholds, parameters.directions)


class _Regression:
    """Weighted least squares with one penalty per column."""

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
        """Return weights (m, d) and intercepts (m,). Weights that are not `free` or negligible are exactly zero."""
        kept = np.flatnonzero(free)
        weights = np.zeros((self.cross.shape[1], len(free)))
        if not kept.size:
            return weights, self.target_mean
        system = self.gram[np.ix_(kept, kept)]
        system[np.diag_indices(len(kept))] += curvature[kept] + RIDGE * max(self.largest, np.finfo(float).tiny)
        weights[:, kept] = np.linalg.solve(system, self.cross[kept]).T
        weights[:, (weights**2).sum(axis=0) < SMALLEST**2] = 0.0
        return weights, self.target_mean - weights @ self.mean
