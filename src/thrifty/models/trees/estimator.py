"""What every estimator whose fitted form is a tree of linear nodes has in common."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thrifty.models.base import BudgetedClassifier, BudgetedEstimator, BudgetedRegressor, Run
from thrifty.models.least_squares.calibration import ENOUGH_ROWS, fit_log_odds, leave_one_out, prior_log_odds
from thrifty.models.least_squares.forward_fit import ForwardFit
from thrifty.models.session import Session
from thrifty.models.trees.linear_tree import LinearTree, TreeSession


class TreeEstimator(BudgetedEstimator):
    """The two drivers of a fitted `tree_`: a batch of rows, or one lazy row."""

    tree_: LinearTree

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    def _run(self, X: np.ndarray, cap: np.ndarray) -> Run:
        scores, exits = self.tree_.run(X, cap)
        return Run(self._shaped(scores), partial(self.tree_.acquired_at, exits), self.tree_.spent_at(exits), exits)

    def _start(self, cap: float) -> Session:
        return TreeSession(self.tree_, cap, self._answer_one)

    def _answer_one(self, score: np.ndarray) -> tuple[Any, Any]:
        scores = self._shaped(score[None])
        return self._answer(scores)[0], scores[0]

    def node_purchases(self) -> np.ndarray:
        """Mark the columns of X that a row acquires on arriving at each node.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_features_in_)
        """
        check_is_fitted(self)
        return self._marked(self.tree_.buys)

    def node_supports(self) -> np.ndarray:
        """Mark the columns of X that each node's own model weighs, bought there or before.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_features_in_)
        """
        check_is_fitted(self)
        return self._marked(self.tree_.weighs)

    def _marked(self, columns_of: Callable[[int], np.ndarray]) -> np.ndarray:
        marks = np.zeros((self.tree_.n_nodes, self.n_features_in_), dtype=bool)
        for k, line in enumerate(marks):
            line[columns_of(k)] = True
        return marks

    @staticmethod
    def _shaped(scores: np.ndarray) -> np.ndarray:
        """Drop the column axis of a single score, as scikit-learn does."""
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @abstractmethod
    def _prior(self, targets: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Return the score of a row of which nothing is known."""

    @abstractmethod
    def _scores(self, fit: ForwardFit) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights and intercepts of a node's answers from its least-squares fit."""


class TreeRegressor(BudgetedRegressor, TreeEstimator):
    """Nodes that answer with the least-squares prediction itself."""

    def _prior(self, targets: np.ndarray, count: np.ndarray) -> np.ndarray:
        return count @ targets / count.sum()

    def _scores(self, fit: ForwardFit) -> tuple[np.ndarray, np.ndarray]:
        return fit.coefficients()


class TreeClassifier(BudgetedClassifier, TreeEstimator):
    """Nodes that answer with calibrated log-odds, again linear in the features."""

    def _prior(self, targets: np.ndarray, count: np.ndarray) -> np.ndarray:
        return prior_log_odds(targets, count)

    def _scores(self, fit: ForwardFit) -> tuple[np.ndarray, np.ndarray]:
        weights, intercepts = fit.coefficients()
        rows, row_weight, probability = fit.moments.sample(ENOUGH_ROWS)
        data = fit.moments.data
        values = data.X[rows[:, None], fit.selected].astype(float)
        targets = data.targets[rows]
        left_out = leave_one_out(values @ weights.T + intercepts, targets, probability * fit.leverages(values))
        slope, offsets = fit_log_odds(left_out, targets, row_weight)
        return slope * weights, slope * intercepts + offsets
