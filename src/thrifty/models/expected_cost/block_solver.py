"""The block solver: one node at a time, as in Algorithm 1 of Xu et al. (2014).

A sweep visits the nodes in level order. The parameters of a node are fitted with those of all others fixed: a leaf in
closed form (eq. 16), an inner node by conjugate gradients, because its scores also determine which rows reach the
nodes below it. Between two fits of a node, the auxiliary variables of Lemma 1 are updated. The joint solver minimises
the same objective and is many times faster.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from thrifty.models.expected_cost.joint_solver import SETTLED, STUCK, Callback, Solution
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.products import product
from thrifty.models.expected_cost.stationarity import Stationarity
from thrifty.models.expected_cost.tree_parameters import Parameters

ROUNDS = 10  # of fitting a node and updating its auxiliary variables
STEPS = 30  # of conjugate gradients in a round


def solve_by_blocks(
    objective: Objective,
    parameters: Parameters,
    *,
    max_iter: int = 100,
    tol: float = 1e-2,
    callback: Callback | None = None,
) -> Solution:
    """Minimise the objective from a starting point.

    Parameters
    ----------
    objective : Objective
    parameters : Parameters
        The starting point; not modified.
    max_iter : int, default=100
        Maximum number of sweeps over all nodes. The solver also stops when a sweep makes no progress, whatever the
        residual is, because it never changes a weight that has become zero.
    tol : float, default=1e-2
        The solver stops when the optimality residual is at most this and sweeps make little progress.
    callback : callable, default=None
        Called with parameters and objective after each sweep. If it returns True, the solver stops.

    Returns
    -------
    Solution
    """
    solution = Solution(parameters, [objective.value(parameters)])

    def residual() -> float:
        return Stationarity.of(objective, solution.parameters).residual

    for _ in range(max_iter):
        before = solution.history[-1]
        for k in np.argsort(objective.topology.depth, kind="stable"):
            _fit_node(objective, solution, int(k))
        solution.history.append(objective.value(solution.parameters))
        if callback is not None and callback(solution.parameters, solution.history[-1]):
            solution.stopped = True
            break
        progress = (before - solution.history[-1]) / max(abs(before), np.finfo(float).tiny)
        if progress <= STUCK or (progress < SETTLED * tol and residual() <= tol):
            break
    solution.residual = residual()
    return solution


def _fit_node(objective: Objective, solution: Solution, k: int) -> None:
    """Fit one node in rounds, as long as the objective falls."""
    value = objective.value(solution.parameters)
    fit = _fit_inner if objective.topology.inner[k] or objective.logistic else _fit_leaf
    for _ in range(ROUNDS):
        candidate = fit(objective, solution.parameters, k)
        reached = objective.value(candidate)
        if not reached < value:
            return
        solution.parameters, progress, value = candidate, value - reached, reached
        if progress <= STUCK * abs(value):
            return


def _fit_leaf(objective: Objective, parameters: Parameters, k: int) -> Parameters:
    return fit_leaves(objective, parameters, np.array([k]), warm_start=True)


def _fit_inner(objective: Objective, parameters: Parameters, k: int) -> Parameters:
    """Minimise the bound over the nonzero weights, the intercepts and the threshold of one node."""
    scores = objective.scores(parameters)
    auxiliaries = objective.auxiliaries(parameters, objective.traverse(parameters, scores).mass, SMALLEST)
    free = parameters.squares()[k] > 0
    n_scores, n_free = parameters.intercepts.shape[1], int(free.sum())
    columns, own = objective.X[:, free], slice(k * n_scores, (k + 1) * n_scores)
    cuts = np.cumsum([n_scores * n_free, n_scores])

    def at(x: np.ndarray) -> Parameters:
        weights, intercepts, threshold = np.split(x, cuts)
        node = parameters.take(np.array([k]))
        node.weights[0][:, free] = weights.reshape(n_scores, n_free)
        node.intercepts[0], node.thresholds[0] = intercepts, threshold[0]
        return parameters.with_nodes(np.array([k]), node)

    def bound(x: np.ndarray) -> tuple[float, np.ndarray]:
        there = at(x)
        scores[:, own] = product(columns, there.weights[k][:, free].T) + there.intercepts[k]
        soft = objective.traverse(there, scores)
        value, by_score, by_threshold, curvature = objective.score_gradient(there, soft, auxiliaries)
        by_weights = product(by_score[:, own].T, columns) + curvature[k, free] * there.weights[k][:, free]
        return value, np.concatenate([by_weights.ravel(), by_score[:, own].sum(axis=0), by_threshold[[k]]])

    start = np.concatenate(
        [parameters.weights[k][:, free].ravel(), parameters.intercepts[k], parameters.thresholds[[k]]]
    )
    best = minimize(bound, start, jac=True, method="CG", options={"maxiter": STEPS})
    found = at(best.x)
    negligible = found.squares()[k] < SMALLEST**2
    clamped = replace(found, weights=found.weights.copy())
    clamped.weights[k][:, negligible] = 0.0
    return clamped if objective.value(clamped) <= objective.value(found) else found
