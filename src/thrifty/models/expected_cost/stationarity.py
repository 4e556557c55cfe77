"""How far parameters are from a stationary point of the objective, and which zero weights should become nonzero.

Notation: w is the vector of the m weights of a node for a column, g the gradient with respect to w, and c the
curvature of the loss with respect to a weight of the node. The objective has a kink at w = 0 with the one-sided slope
s (`Objective.slope_at_zero`). The residual of w is

    w = 0:        max(|g| - s, 0), where g is the gradient of the loss; |g| - s is the excess of w
    otherwise:    min(|g|, c * |w|), where g is the gradient of the objective and |w| the step that would make w zero

The residual of the parameters is the largest one of all weights, intercepts and thresholds, divided by
`Objective.slope_scale`.
"""

from dataclasses import dataclass
from typing import Any

from thrifty.arrays import largest_size, namespace_of, number, stable_order
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import SMALLEST, quotients
from thrifty.models.expected_cost.tree_parameters import Parameters

LARGEST_STEP = 0.3
FEW, SHARE = 10, 0.1  # at most this many weights of a node, or this share, become nonzero at a time


@dataclass(frozen=True, eq=False)
class Stationarity:
    """The optimality residual and the quantities that it is computed from.

    Attributes
    ----------
    residual : float
    excess : array of shape (K, d)
        |g| - s of the weights that are zero, in units of the slope scale; 0 for all others.
    slopes : array of shape (K, m, d)
        Gradient with respect to the weights.
    stiffness : array of shape (K,)
        Curvature of the loss with respect to a weight of each node, in units of the slope scale.
    """

    residual: float
    excess: Any
    slopes: Any
    stiffness: Any

    @classmethod
    def of(cls, objective: Objective, parameters: Parameters, free: Any = None) -> "Stationarity":
        """Measure the parameters of the nodes marked in `free`, by default all; the others are fixed."""
        evaluation, squares = objective.evaluate(parameters), parameters.squares()
        xp = namespace_of(squares)
        free = xp.zeros_like(parameters.thresholds) == 0 if free is None else free
        slope = xp.sqrt(xp.sum(evaluation.weights * evaluation.weights, axis=1))
        stiffness = objective.loss_curvature * evaluation.mass
        unused = squares == 0
        zeros = xp.zeros_like(slope)
        above = xp.where(unused, slope - objective.slope_at_zero(parameters, evaluation), zeros)
        excess = xp.where(free[:, None], above, zeros)
        of_used = xp.minimum(slope, stiffness[:, None] * xp.sqrt(squares))
        residuals = (
            xp.where(unused, xp.clip(excess, 0.0, None), xp.where(free[:, None], of_used, zeros)),
            xp.where(free[:, None], evaluation.intercepts, xp.zeros_like(evaluation.intercepts)),
            xp.where(free, evaluation.thresholds, xp.zeros_like(evaluation.thresholds)),
        )
        largest = max(map(largest_size, residuals))
        scale = objective.slope_scale
        return cls(largest / scale, excess / scale, evaluation.weights, stiffness / scale)

    def entering_steps(self, tol: float) -> Any:
        """Return a step (K, m, d) for the zero weights that should become nonzero, and zeros for all others.

        These are the weights whose excess is larger than `tol`. Only the first few of a node move at a time, because
        similar columns that all moved at once would together go too far. None if there are no such weights.
        """
        xp = namespace_of(self.excess)
        rank = stable_order(stable_order(-self.excess, axis=1), axis=1)
        chosen = (self.excess > tol) & (rank < max(FEW, SHARE * rank.shape[1]))
        if not number(xp.any(chosen)):
            return None
        length = self.excess / xp.clip(self.stiffness[:, None], SMALLEST, None)
        length = xp.where(chosen, xp.clip(length, 0.0, LARGEST_STEP), xp.zeros_like(length))
        norm = xp.sqrt(xp.sum(self.slopes * self.slopes, axis=1))
        return -self.slopes * quotients(length, norm)[:, None, :]
