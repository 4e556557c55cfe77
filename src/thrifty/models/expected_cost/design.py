"""The design of a model: everything in which CSTC, CSCC, Cronus and AND-OR cascades differ.

The estimators of this family share one way to fit (`fitting`). Each of them describes its model by a `Design`.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from thrifty.arrays import like
from thrifty.costs import CostModel
from thrifty.models.expected_cost.hardening import FineTune, HardNode, harden
from thrifty.models.expected_cost.initial_parameters import initial_parameters
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import PathPenalty, Penalty
from thrifty.models.expected_cost.row_blocks import TrainingRows
from thrifty.models.expected_cost.standardised import CanonicalRows, Standardised
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Here, Home
from thrifty.models.least_squares.calibration import PriorSums, prior_sums
from thrifty.models.least_squares.node_rows import RowBlock

DEFAULT_SHARPNESS = {"squared": 20.0, "logistic": 5.0}  # log-odds have about four times the range of targets of +-1
TIED = 1e-9  # classes whose shares differ by less count as equally frequent


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """What is fitted: the shape of the model, its objective, and how rows and classes count.

    Attributes
    ----------
    topology : Topology
        The tree before its structure is chosen.
    cost_weight, l1_weight, sharpness : float
        As in `Objective`.
    logistic : bool
        As in `Objective`.
    penalty : type of Penalty, default=PathPenalty
        The relaxation of the expected cost.
    by_exit : bool, default=False
        As in `Objective`.
    rare_class_up : bool, default=False
        Whether the rarer of two classes goes to the upper child; otherwise high scores do.
    keep_ratio : float, default=0.5
        As in `Objective`.
    classes : ndarray or None
        The classes; None for regression.
    class_weight : dict, "balanced" or None
        Weights of the classes in the loss.
    """

    topology: Topology
    cost_weight: float
    l1_weight: float
    sharpness: float
    logistic: bool
    penalty: type[Penalty] = PathPenalty
    by_exit: bool = False
    rare_class_up: bool = False
    keep_ratio: float = 0.5
    classes: np.ndarray | None = None
    class_weight: Any = None

    @classmethod
    def of(cls, estimator: Any, topology: Topology, **differences: Any) -> Self:
        """Return the design of an estimator whose classes are known; `differences` are further fields."""
        sharpness = estimator.sharpness
        return cls(
            topology=topology,
            cost_weight=float(estimator.cost_weight),
            l1_weight=float(estimator.l1_weight),
            sharpness=DEFAULT_SHARPNESS[estimator.loss] if sharpness is None else float(sharpness),
            logistic=estimator.loss == "logistic",
            classes=getattr(estimator, "classes_", None),
            class_weight=estimator.class_weight,
            **differences,
        )

    def objective(self, data: Standardised, cost_model: CostModel) -> Objective:
        """Return the objective for training rows."""
        class_weights = self.class_weights(data.rows, data.weight)
        rows = data.rows.map(_training_rows, data.weight, class_weights)
        penalty = self.penalty(cost_model, data.scales.columns, self.topology)
        return Objective(
            rows=rows,
            topology=self.topology,
            penalty=penalty.placed(rows.block.X) if isinstance(rows, Here) else penalty,
            cost_weight=self.cost_weight,
            l1_weight=self.l1_weight,
            sharpness=self.sharpness,
            logistic=self.logistic,
            by_exit=self.by_exit,
            upper_sign=self.upper_sign(data),
            keep_ratio=self.keep_ratio,
            rounded=True,
        )

    def initial_parameters(self, objective: Objective) -> Parameters:
        """Return the parameters from which the solver starts."""
        return initial_parameters(objective)

    def harden(
        self, objective: Objective, parameters: Parameters, prices: np.ndarray, n_rows: float, fine_tune: FineTune
    ) -> list[HardNode]:
        """Return the nodes of the tree that predicts; see `hardening.harden`."""
        calibrate = self.classes is not None
        return harden(objective, parameters, prices, fine_tune=fine_tune, calibrate=calibrate, n_rows=n_rows)

    def upper_sign(self, data: Standardised) -> float:
        """Return 1 if rows with a high score go to the upper child, -1 if rows with a low score do."""
        if not self.rare_class_up:
            return 1.0
        targets, weight = data.rows.sum(_weighted_targets, data.weight)
        if len(targets) > 1:
            return 1.0
        return -1.0 if targets[0] > TIED * weight else 1.0

    def class_weights(self, rows: Home[RowBlock], total: float = 1.0) -> np.ndarray | None:
        """Return one weight per class in the loss, or None. "balanced" gives all classes the same total weight.

        The weights of the rows are divided by `total`.
        """
        if self.class_weight is None or self.classes is None:
            return None
        classes: Any = self.classes
        if isinstance(self.class_weight, str):
            return 1.0 / (len(classes) * rows.sum(_class_totals, len(classes), total))
        return compute_class_weight(self.class_weight, classes=classes, y=classes)

    def prior_sums(self, rows: Home[RowBlock]) -> Any:
        """Return the `PriorSums` of training rows, in which classes count by their weights."""
        return rows.sum(_class_weighted_sums, self.class_weights(rows))


def _training_rows(block: CanonicalRows, total: float, class_weights: np.ndarray | None) -> TrainingRows:
    """Return the rows of the objective, given the weight of all rows and the weights of the classes."""
    X, weight = block.X, block.count / total
    loss_weight = _loss_weight(block.targets, weight, class_weights)
    return TrainingRows(X, like(block.targets, X), like(weight, X), like(loss_weight, X), block.keys)


def _loss_weight(targets: np.ndarray, weight: np.ndarray, class_weights: np.ndarray | None) -> np.ndarray:
    """Return the weight of each row in the loss: its weight times that of its class."""
    return weight if class_weights is None else weight * class_weights[_codes(targets)]


def _codes(targets: np.ndarray) -> np.ndarray:
    """Return the position of the class of each row."""
    return (targets[:, 0] > 0).astype(int) if targets.shape[1] == 1 else targets.argmax(axis=1)


def _class_totals(block: RowBlock, n_classes: int, total: float) -> np.ndarray:
    return np.bincount(_codes(block.targets), block.count / total, n_classes)


def _weighted_targets(block: RowBlock, total: float) -> tuple[np.ndarray, float]:
    weight = block.count / total
    return weight @ block.targets, weight.sum()


def _class_weighted_sums(block: RowBlock, class_weights: np.ndarray | None) -> PriorSums:
    return prior_sums(replace(block, count=_loss_weight(block.targets, block.count, class_weights)))
