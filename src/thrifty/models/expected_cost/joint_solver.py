"""The joint solver: all nodes at once, by L-BFGS on the upper bound of Lemma 1.

A round fixes the auxiliary variables at the values at which the bound equals the objective, and then lowers the bound
over all weights that are not zero, all intercepts and all thresholds. So a round never increases the objective.
Weights that become negligible are set to zero and leave the problem. When the rounds make little progress, zero
weights whose slope exceeds the slope of the penalty enter it again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from thrifty.arrays import Selection, concatenated, is_device_array, like, namespace_of, number
from thrifty.models.expected_cost.active_columns import ActiveColumns
from thrifty.models.expected_cost.minimisers import lowest_point
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
    xp, free = namespace_of(parameters.weights), like(free, parameters.weights)
    solution = Solution(parameters, [objective.value(parameters)])
    active = ActiveColumns.all_of(objective)
    entering, steps = None, STEPS
    for _ in range(max_iter):
        value = _enter(objective, solution, entering)
        active = active.restricted(xp.any(solution.parameters.squares() > 0, axis=0), objective)
        progress, some_entered = _advance(active, solution, value, free, steps), entering is not None
        entering = None
        if callback is not None and callback(solution.parameters, solution.history[-1]):
            solution.stopped = True
            break
        if progress < SLOW:
            state = Stationarity.of(objective, solution.parameters, free)
            entering = state.entering_steps(SMALLEST_EXCESS)
            settled = progress < (_small_progress(objective, tol) if state.residual <= tol else STUCK)
            if settled and (some_entered or entering is None):
                if steps == MORE_STEPS:
                    break
                steps = MORE_STEPS
    if not solution.stopped:
        _drop_small_weights(objective, solution, free)
    solution.residual = Stationarity.of(objective, solution.parameters, free).residual
    return solution


def _small_progress(objective: Objective, tol: float) -> float:
    """Return the progress of a round below which a solution whose residual is at most `tol` is accepted.

    L-BFGS magnifies differences of rounding, so that a fit on a device takes another path than one in NumPy. Rounds
    take little time there. So it goes on for longer, and does not end at a higher objective.
    """
    return STUCK if is_device_array(objective.place) else max(SETTLED * tol, STUCK)


def _enter(objective: Objective, solution: Solution, steps: Any) -> float:
    """Move zero weights by these steps, or by smaller ones, if the objective does not rise; return its value."""
    while steps is not None:
        candidate = replace(solution.parameters, weights=solution.parameters.weights + steps)
        if (value := objective.value(candidate)) <= solution.history[-1]:
            solution.parameters = candidate
            return value
        xp = namespace_of(steps)
        steps = xp.where(xp.abs(steps) > 4 * SMALLEST, steps / 4, xp.zeros_like(steps))
        steps = steps if number(xp.any(steps != 0)) else None
    return solution.history[-1]


def _advance(active: ActiveColumns, solution: Solution, value: float, free: Any, steps: int) -> float:
    """Do one round on the active columns; return the relative progress. `value` is the objective at the moment."""
    before = solution.history[-1]
    lowered, mass = _minimise_bound(active.objective, active.select(solution.parameters), free, steps)
    for candidate in (_without_negligible(active.objective, lowered, mass, free), lowered):
        if (reached := active.objective.value(candidate)) <= value:
            solution.parameters, value = active.expand(candidate), reached
            break
    solution.history.append(value)
    return (before - value) / max(abs(before), np.finfo(float).tiny)


def _without_negligible(objective: Objective, parameters: Parameters, mass: Any, free: Any) -> Parameters:
    """Return parameters in which negligible weights are zero."""
    kept = ~objective.penalty.negligible(parameters.squares(), mass) | ~free[:, None]
    return parameters.keeping(kept)


def _drop_small_weights(objective: Objective, solution: Solution, free: Any) -> None:
    """Set as many small weights as possible to zero without raising the objective; rounds would do this slowly."""
    xp = namespace_of(free)
    for size in SMALL_WEIGHTS:
        kept = (solution.parameters.squares() >= size**2) | ~free[:, None]
        dropped = solution.parameters.keeping(kept)
        if not number(xp.all(kept)) and (value := objective.value(dropped)) <= solution.history[-1]:
            solution.parameters, solution.history[-1] = dropped, value
            return


def _minimise_bound(objective: Objective, parameters: Parameters, free: Any, steps: int) -> tuple[Parameters, Any]:
    """Minimise the bound that is exact here, over the nonzero weights; return parameters and masses there."""
    masses = objective.masses(parameters)
    auxiliaries = objective.auxiliaries(parameters, masses.mass, SMALLEST)
    curvature = objective.curvature(parameters.squares(), masses)
    variables = _Variables(objective, parameters, free, curvature, masses.mass)
    lowest, mass = np.inf, masses.mass

    def bound(x: Any) -> tuple[float, Any]:
        nonlocal lowest, mass
        evaluation = objective.evaluate(variables.parameters(x), auxiliaries)
        if (value := number(evaluation.value)) < lowest:
            lowest, mass = value, evaluation.mass
        return value, variables.gradient(evaluation.weights, evaluation.intercepts, evaluation.thresholds)

    return variables.parameters(lowest_point(bound, variables.start, steps)), mass


class _Variables:
    """The free parameters as one vector, scaled so that the bound has about the same curvature in each of them.

    The curvature of a penalty goes to infinity as a weight goes to zero. Without scaling, L-BFGS would be slow.
    """

    def __init__(self, objective: Objective, parameters: Parameters, free: Any, curvature: Any, mass: Any):
        xp, (K, m, d) = namespace_of(parameters.weights), parameters.weights.shape
        self._base = parameters
        weighed = (parameters.squares() > 0) & free[:, None]
        routing = free & objective.topology.inner_like(free)
        self._kinds = [
            Selection(xp.broadcast_to(weighed[:, None, :], (K, m, d))),
            Selection(xp.broadcast_to(free[:, None], (K, m))),
            Selection(routing),
        ]
        self._cuts = np.cumsum([0, *(kind.size for kind in self._kinds)]).tolist()
        of_loss = objective.loss_curvature * xp.clip(mass, SMALLEST, None)
        curvatures = ((of_loss[:, None] + curvature)[:, None, :], of_loss[:, None], of_loss)
        self._scale = 1.0 / xp.sqrt(self._vector(curvatures))
        self.start = self._vector((parameters.weights, parameters.intercepts, parameters.thresholds)) / self._scale

    def gradient(self, weights: Any, intercepts: Any, thresholds: Any) -> Any:
        """Return the derivatives with respect to the variables, given those with respect to the parameters."""
        return self._vector((weights, intercepts, thresholds)) * self._scale

    def parameters(self, x: Any) -> Parameters:
        """Return the parameters that the variables `x` stand for."""
        values, base, cuts = x * self._scale, self._base, self._cuts
        before = (base.weights, base.intercepts, base.thresholds)
        parts = [values[first:last] for first, last in pairwise(cuts)]
        weights, intercepts, thresholds = (
            kind.put(part, old) for kind, part, old in zip(self._kinds, parts, before, strict=True)
        )
        return Parameters(weights, intercepts, thresholds, base.directions)

    def _vector(self, values: Sequence[Any]) -> Any:
        """Return the entries that are variables, given arrays of the kinds of parameters."""
        parts = [kind.of(each) for kind, each in zip(self._kinds, values, strict=True)]
        return concatenated(namespace_of(parts[0]), parts)
