"""The joint solver: all nodes at once, by L-BFGS on the upper bound of Lemma 1.

A round fixes the auxiliary variables at the values at which the bound equals the objective, and then lowers the bound
over all weights that are not zero, all intercepts and all thresholds. So a round never increases the objective.
Weights that become negligible are set to zero and leave the problem. When the rounds make little progress, zero
weights whose slope exceeds the slope of the penalty enter it again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from thrifty.models.expected_cost.active_columns import ActiveColumns
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.stationarity import Stationarity
from thrifty.models.expected_cost.tree_parameters import Parameters

SMALLEST_EXCESS = 1e-4  # a zero weight enters if its excess, in units of the slope scale, is larger
SLOW = 1e-3  # zero weights are examined if the relative progress of a round is smaller
SETTLED = 1e-3  # a solution whose residual is at most tol is accepted if the progress is smaller than this times tol
STUCK = 1e-6  # the solver gives up if the progress is smaller
SMALL_WEIGHTS = (0.1, 0.03, 0.01, 0.003, 0.001)  # at the end, weights below one of these are tried at zero
STEPS, MORE_STEPS = 10, 30  # L-BFGS steps in a round: few while the auxiliary variables change much, more at the end

Callback = Callable[[Parameters, float], bool]  # called after a round with parameters and objective; True stops


@dataclass
class Solution:
    """Result of a solver.

    Attributes
    ----------
    parameters : Parameters
    history : list of float
        The objective at the start and after each round.
    residual : float
        The optimality residual at the end; see `stationarity`.
    stopped : bool
        Whether the callback stopped the solver.
    validation_scores : list of float
        The score on validation rows after each round, with early stopping.
    """

    parameters: Parameters
    history: list[float] = field(default_factory=list)
    residual: float = np.inf
    stopped: bool = False
    validation_scores: list[float] = field(default_factory=list)


def solve_jointly(
    objective: Objective,
    parameters: Parameters,
    *,
    max_iter: int = 100,
    tol: float = 1e-2,
    callback: Callback | None = None,
    free: np.ndarray | None = None,
) -> Solution:
    """Minimise the objective from a starting point.

    Parameters
    ----------
    objective : Objective
    parameters : Parameters
        The starting point; not modified.
    max_iter : int, default=100
        Maximum number of rounds.
    tol : float, default=1e-2
        The solver stops when the optimality residual is at most this and rounds make little progress.
    callback : callable, default=None
        Called with parameters and objective after each round. If it returns True, the solver stops.
    free : ndarray of bool, shape (K,), default=None
        The nodes whose parameters may change; by default all.

    Returns
    -------
    Solution
    """
    free = np.ones(objective.topology.n_nodes, dtype=bool) if free is None else free
    solution = Solution(parameters, [objective.value(parameters)])
    active = ActiveColumns.all_of(objective)
    entering, steps = np.zeros_like(parameters.weights), STEPS
    for _ in range(max_iter):
        value = _enter(objective, solution, entering)
        active = active.restricted(np.flatnonzero(solution.parameters.squares().any(axis=0)), objective)
        progress, some_entered = _advance(active, solution, value, free, steps), entering.any()
        entering = np.zeros_like(parameters.weights)
        if callback is not None and callback(solution.parameters, solution.history[-1]):
            solution.stopped = True
            break
        if progress < SLOW:
            state = Stationarity.of(objective, solution.parameters, free)
            entering = state.entering_steps(SMALLEST_EXCESS)
            settled = progress < (max(SETTLED * tol, STUCK) if state.residual <= tol else STUCK)
            if settled and (some_entered or not entering.any()):
                if steps == MORE_STEPS:
                    break
                steps = MORE_STEPS
    if not solution.stopped:
        _drop_small_weights(objective, solution, free)
    solution.residual = Stationarity.of(objective, solution.parameters, free).residual
    return solution


def _enter(objective: Objective, solution: Solution, steps: np.ndarray) -> float:
    """Move zero weights by these steps, or by smaller ones, if the objective does not rise; return its value."""
    while steps.any():
        candidate = replace(solution.parameters, weights=solution.parameters.weights + steps)
        if (value := objective.value(candidate)) <= solution.history[-1]:
            solution.parameters = candidate
            return value
        steps = np.where(np.abs(steps) > 4 * SMALLEST, steps / 4, 0.0)
    return solution.history[-1]


def _advance(active: ActiveColumns, solution: Solution, value: float, free: np.ndarray, steps: int) -> float:
    """Do one round on the active columns; return the relative progress. `value` is the objective at the moment."""
    before, n_columns = solution.history[-1], solution.parameters.weights.shape[2]
    lowered, mass = _minimise_bound(active.objective, active.select(solution.parameters), free, steps)
    for candidate in (_without_negligible(active.objective, lowered, mass, free), lowered):
        if (reached := active.objective.value(candidate)) <= value:
            solution.parameters, value = active.expand(candidate, n_columns), reached
            break
    solution.history.append(value)
    return (before - value) / max(abs(before), np.finfo(float).tiny)


def _without_negligible(objective: Objective, parameters: Parameters, mass: np.ndarray, free: np.ndarray) -> Parameters:
    """Return parameters in which negligible weights are zero."""
    kept = ~objective.penalty.negligible(parameters.squares(), mass) | ~free[:, None]
    return replace(parameters, weights=parameters.weights * kept[:, None, :])


def _drop_small_weights(objective: Objective, solution: Solution, free: np.ndarray) -> None:
    """Set as many small weights as possible to zero without raising the objective; rounds would do this slowly."""
    for size in SMALL_WEIGHTS:
        kept = (solution.parameters.squares() >= size**2) | ~free[:, None]
        dropped = replace(solution.parameters, weights=solution.parameters.weights * kept[:, None, :])
        if not kept.all() and (value := objective.value(dropped)) <= solution.history[-1]:
            solution.parameters, solution.history[-1] = dropped, value
            return


def _minimise_bound(
    objective: Objective, parameters: Parameters, free: np.ndarray, steps: int
) -> tuple[Parameters, np.ndarray]:
    """Minimise the bound that is exact here, over the nonzero weights; return parameters and masses there."""
    soft = objective.traverse(parameters)
    auxiliaries = objective.auxiliaries(parameters, soft.mass, SMALLEST)
    variables = _Variables(objective, parameters, free, objective.curvature(parameters.squares(), soft), soft.mass)
    lowest, mass = np.inf, soft.mass

    def bound(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal lowest, mass
        evaluation = objective.evaluate(variables.parameters(x), auxiliaries)
        if evaluation.value < lowest:
            lowest, mass = evaluation.value, evaluation.mass
        return evaluation.value, variables.gradient(evaluation.weights, evaluation.intercepts, evaluation.thresholds)

    options = {"maxiter": steps, "ftol": 1e-9, "gtol": 1e-9}
    best = minimize(bound, variables.start, jac=True, method="L-BFGS-B", options=options)
    return variables.parameters(best.x), mass


class _Variables:
    """The free parameters as one vector, scaled so that the bound has about the same curvature in each of them.

    The curvature of a penalty goes to infinity as a weight goes to zero. Without scaling, L-BFGS would be slow.
    """

    def __init__(
        self, objective: Objective, parameters: Parameters, free: np.ndarray, curvature: np.ndarray, mass: np.ndarray
    ):
        self.base = parameters
        shape = parameters.weights.shape
        weighed = (parameters.squares() > 0) & free[:, None]
        self.weighed = np.broadcast_to(weighed[:, None, :], shape)
        self.free, self.routing = free, free & objective.topology.inner
        of_loss = objective.loss_curvature * np.maximum(mass, SMALLEST)
        of_weights = np.broadcast_to((of_loss[:, None] + curvature)[:, None, :], shape)[self.weighed]
        self.scale = 1.0 / np.sqrt(
            np.concatenate([of_weights, np.repeat(of_loss[free], shape[1]), of_loss[self.routing]])
        )
        self.cuts = np.cumsum([of_weights.size, free.sum() * shape[1]])
        self.start = self.gradient(parameters.weights, parameters.intercepts, parameters.thresholds) / self.scale**2

    def gradient(self, weights: np.ndarray, intercepts: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return the derivatives with respect to the variables, given those with respect to the parameters."""
        parts = [weights[self.weighed], intercepts[self.free].ravel(), thresholds[self.routing]]
        return np.concatenate(parts) * self.scale

    def parameters(self, x: np.ndarray) -> Parameters:
        """Return the parameters that the variables `x` stand for."""
        free_weights, free_intercepts, free_thresholds = np.split(x * self.scale, self.cuts)
        weights, intercepts = self.base.weights.copy(), self.base.intercepts.copy()
        thresholds = self.base.thresholds.copy()
        weights[self.weighed] = free_weights
        intercepts[self.free] = free_intercepts.reshape(-1, intercepts.shape[1])
        thresholds[self.routing] = free_thresholds
        return Parameters(weights, intercepts, thresholds, self.base.directions)
