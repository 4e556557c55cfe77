"""What cascades add to the machinery of expected cost: stages instead of levels, exits that carry the loss, classes
that count unequally.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from thrifty.models.expected_cost.estimator import ExpectedCostEstimator
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.parameters import is_number
from thrifty.models.tasks import BudgetedClassifier

TIED = 1e-9  # classes whose shares differ by less are equally rare, and the second counts as the rarer


class CascadeClassifier(ExpectedCostEstimator, BudgetedClassifier):
    """A chain of classifiers, each of which lets the rows that it is sure of leave (eq. 19).

    A row leaves a stage that finds it unlikely to be of the rare class; the others go on to the next.
    """

    _by_exit = True

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        n_stages: int = 5,
        class_weight: Any = None,
        loss: str = "squared",
        l1_weight: float = 1e-5,
        sharpness: float | None = None,
        solver: str = "joint",
        fine_tune: str | None = "support",
        feature_map: Any = None,
        scoring: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        max_iter: int = 100,
        tol: float = 0.05,
        verbose: bool = False,
        random_state: Any = None,
    ):
        self.costs = costs
        self.cost_weight = cost_weight
        self.n_stages = n_stages
        self.class_weight = class_weight
        self.loss = loss
        self.l1_weight = l1_weight
        self.sharpness = sharpness
        self.solver = solver
        self.fine_tune = fine_tune
        self.feature_map = feature_map
        self.scoring = scoring
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _shape(self) -> Topology:
        return Topology.cascade(self.n_stages)

    def _facing(self, targets: np.ndarray, weight: np.ndarray) -> float:
        rare_is_low = targets.shape[1] == 1 and weight @ targets[:, 0] > TIED * weight.sum()
        return -1.0 if rare_is_low else 1.0

    def _loss_weight(self, targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
        codes = (targets[:, 0] > 0).astype(int) if targets.shape[1] == 1 else targets.argmax(axis=1)
        return weight * self._class_weights(codes, weight)[codes]

    def _class_weights(self, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return one weight per class; "balanced" lets all classes count the same, whatever the rows weigh."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            return 1.0 / (len(self.classes_) * np.bincount(codes, weight))
        return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])

    def _refuse_bad_parameters(self) -> None:
        super()._refuse_bad_parameters()
        given = self.class_weight
        fine = given is None or (isinstance(given, str) and given == "balanced")
        if isinstance(given, Mapping):
            fine = all(is_number(weight) and weight > 0 for weight in given.values())
        self._refuse_unless(fine, "class_weight", given, "None, 'balanced' or a dict of numbers above 0")

    def _whole_numbers(self) -> tuple[str, ...]:
        return (*super()._whole_numbers(), "n_stages")
