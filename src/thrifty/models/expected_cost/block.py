"""One node at a time, as Algorithm 1 of Xu et al. (2014) does it.

In level order each node's parameters are fitted with all others fixed: a leaf in closed form (eq. 16), an inner node,
whose scores also decide who gets where below it, by conjugate gradients. Between two fits of a node the auxiliaries
of Lemma 1 move to where the bound touches. The joint solver is faster; this one is the paper's.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from thrifty.models.expected_cost.joint import STUCK, Solution, Watch
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Objective, Parameters, product
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.stationarity import Stationarity

TURNS = 10  # of fitting a node and moving its auxiliaries
STEPS = 30  # of conjugate gradients in a turn


def solve_by_blocks(
    objective: Objective,
    parameters: Parameters,
    *,
    max_iter: int = 100,
    tol: float = 1e-2,
    watch: Watch | None = None,
) -> Solution:
    """Descend from `parameters` until a sweep over all nodes brings nothing, or for `max_iter` sweeps."""
    solution = Solution(parameters, [objective.value(parameters)])
    everywhere = np.ones(objective.topology.n_nodes, dtype=bool)
    for _ in range(max_iter):
        before = solution.history[-1]
        for k in np.argsort(objective.topology.depth, kind="stable"):
            _fit_node(objective, solution, int(k))
        solution.history.append(objective.value(solution.parameters))
        if watch is not None and watch(solution.parameters, solution.history[-1]):
            solution.stopped = True
            break
        if before - solution.history[-1] <= STUCK * abs(before):
            break
    solution.residual = Stationarity.of(objective, solution.parameters, everywhere).residual
    return solution


def _fit_node(objective: Objective, solution: Solution, k: int) -> None:
    """Fit one node in turns, as long as the objective falls."""
    value = objective.value(solution.parameters)
    fit = _fit_inner if objective.topology.inner[k] or objective.logistic else _fit_leaf
    for _ in range(TURNS):
        candidate = fit(objective, solution.parameters, k)
        reached = objective.value(candidate)
        if not reached < value:
            return
        solution.parameters, progress, value = candidate, value - reached, reached
        if progress <= STUCK * abs(value):
            return


def _fit_leaf(objective: Objective, parameters: Parameters, k: int) -> Parameters:
    return fit_leaves(objective, parameters, np.array([k]), from_here=True)


def _fit_inner(objective: Objective, parameters: Parameters, k: int) -> Parameters:
    """Minimise the bound over one node's weights that are not zero, intercepts and threshold."""
    scores = objective.scores(parameters)
    held_at = objective.auxiliaries(parameters, objective.traverse(parameters, scores).mass, SMALLEST)
    free = parameters.squares()[k] > 0
    n_scores, n_free = parameters.intercepts.shape[1], int(free.sum())
    columns, own = objective.X[:, free], slice(k * n_scores, (k + 1) * n_scores)
    cuts = np.cumsum([n_scores * n_free, n_scores])

    def at(x: np.ndarray) -> Parameters:
        weights, intercepts, threshold = np.split(x, cuts)
        moved = parameters.of(np.array([k]))
        moved.weights[0][:, free] = weights.reshape(n_scores, n_free)
        moved.intercepts[0], moved.thresholds[0] = intercepts, threshold[0]
        return parameters.with_nodes(np.array([k]), moved)

    def bound(x: np.ndarray) -> tuple[float, np.ndarray]:
        there = at(x)
        scores[:, own] = product(columns, there.weights[k][:, free].T) + there.intercepts[k]
        soft = objective.traverse(there, scores)
        value, residual, by_threshold, curvature = objective.appraise(there, soft, held_at)
        by_weights = product(residual[:, own].T, columns) + curvature[k, free] * there.weights[k][:, free]
        return value, np.concatenate([by_weights.ravel(), residual[:, own].sum(axis=0), by_threshold[[k]]])

    start = np.concatenate(
        [parameters.weights[k][:, free].ravel(), parameters.intercepts[k], parameters.thresholds[[k]]]
    )
    best = minimize(bound, start, jac=True, method="CG", options={"maxiter": STEPS})
    found = at(best.x)
    small = found.squares()[k] < SMALLEST**2
    clamped = replace(found, weights=found.weights.copy())
    clamped.weights[k][:, small] = 0.0
    return clamped if objective.value(clamped) <= objective.value(found) else found
