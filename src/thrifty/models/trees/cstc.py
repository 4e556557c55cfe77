"""CSTC: cost-sensitive trees of classifiers.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 3.

All nodes of a tree are fitted together to the expected loss of its classifiers and the expected cost of what they
acquire (eq. 12): rows are sent down softly, and the l0 norm of what a path uses is relaxed to a mixed norm, under
which weights that share a feature on a path share its price. `models.expected_cost` holds the parts.
"""

from typing import Any

import numpy as np

from thrifty.models.expected_cost.estimator import ExpectedCostEstimator, Problem
from thrifty.models.expected_cost.objective import Objective, Parameters
from thrifty.models.expected_cost.start import start
from thrifty.models.expected_cost.structure import grown, pruned
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.trees.estimator import TreeClassifier, TreeRegressor


class _CSTC(ExpectedCostEstimator):
    """The algorithm, whatever the targets."""

    def _shape(self) -> Topology:
        return Topology.full(self.max_depth)

    def _structured(self, problem: Problem) -> tuple[Topology, Parameters]:
        def score(objective: Objective, parameters: Parameters) -> float:
            return self._validation_score(problem, objective, parameters)

        if self.structure == "prune":
            return pruned(problem.objective, score)
        if self.structure == "grow":
            return grown(problem.objective, self.max_depth, score)
        return problem.objective.topology, start(problem.objective)

    def _validates(self) -> bool:
        return super()._validates() or self.structure != "full"

    def _choices(self) -> dict[str, tuple[Any, ...]]:
        return super()._choices() | {"structure": ("full", "prune", "grow")}

    def _whole_numbers(self) -> tuple[str, ...]:
        return (*super()._whole_numbers(), "max_depth")


class CSTCRegressor(_CSTC, TreeRegressor):
    """x"""

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        max_depth: int = 4,
        structure: str = "full",
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
        self.max_depth = max_depth
        self.structure = structure
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


class CSTCClassifier(_CSTC, TreeClassifier):
    """x"""

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        max_depth: int = 4,
        loss: str = "squared",
        structure: str = "full",
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
        self.max_depth = max_depth
        self.loss = loss
        self.structure = structure
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

    def _choices(self) -> dict[str, tuple[Any, ...]]:
        return super()._choices() | {"loss": ("squared", "logistic")}
