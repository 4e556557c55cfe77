"""What every estimator whose fitted form is a forest has in common.

Trees in order, a round at a time; a row buys what its path asks for. Any number of complete rounds is a model, so a
row that may not pay on is answered by the rounds it has completed.
"""

from typing import Any

import numpy as np

from thrifty.models.base import BudgetedClassifier, BudgetedEstimator, BudgetedRanker, BudgetedRegressor, Run
from thrifty.models.boosting.forest import Forest
from thrifty.models.boosting.priced_forest import PricedForest
from thrifty.models.boosting.session import ForestSession
from thrifty.models.session import Session


class ForestEstimator(BudgetedEstimator):
    """The two drivers of a fitted `forest_`: a batch of rows, or one lazy row.

    Attributes
    ----------
    forest_ : Forest
        Its sums are the scores; override `_score_of_sums` where they are not.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row, paid for a whole round on entering it; nothing by default.
    """

    forest_: Forest
    evaluation_costs_: Any = 0.0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

    def _priced(self) -> PricedForest:
        return self.forest_.priced(self.cost_model_, self.evaluation_costs_)

    def _run(self, X: np.ndarray, cap: np.ndarray) -> Run:
        run = self._priced().run(X, cap)
        return run._replace(score=self._score_of_sums(run.score, run.exit))

    def _start(self, cap: float) -> Session:
        return ForestSession(self._priced(), cap, self._feature_ids(), self._answer_one)

    def _answer_one(self, sums: list[float], last_round: int) -> tuple[Any, Any]:
        score = self._score_of_sums(np.array([sums]), np.array([last_round]))
        return self._answer(score)[0], score[0]

    def _score_of_sums(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        """Return the scores of rows from their sums (n, n_scores) after the rounds they ended with (n,)."""
        return sums[:, 0] if sums.shape[1] == 1 else sums


class ForestRegressor(BudgetedRegressor, ForestEstimator):
    """A forest whose sum is the prediction."""


class ForestClassifier(BudgetedClassifier, ForestEstimator):
    """A forest whose sums are log-odds, one for two classes, else one a class."""


class ForestRanker(BudgetedRanker, ForestEstimator):
    """A forest whose sum orders the documents of a query."""
