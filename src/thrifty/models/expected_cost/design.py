"""The design of a model: everything in which CSTC, CSCC, Cronus and AND-OR cascades differ.

The estimators of this family share one way to fit (`fitting`). Each of them describes its model by a `Design`.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from thrifty.arrays import like
from thrifty.costs import CostModel
from thrifty.models.expected_cost.hardening import FineTune, HardNode, harden
from thrifty.models.expected_cost.initial_parameters import initial_parameters
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import PathPenalty, Penalty
from thrifty.models.expected_cost.standardised import Standardised
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters

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
        weight = data.count / data.count.sum()
        return Objective(
            X=data.X,
            targets=like(data.targets, data.X),
            weight=like(weight, data.X),
            loss_weight=like(self.loss_weight(data.targets, weight), data.X),
            topology=self.topology,
            penalty=self.penalty(cost_model, data.scales.columns, self.topology).placed(data.X),
            cost_weight=self.cost_weight,
            l1_weight=self.l1_weight,
            sharpness=self.sharpness,
            logistic=self.logistic,
            by_exit=self.by_exit,
            upper_sign=self.upper_sign(data.targets, weight),
            keep_ratio=self.keep_ratio,
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

    def upper_sign(self, targets: np.ndarray, weight: np.ndarray) -> float:
        """Return 1 if rows with a high score go to the upper child, -1 if rows with a low score do."""
        if not self.rare_class_up or targets.shape[1] > 1:
            return 1.0
        return -1.0 if weight @ targets[:, 0] > TIED * weight.sum() else 1.0

    def loss_weight(self, targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the weight of each row in the loss: its weight times that of its class."""
        if self.class_weight is None or self.classes is None:
            return weight
        codes = (targets[:, 0] > 0).astype(int) if targets.shape[1] == 1 else targets.argmax(axis=1)
        return weight * self._class_weights(codes, weight)[codes]

    def _class_weights(self, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return one weight per class. "balanced" gives all classes the same total weight, 1 / n_classes."""
        classes: Any = self.classes
        if isinstance(self.class_weight, str):
            return 1.0 / (len(classes) * np.bincount(codes, weight))
        return compute_class_weight(self.class_weight, classes=classes, y=classes[codes])
