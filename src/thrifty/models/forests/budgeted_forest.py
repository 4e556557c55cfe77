"""Other people's forests as budgeted estimators: any fitted forest, served feature by feature, under hard caps.

There is nothing to learn: the trees are there, and only their features get prices. See `Forest.with_costs`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.forests.forest import Forest
from thrifty.models.forests.priced_forest import checked_evaluation_costs
from thrifty.models.forests.task import Task
from thrifty.models.parameters import is_number
from thrifty.models.soundness import require
from thrifty.models.tasks import BudgetedClassifier, BudgetedRanker, BudgetedRegressor
from thrifty.models.training_record import Training


class _BudgetedForest(ForestEstimator):
    """What the three kinds have in common.

    Parameters
    ----------
    forest : Forest or fitted model
        Whatever `Forest.from_model` reads.
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    evaluation_costs : float or array-like of shape (n_trees,), default=0
        What evaluating a tree costs each row that enters it.
    """

    task_: Task

    def __init__(self, forest: Any, *, costs: Any = None, evaluation_costs: Any = 0.0):
        self.forest = forest
        self.costs = costs
        self.evaluation_costs = evaluation_costs

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Price the forest as it is; the data are not looked at."""
        forest = Forest.from_model(self.forest)
        names = forest.feature_names
        self.cost_model_ = CostModel.resolve(
            self.costs, forest.n_features, feature_names=names, owner=type(self).__name__
        )
        self.n_features_in_ = forest.n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.evaluation_costs_ = checked_evaluation_costs(self.evaluation_costs, forest.n_trees)
        self.task_, self.forest_ = forest.task or Task(), forest
        if self.task_.classes is not None:
            self.classes_ = np.array(self.task_.classes)
        self.training_ = Training.of_nothing()
        return self

    def _score_of_sums(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        return self.task_.scores(self._averaged(sums, exits) if self.task_.averaged else sums)

    def _averaged(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        """Return the average of the rounds that each row completed, which have a share of all rounds in the sums."""
        base, n_rounds = self.forest_.base, self._priced().n_rounds
        prior = base if self.task_.prior is None else np.array(self.task_.prior)
        n_done = exits[:, None] + 1
        average = base + (sums - base) * (n_rounds / np.maximum(n_done, 1))
        return np.select([n_done == n_rounds, n_done > 0], [sums, average], prior)

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        task = self.task_
        require(
            isinstance(task, Task) and is_number(task.scale) and isinstance(task.averaged, bool),
            "its task is not a Task",
        )
        prior_fits = task.prior is None or np.array(task.prior, dtype=float).shape == (self._n_scores(),)
        require(prior_fits, "its prior has another number of scores")


class BudgetedForestRegressor(_BudgetedForest, BudgetedRegressor):
    """A fitted forest that predicts values, each row buying what its paths ask for."""


class BudgetedForestClassifier(_BudgetedForest, BudgetedClassifier):
    """A fitted forest that predicts classes, each row buying what its paths ask for."""


class BudgetedForestRanker(_BudgetedForest, BudgetedRanker):
    """A fitted forest that orders documents, each buying what its paths ask for."""


KINDS: dict[str, type[_BudgetedForest]] = {
    "regression": BudgetedForestRegressor,
    "classification": BudgetedForestClassifier,
    "ranking": BudgetedForestRanker,
}


def budgeted(forest: Forest, costs: Any, evaluation_costs: Any) -> _BudgetedForest:
    """Return the estimator that suits what the forest predicts."""
    task = forest.task or Task()
    if task.kind != "classification" and len(forest.base) > 1:
        raise ValueError(f"Forest: predicts {len(forest.base)} targets; expected one. Pass a forest for each.")
    return KINDS[task.kind](forest, costs=costs, evaluation_costs=evaluation_costs).fit()
