"""Base of CSCC and Cronus: cascades in which every stage lets some rows leave."""

from typing import Any

from thrifty.costs import CostModel
from thrifty.models.expected_cost.design import Design
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.two_classes import TwoClassCascade


class CascadeClassifier(TwoClassCascade):
    """A chain of classifiers (eq. 19).

    A row that a stage finds unlikely to belong to the rare class leaves there, with the prediction of the stage. All
    other rows continue to the next stage. The loss of a stage counts for the rows that leave there.
    """

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
        fine_tune: str | None = "auto",
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

    def _n_nodes(self) -> int:
        return int(self.n_stages)

    def _design(self, cost_model: CostModel) -> Design:
        return Design.of(self, Topology.cascade(self.n_stages), by_exit=True, rare_class_up=True)
