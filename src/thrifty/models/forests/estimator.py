"""Base of every estimator whose fitted form is a forest.

Trees are evaluated in order, one round at a time, and a row buys the features that its path reads. Any number of
complete rounds is a model: a row that cannot pay for the next round is answered by the rounds it has completed.
"""

from typing import Any

import numpy as np

from thrifty.models.base import BudgetedEstimator, Run, drop_single_column
from thrifty.models.derived import DerivedSession
from thrifty.models.forests.forest import Forest
from thrifty.models.forests.priced_forest import PricedForest
from thrifty.models.forests.session import ForestSession
from thrifty.models.outline import Columns, Outline
from thrifty.models.session import Session
from thrifty.models.soundness import require
from thrifty.stored import Array, Maybe, Structure, stored


@stored(forest_=Structure(Forest), evaluation_costs_=Maybe(Array("float64", "n_trees", low=0, finite=True)))
class ForestEstimator(BudgetedEstimator):
    """The two drivers of a fitted forest.

    Attributes
    ----------
    forest_ : Forest
        Its sums are the scores, together with what is expected of the trees that a row could not pay for. A subclass
        whose sums are not scores overrides `_score_of_sums`.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row. The trees of a round are paid for when the row enters the round.
    """

    forest_: Forest
    evaluation_costs_: Any = 0.0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

    def _priced(self) -> PricedForest:
        return self.forest_.priced(self.cost_model_, self.evaluation_costs_)

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        run = self._priced().run(X, cap)
        return run._replace(score=self._score_of_sums(run.score, run.exit))

    def _start(self, cap: float) -> Session:
        def answer(sums: list[float], last_round: int) -> tuple[Any, Any]:
            return self._answer_one(self._score_of_sums(np.array([sums]), np.array([last_round])))

        if (levels := self.forest_.levels) is None:
            return ForestSession(self._priced(), cap, self._feature_ids(), answer)
        of_codes = ForestSession(self._priced(), cap, range(self.n_features_in_), answer)
        return DerivedSession(of_codes, levels, self._feature_ids())

    @property
    def _takes_numbers(self) -> bool:
        return self.forest_.levels is None

    def _checked(self, X: Any) -> Any:
        return super()._checked(self.forest_.coded(X))

    def _score_of_sums(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        """Return the scores of rows from their sums (n, n_scores) and the last rounds that they completed (n,)."""
        return drop_single_column(sums + self._priced().remainders[exits + 1])

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        starts = self._priced().round_at[:-1].astype(int)
        reads = np.logical_or.reduceat(self.forest_.tree_reads, starts, axis=0)
        summary = "Trees are evaluated in rounds; a row pays for a feature when its path first reads it."
        return self._outlined(
            columns,
            summary,
            uses=columns.uses(reads),
            counted_in="round",
            evaluation=float(np.sum(self.evaluation_costs_)),
        )

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        require(self.forest_.n_features == self.n_features_in_, "its forest reads other columns")
        require(len(self.forest_.base) == self._n_scores(), "its forest has another number of scores")
        self._priced()  # refuses evaluation costs of other trees
