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

import numpy as np

from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import SMALLEST
from thrifty.models.expected_cost.tree_parameters import Parameters

LARGEST_STEP = 0.3
FEW, SHARE = 10, 0.1  # at most this many weights of a node, or this share, become nonzero at a time


@dataclass(frozen=True, eq=False)
class Stationarity:
    """The optimality residual and the quantities that it is computed from.

    Attributes
    ----------
    residual : float
    excess : ndarray of shape (K, d)
        |g| - s of the weights that are zero, in units of the slope scale; 0 for all others.
    slopes : ndarray of shape (K, m, d)
        Gradient with respect to the weights.
    stiffness : ndarray of shape (K,)
        Curvature of the loss with respect to a weight of each node, in units of the slope scale.
    """

    residual: float
    excess: np.ndarray
    slopes: np.ndarray
    stiffness: np.ndarray

    @classmethod
    def of(cls, objective: Objective, parameters: Parameters, free: np.ndarray | None = None) -> "Stationarity":
        """Measure the parameters of the nodes marked in `free`, by default all; the others are fixed."""
        free = np.ones(objective.topology.n_nodes, dtype=bool) if free is None else free
        evaluation = objective.evaluate(parameters)
        squares = parameters.squares()
        slope = np.linalg.norm(evaluation.weights, axis=1)
        stiffness = objective.loss_curvature * evaluation.mass
        excess = np.where(squares == 0, slope - objective.slope_at_zero(parameters, evaluation), 0.0)
        of_weights = np.where(squares == 0, excess, np.minimum(slope, stiffness[:, None] * np.sqrt(squares)))
        of_others = [np.abs(evaluation.intercepts[free]).max(), np.abs(evaluation.thresholds[free]).max()]
        largest = max(0.0, of_weights[free].max(initial=0.0), *of_others)
        excess[~free] = 0.0
        scale = objective.slope_scale
        return cls(float(largest / scale), excess / scale, evaluation.weights, stiffness / scale)

    def entering_steps(self, tol: float) -> np.ndarray:
        """Return a step (K, m, d) for the zero weights that should become nonzero, and zeros for all others.

        These are the weights whose excess is larger than `tol`. Only the first few of a node move at a time, because
        similar columns that all moved at once would together go too far.
        """
        rank = np.argsort(np.argsort(-self.excess, axis=1, kind="stable"), axis=1)
        chosen = (self.excess > tol) & (rank < max(FEW, SHARE * rank.shape[1]))
        length = np.where(chosen, self.excess / np.maximum(self.stiffness[:, None], SMALLEST), 0.0)
        length = np.clip(length, 0.0, LARGEST_STEP)
        norm = np.linalg.norm(self.slopes, axis=1)
        return -self.slopes * np.divide(length, norm, out=np.zeros_like(norm), where=chosen)[:, None, :]
