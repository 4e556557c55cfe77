"""What estimators that follow a policy have in common: a data classifier, and the two drivers of the policy."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from thrifty.kernels.threads import over_rows
from thrifty.models.base import BudgetedClassifier, Run, is_number
from thrifty.models.policies.data_classifier import Scores, Standardiser, refuse_unscored
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.policy import Policy, send
from thrifty.models.policies.rollout import Walk
from thrifty.models.policies.session import PolicySession
from thrifty.models.policies.states import Pupils
from thrifty.models.policies.training import (
    DistinctRows,
    deal_folds,
    distinct_rows,
    draw_masks,
    fit_classifier,
    order_of_columns,
    out_of_fold,
)
from thrifty.models.session import Session

ROWS_AT_ONCE = 2048  # whose states stay in the cache
N_MASKED_COPIES = 2


class PolicyClassifier(BudgetedClassifier):
    """A data classifier on partial rows, and a policy that says what they acquire.

    Attributes
    ----------
    factors_ : Factors
        What is bought together.
    classifier_ : estimator
        The fitted data classifier; its columns are standardised and sorted by factor.
    policy_ : Policy
        What rows acquire, and when they stop.
    """

    factors_: Factors
    policy_: Policy

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[DistinctRows, np.random.RandomState]:
        """Check training data, resolve the factors, and return the distinct rows, columns sorted by factor."""
        self._refuse_bad_classifier()
        X, y, count = self._validated(X, y, sample_weight)
        self._targets(y)
        random = check_random_state(self.random_state)
        rows = distinct_rows(X, np.searchsorted(self.classes_, y), count)
        self.factors_ = Factors.of(
            self.cost_model_, self.factors, type(self).__name__, order_of_columns(rows.X).tolist()
        )
        rows = replace(rows, X=self.factors_.sorted_columns(rows.X))
        self.standardiser_ = Standardiser(rows.X, rows.count)
        return rows, random

    def _fit_data_classifier(self, rows: DistinctRows, random: np.random.RandomState) -> Pupils:
        """Fit the data classifier to all rows, and for each fold to the other ones."""
        Z, factors = self.standardiser_.transform(rows.X), self.factors_
        classifier = LogisticRegression(max_iter=1000, tol=1e-3) if self.classifier is None else self.classifier
        masks = draw_masks(len(Z), N_MASKED_COPIES, factors, random) if self.masked_training else None
        self.classifier_ = fit_classifier(classifier, Z, rows.labels, rows.count, masks)
        self.scores_ = scores = Scores.of([self.classifier_], factors)
        fold = np.zeros(len(Z), dtype=np.int64)
        if (n_folds := min(self.n_folds, len(Z))) > 1:
            fold = deal_folds(rows.labels, n_folds, random)
            scores = out_of_fold(classifier, Z, rows, fold, factors, masks)
        return Pupils(factors, scores, Z, rows.labels, rows.count, fold)

    def _run(self, X: np.ndarray, cap: np.ndarray) -> Run:
        acquired = np.empty((len(X), len(self.factors_)), dtype=bool)
        scores, ticks = np.empty((len(X), len(self.classes_))), np.empty(len(X))

        def go(first: int, last: int) -> None:
            for start in range(first, last, ROWS_AT_ONCE):
                block = slice(start, min(start + ROWS_AT_ONCE, last))
                Z = self.standardiser_.transform(self.factors_.sorted_columns(X[block]).astype(float, copy=False))
                walk = Walk(self.factors_, self.scores_, Z).begin()
                send(walk, self.policy_, cap[block])
                acquired[block], scores[block], ticks[block] = walk.acquired, walk.score, walk.ticks

        over_rows(go, len(X))
        marked = partial(self.factors_.acquired_columns, acquired)
        return Run(_log_odds(scores), marked, self.factors_.spend(ticks), acquired.sum(axis=1))

    def _start(self, cap: float) -> Session:
        walk = Walk(self.factors_, self.scores_, np.zeros((1, self.n_features_in_)))
        return PolicySession(walk, self.policy_, self.standardiser_, cap, self._feature_ids(), self._answer_one)

    def _answer_one(self, scores: np.ndarray) -> tuple[Any, Any]:
        odds = _log_odds(scores)
        return self._answer(odds)[0], odds[0]

    def _refuse_bad_classifier(self) -> None:
        if self.classifier is not None:
            refuse_unscored(self.classifier, type(self).__name__, "classifier")
        self._refuse_non_bool("masked_training")
        self._refuse_non_whole("n_folds", 1)

    def _refuse_non_bool(self, name: str) -> None:
        value = getattr(self, name)
        self._refuse_unless(isinstance(value, bool | np.bool_), name, value, "True or False")

    def _refuse_non_whole(self, name: str, minimum: int) -> None:
        value = getattr(self, name)
        whole = is_number(value, minimum) and value == int(value)
        self._refuse_unless(whole, name, value, f"a whole number of at least {minimum}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "policy_")


def _log_odds(scores: np.ndarray) -> np.ndarray:
    """Return the log-odds of the second of two classes, else one score per class."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
