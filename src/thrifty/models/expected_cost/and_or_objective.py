"""The objective of AND-OR cascades.

M. Dundar, J. Bi. Joint Optimization of Cascaded Classifiers for Computer Aided Detection. CVPR 2007; as in section 6.3
of Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle, JMLR 15, 2014.

Every stage has to accept a row of the rare class, so its largest loss over the stages counts (AND). One stage is enough
to reject a row of the other class, so its smallest loss counts (OR). With l[i, k] the loss of row i at stage k:

    sum over rare rows i of  loss_weight[i] * max over k of l[i, k]
    + sum over other rows i of  loss_weight[i] * min over k of l[i, k]
    + l1_weight * sum of |weights|  +  cost_weight * PathPenalty

All rows take the same path through all stages. So each unit is paid once for the cascade, by the norm of all weights
that require it.

Maximum and minimum have kinks where losses tie. The solver sees a smooth maximum instead, t * log(sum of exp(l / t))
with the temperature t, and minus that of -l as the minimum. They differ from the exact ones by at most
t * log(n_stages). A round of the solver is accepted only if the exact objective does not rise.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.special import expit

from thrifty.models.expected_cost.and_or_traversal import traverse_stages
from thrifty.models.expected_cost.objective import Evaluation, Objective
from thrifty.models.expected_cost.traversal import SoftRows, SoftTree, scores_at_nodes
from thrifty.models.expected_cost.tree_parameters import Parameters

TEMPERATURE = 0.01


@dataclass(frozen=True, eq=False, kw_only=True)
class AndOrObjective(Objective):
    """The objective of an AND-OR cascade. `value` is exact, `evaluate` is the smooth version that the solver sees.

    Attributes
    ----------
    allowed : ndarray of bool, shape (K, d)
        The columns that each stage may weigh. It covers all columns even if X is restricted to active ones, because
        the solver asks for `slope_at_zero` only with all columns.
    temperature : float
        Temperature of the smooth maximum; 0 for the exact one.
    """

    allowed: np.ndarray
    temperature: float = TEMPERATURE

    @classmethod
    def of(cls, objective: Objective, allowed: np.ndarray) -> "AndOrObjective":
        """Return the AND-OR objective of the same rows."""
        return cls(**_plain_fields(objective), allowed=allowed)

    def plain(self) -> Objective:
        """Return the objective of a tree without AND and OR, for the same rows."""
        return Objective(**_plain_fields(self))

    @property
    def rare(self) -> np.ndarray:
        """Mark the rows of the rare class, which every stage has to accept: (n,) bool."""
        return self.upper_sign * self.targets[:, 0] > 0

    def value(self, parameters: Parameters) -> float:
        """Return the exact objective."""
        return Objective.value(replace(self, temperature=0.0), parameters)

    @property
    def tree(self) -> "StageTree":
        """What is done to each block of rows."""
        fields = (self.topology, self.sharpness, self.logistic, self.by_exit)
        return StageTree(*fields, upper_sign=self.upper_sign, temperature=self.temperature)

    def slope_at_zero(self, parameters: Parameters, evaluation: Evaluation) -> np.ndarray:
        """Return the derivative (K, d) of the penalties at zero weights; infinity for columns that are not allowed."""
        return np.where(self.allowed, super().slope_at_zero(parameters, evaluation), np.inf)


@dataclass(frozen=True, eq=False, kw_only=True)
class StageTree(SoftTree):
    """What happens to a block of rows in training: they go through all stages, and derivatives come up.

    Attributes
    ----------
    upper_sign : float
        As in `Objective`.
    temperature : float
        As in `AndOrObjective`.
    """

    upper_sign: float
    temperature: float

    def descend(self, rows: Any, parameters: Parameters, scores: Any = None) -> SoftRows:
        """Send rows through all stages."""
        return traverse_stages(parameters, scores_at_nodes(rows.X, parameters) if scores is None else scores)

    def ascend(
        self, rows: Any, soft: SoftRows, parameters: Parameters, node_price: np.ndarray, exit_price: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss and its derivatives with respect to scores and thresholds; those of thresholds are 0."""
        losses, slopes = stage_losses(soft.scores, rows.targets, self.logistic)
        is_rare = self.upper_sign * rows.targets[:, 0] > 0
        sign = np.where(is_rare, 1.0, -1.0)  # the minimum is minus the maximum of the negative losses
        largest, share = smooth_maximum(sign[:, None] * losses, self.temperature)
        by_score = rows.loss_weight[:, None] * share * slopes
        return float(rows.loss_weight @ (sign * largest)), by_score, np.zeros(losses.shape[1])


def stage_losses(scores: np.ndarray, targets: np.ndarray, logistic: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss (n, K) of each score and its derivative, for targets (n, 1) of +-1."""
    if logistic:
        margins = targets * scores
        return np.logaddexp(0.0, -margins), -targets * expit(-margins)
    return (scores - targets) ** 2, 2.0 * (scores - targets)


def smooth_maximum(values: np.ndarray, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Return temperature * log(sum of exp(values / temperature)) of each row, and its derivatives (n, K).

    A temperature of 0 gives the exact maximum.
    """
    largest = values.max(axis=1)
    if temperature == 0.0:
        return largest, np.eye(values.shape[1])[values.argmax(axis=1)]
    powers = np.exp((values - largest[:, None]) / temperature)
    total = powers.sum(axis=1)
    return largest + temperature * np.log(total), powers / total[:, None]


def _plain_fields(objective: Objective) -> dict[str, Any]:
    """Return the fields of `Objective`."""
    return {field.name: getattr(objective, field.name) for field in fields(Objective)}
