"""How far parameters are from a stationary point of the objective, and which weights at zero should leave it.

A weight at zero stays there while the slope of the loss is no steeper than what the first bit of it would cost: the
prices of the units that nothing on its ways uses yet. What exceeds that is its share in the residual. A weight that
is not zero counts with the slope of the objective or, if that is less, with the step that would bring it to zero.
Everything is in units of the steepest slope that a perfectly correlated column could have.
"""

from dataclasses import dataclass

import numpy as np

from thrifty.models.expected_cost.objective import Objective, Parameters
from thrifty.models.expected_cost.penalties import SMALLEST

LARGEST_STEP = 0.3
FEW, SHARE = 10, 0.1  # weights of a node that leave zero at a time: this many, or this share of all


@dataclass(frozen=True, eq=False)
class Stationarity:
    """The optimality residual and what it is made of."""

    residual: float
    excess: np.ndarray  # (K, d) of the weights at zero
    slopes: np.ndarray  # (K, m, d)
    stiffness: np.ndarray  # (K,) curvature of the loss by a weight of each node, in the same units

    @classmethod
    def of(cls, objective: Objective, parameters: Parameters, free: np.ndarray) -> "Stationarity":
        """Measure the parameters of the nodes that are free to change."""
        evaluation = objective.evaluate(parameters)
        squares = parameters.squares()
        slope = np.linalg.norm(evaluation.weights, axis=1)
        stiffness = objective.loss_curvature * evaluation.mass
        excess = np.where(squares == 0, slope - objective.first_price(parameters, evaluation), 0.0)
        off = np.where(squares == 0, excess, np.minimum(slope, stiffness[:, None] * np.sqrt(squares)))
        rest = [np.abs(evaluation.intercepts[free]).max(), np.abs(evaluation.thresholds[free]).max()]
        worst = max(0.0, off[free].max(initial=0.0), *rest)
        excess[~free] = 0.0
        steepest = objective.steepest
        return cls(float(worst / steepest), excess / steepest, evaluation.weights, stiffness / steepest)

    def tempted(self, tol: float) -> np.ndarray:
        """Return a first step for weights at zero whose excess is above `tol`: (K, m, d), mostly zeros.

        Of columns that tell the same all would be tempted at once and overshoot together, so each node moves a few.
        """
        rank = np.argsort(np.argsort(-self.excess, axis=1, kind="stable"), axis=1)
        chosen = (self.excess > tol) & (rank < max(FEW, SHARE * rank.shape[1]))
        length = np.where(chosen, self.excess / np.maximum(self.stiffness[:, None], SMALLEST), 0.0)
        length = np.clip(length, 0.0, LARGEST_STEP)
        norm = np.linalg.norm(self.slopes, axis=1)
        return -self.slopes * np.divide(length, norm, out=np.zeros_like(norm), where=chosen)[:, None, :]
