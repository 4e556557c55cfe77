"""Leaves in closed form (eq. 14 to 16).

The scores of a leaf influence only its own loss. With squared loss and fixed auxiliary variables (Lemma 1), its
weights solve a ridge regression with one penalty per column:

    minimise over w, b   sum over rows i of v[i] * (x[i] @ w + b - y[i])^2  +  sum over j of h[j] * w[j]^2 / 2

where v is the loss weight times the probability to reach the leaf, and h the curvature of the penalties. The fit
alternates between this regression and the update of the auxiliary variables.
"""

from typing import Any

import numpy as np

from thrifty.arrays import TINY, Selection, diagonal_of, largest_size, namespace_of, part_of, with_larger_diagonal
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.row_blocks import leaf_means, leaf_products, leaf_weight
from thrifty.models.expected_cost.traversal import Traversal
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
    regressions = {int(k): _Regression(objective, soft, int(k)) for k in leaves}
    xp, weights, intercepts = namespace_of(parameters.weights), 1.0 * parameters.weights, 1.0 * parameters.intercepts
    if not warm_start:
        for k in regressions:
            weights[k, ...] = 1.0
    for _ in range(ROUNDS):
        squares = xp.sum(weights * weights, axis=1)
        curvature = objective.curvature(squares, soft)
        change = 0.0
        for k, regression in regressions.items():
            before = 1.0 * weights[k, ...]
            weights[k, ...], intercepts[k, ...] = regression.solve(curvature[k, :], squares[k, :] > 0)
            change = max(change, largest_size(weights[k, ...] - before))
        if change < SMALL_CHANGE:
            break
    return Parameters(weights, intercepts, parameters.thresholds, parameters.directions)


class _Regression:
    """Weighted least squares with one penalty per column."""

    def __init__(self, objective: Objective, soft: Traversal, k: int):
        rows = objective.rows.beside(soft.rows)
        self.mean, self.target_mean = rows.sum(leaf_means, k, rows.sum(leaf_weight, k))
        products, with_targets = rows.sum(leaf_products, k, self.mean, self.target_mean)
        self.gram, self.cross = 2.0 * products, 2.0 * with_targets
        self.largest = largest_size(diagonal_of(self.gram))

    def solve(self, curvature: Any, free: Any) -> tuple[Any, Any]:
        """Return weights (m, d) and intercepts (m,). Weights that are not `free` or negligible are exactly zero."""
        xp, kept = namespace_of(curvature), Selection(free)
        if not kept.size:
            return xp.zeros_like(self.cross.T), self.target_mean
        gram = part_of(self.gram, kept.positions, kept.positions)
        ridge = RIDGE * max(self.largest, TINY)
        system = with_larger_diagonal(gram, kept.of(curvature) + ridge)
        weights = kept.spread(xp.linalg.solve(system, xp.take(self.cross, kept.positions, axis=0)).T)
        negligible = xp.sum(weights * weights, axis=0) < SMALLEST**2
        weights = xp.where(negligible, xp.zeros_like(weights), weights)
        return weights, self.target_mean - weights @ self.mean
