"""All nodes at once: L-BFGS on the bound of Lemma 1, then the bound is moved to where it touches.

A round lowers an upper bound that touches the objective where the round begins, so the objective never rises.
Weights that fall below a small threshold are set to zero and leave the problem; columns that no node weighs any more
leave the matrix. When the rounds bring little, weights that left too soon are let in again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from thrifty.models.expected_cost.narrowed import Narrowed
from thrifty.models.expected_cost.objective import Objective, Parameters
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.stationarity import Stationarity

TEMPTING = 1e-4  # excess slope, as the residual counts it, above which a weight at zero is let in
SLOW = 1e-3  # relative progress of a round below which weights at zero are looked at again
QUIET = 1e-3  # relative progress, in units of the tolerance, below which a solution within the tolerance is good
STUCK = 1e-6  # relative progress below which further rounds are pointless
SNAPS = (0.1, 0.03, 0.01, 0.003, 0.001)  # sizes below which weights are tried at zero in the end, the largest first
STEPS, MORE_STEPS = 10, 30  # of L-BFGS in a round: few as long as the bound has far to move, more to settle

Watch = Callable[[Parameters, float], bool]


@dataclass
class Solution:
    """Where a solver ended: the parameters, the objective after each round, and how far from stationary it is."""

    parameters: Parameters
    history: list[float] = field(default_factory=list)
    residual: float = np.inf
    stopped: bool = False  # by whoever watched


def solve_jointly(
    objective: Objective,
    parameters: Parameters,
    *,
    max_iter: int = 100,
    tol: float = 1e-2,
    watch: Watch | None = None,
    free: np.ndarray | None = None,
) -> Solution:
    """Descend from `parameters` until the optimality residual is at most `tol`, or for `max_iter` rounds.

    `watch` is shown parameters and objective after each round and may stop the descent by returning True; `free`
    marks the nodes that may change.
    """
    free = np.ones(objective.topology.n_nodes, dtype=bool) if free is None else free
    solution = Solution(parameters, [objective.value(parameters)])
    narrow = Narrowed.not_at_all(objective)
    tempted, steps = np.zeros_like(parameters.weights), STEPS
    for _ in range(max_iter):
        value = _let_in(objective, solution, tempted)
        narrow = narrow.to(np.flatnonzero(solution.parameters.squares().any(axis=0)), objective)
        progress, tried = _advance(narrow, solution, value, free, steps), tempted.any()
        tempted = np.zeros_like(parameters.weights)
        if watch is not None and watch(solution.parameters, solution.history[-1]):
            solution.stopped = True
            break
        if progress < SLOW:
            state = Stationarity.of(objective, solution.parameters, free)
            tempted = state.tempted(TEMPTING)
            calm = progress < (max(QUIET * tol, STUCK) if state.residual <= tol else STUCK)
            if calm and (tried or not tempted.any()):
                if steps == MORE_STEPS:
                    break
                steps = MORE_STEPS
    if not solution.stopped:
        _snap(objective, solution, free)
    solution.residual = Stationarity.of(objective, solution.parameters, free).residual
    return solution


def _snap(objective: Objective, solution: Solution, free: np.ndarray) -> None:
    """Set small weights to zero that rounds would take long to get there, if the objective does not rise."""
    for size in SNAPS:
        kept = (solution.parameters.squares() >= size**2) | ~free[:, None]
        snapped = replace(solution.parameters, weights=solution.parameters.weights * kept[:, None, :])
        if not kept.all() and (value := objective.value(snapped)) <= solution.history[-1]:
            solution.parameters, solution.history[-1] = snapped, value
            return


def _advance(narrow: Narrowed, solution: Solution, value: float, free: np.ndarray, steps: int) -> float:
    """Do one round on the columns in use, from where the objective has this value; return the relative progress."""
    before, n_features = solution.history[-1], solution.parameters.weights.shape[2]
    descended, mass = _descend(narrow.objective, narrow.inside(solution.parameters), free, steps)
    for candidate in (_clamped(narrow.objective, descended, mass, free), descended):
        if (reached := narrow.objective.value(candidate)) <= value:
            solution.parameters, value = narrow.outside(candidate, n_features), reached
            break
    solution.history.append(value)
    return (before - value) / max(abs(before), np.finfo(float).tiny)


def _clamped(objective: Objective, parameters: Parameters, mass: np.ndarray, free: np.ndarray) -> Parameters:
    """Set weights that are all but zero to zero."""
    kept = ~objective.penalty.faint(parameters.squares(), mass) | ~free[:, None]
    return replace(parameters, weights=parameters.weights * kept[:, None, :])


def _let_in(objective: Objective, solution: Solution, steps: np.ndarray) -> float:
    """Let weights leave zero by these steps, or by smaller ones, if the objective does not rise; return its value."""
    while steps.any():
        candidate = replace(solution.parameters, weights=solution.parameters.weights + steps)
        if (value := objective.value(candidate)) <= solution.history[-1]:
            solution.parameters = candidate
            return value
        steps = np.where(np.abs(steps) > 4 * SMALLEST, steps / 4, 0.0)
    return solution.history[-1]


def _descend(
    objective: Objective, parameters: Parameters, free: np.ndarray, steps: int
) -> tuple[Parameters, np.ndarray]:
    """Lower the bound that touches the objective here, over the weights that are not zero; return the masses too."""
    soft = objective.traverse(parameters)
    held_at = objective.auxiliaries(parameters, soft.mass, SMALLEST)
    variables = _Variables(objective, parameters, free, objective.curvature(parameters.squares(), soft), soft.mass)
    lowest, mass = np.inf, soft.mass

    def bound(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal lowest, mass
        evaluation = objective.evaluate(variables.parameters(x), held_at)
        if evaluation.value < lowest:
            lowest, mass = evaluation.value, evaluation.mass
        return evaluation.value, variables.gathered(evaluation.weights, evaluation.intercepts, evaluation.thresholds)

    options = {"maxiter": steps, "ftol": 1e-9, "gtol": 1e-9}
    best = minimize(bound, variables.start, jac=True, method="L-BFGS-B", options=options)
    return variables.parameters(best.x), mass


class _Variables:
    """The free parameters as one vector, each in units in which the bound curves about equally.

    The curvature of a penalty grows beyond bounds as a weight goes to zero; unscaled, L-BFGS would crawl.
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
        self.unit = 1.0 / np.sqrt(
            np.concatenate([of_weights, np.repeat(of_loss[free], shape[1]), of_loss[self.routing]])
        )
        self.cuts = np.cumsum([of_weights.size, free.sum() * shape[1]])
        self.start = self.gathered(parameters.weights, parameters.intercepts, parameters.thresholds) / self.unit**2

    def gathered(self, weights: np.ndarray, intercepts: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Return derivatives by the parameters as derivatives by the variables."""
        parts = [weights[self.weighed], intercepts[self.free].ravel(), thresholds[self.routing]]
        return np.concatenate(parts) * self.unit

    def parameters(self, x: np.ndarray) -> Parameters:
        """Return the parameters at these variables."""
        by_weight, by_intercept, by_threshold = np.split(x * self.unit, self.cuts)
        weights, intercepts = self.base.weights.copy(), self.base.intercepts.copy()
        thresholds = self.base.thresholds.copy()
        weights[self.weighed] = by_weight
        intercepts[self.free] = by_intercept.reshape(-1, intercepts.shape[1])
        thresholds[self.routing] = by_threshold
        return Parameters(weights, intercepts, thresholds, self.base.directions)
