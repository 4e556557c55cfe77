"""What estimators that follow a policy have in common: a data classifier, and the two drivers of the policy."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from thrifty.kernels.threads import over_rows
from thrifty.models.base import Run
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import is_number
from thrifty.models.policies.data_classifier import Scores, Standardiser, encode, refuse_unscored
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.policy import Policy, send
from thrifty.models.policies.rollout import N_NUMBERS, Walk
from thrifty.models.policies.session import PolicySession
from thrifty.models.policies.soundness import refuse_unsound_policy, refuse_unsound_scores
from thrifty.models.policies.states import Pupils
from thrifty.models.policies.training import (
    DistinctRows,
    deal_folds,
    distinct_rows,
    draw_masks,
    fit_classifier,
    likeliest,
    n_masked_copies,
    order_of_columns,
    out_of_fold,
)
from thrifty.models.session import Session
from thrifty.models.soundness import is_numbers, require
from thrifty.models.tasks import BudgetedClassifier

ROWS_AT_ONCE = 2048  # whose states stay in the cache
C_MASKED = (0.3, 3.0)  # how to regularise where weights have to serve many masks at once depends on the data


class PolicyClassifier(BudgetedClassifier):
    """A data classifier on partial rows, and a policy that says what they acquire.

    Attributes
    ----------
    factors_ : Factors
        What is bought together.
    classifier_ : estimator
        The fitted data classifier; its columns are standardised and sorted by factor, with masked training each
        factor followed by its flag.
    policy_ : Policy
        What rows acquire, and when they stop.
    """

    factors_: Factors
    policy_: Policy

    def _prepare(self, X: Any, y: Any, sample_weight: Any, qid: Any) -> tuple[DistinctRows, np.random.RandomState]:
        """Check training data, resolve the factors, and return the distinct rows, columns sorted by factor."""
        self._refuse_bad_classifier()
        given = self._validated(X, y, sample_weight, qid)
        self._targets(given.y)
        random = check_random_state(self.random_state)
        rows = distinct_rows(given.X, np.searchsorted(self.classes_, given.y), given.weight)
        in_order = order_of_columns(rows.X).tolist()
        self.factors_ = Factors.of(
            self.cost_model_, self.factors, type(self).__name__, in_order, flagged=bool(self.masked_training)
        )
        rows = replace(rows, X=self.factors_.sorted_columns(rows.X))
        self.standardiser_ = Standardiser(rows.X, rows.count)
        return rows, random

    def _fit_data_classifier(self, rows: DistinctRows, random: np.random.RandomState) -> Pupils:
        """Fit the data classifier to all rows, and for each fold to the other ones."""
        Z, factors = encode(rows.X, self.standardiser_, self.factors_), self.factors_
        masks = draw_masks(len(Z), n_masked_copies(len(Z)), factors, random) if self.masked_training else None
        n_folds = min(self.n_folds, len(Z))
        fold = deal_folds(rows.labels, n_folds, random)
        classifier = _logistic(Z, rows, fold, masks) if self.classifier is None else self.classifier
        self.classifier_ = fit_classifier(classifier, Z, rows.labels, rows.count, masks)
        self.scores_ = scores = Scores.of([self.classifier_], factors)
        if n_folds > 1:
            scores = out_of_fold(classifier, Z, rows, fold, factors, masks)
        return Pupils(factors, scores, Z, rows.labels, rows.count, fold)

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        acquired = np.empty((len(X), len(self.factors_)), dtype=bool)
        scores, ticks = np.empty((len(X), len(self.classes_))), np.empty(len(X))

        def go(first: int, last: int) -> None:
            for start in range(first, last, ROWS_AT_ONCE):
                block = slice(start, min(start + ROWS_AT_ONCE, last))
                rows = self.factors_.sorted_columns(X[block]).astype(float, copy=False)
                Z = encode(rows, self.standardiser_, self.factors_)
                walk = Walk(self.factors_, self.scores_, Z).begin()
                send(walk, self.policy_, cap[block])
                acquired[block], scores[block], ticks[block] = walk.acquired, walk.score, walk.ticks

        over_rows(go, len(X))
        marked = partial(self.factors_.acquired_columns, acquired)
        return Run(_log_odds(scores), marked, self.factors_.spend(ticks), acquired.sum(axis=1))

    def _start(self, cap: float) -> Session:
        walk = Walk(self.factors_, self.scores_, np.zeros((1, self.factors_.starts[-1])))
        ids = self._feature_ids()
        return PolicySession(walk, self.policy_, self.standardiser_, cap, ids, lambda s: self._answer_one(_log_odds(s)))

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        summary = "Each row buys one factor at a time, chosen from what is known of it, and may stop after any of them."
        return self._outlined(columns, summary, uses=columns.unordered_uses())

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        factors, n_columns, n_classes = self.factors_, self.n_features_in_, len(self.classes_)
        require(isinstance(factors, Factors) and factors.cost_model == self.cost_model_, "its factors have other costs")
        require(isinstance(factors.flagged, bool), "its factors have no flag that is True or False")
        require(isinstance(self.standardiser_, Standardiser), "its standardiser is not a Standardiser")
        for scale in (self.standardiser_.centre, self.standardiser_.slope):
            finite = is_numbers(scale, n_columns) and np.isfinite(scale).all()
            require(finite, "its standardiser has other columns, or infinite values")
        refuse_unsound_scores(self.scores_, factors, n_classes)
        refuse_unsound_policy(self.policy_, factors, N_NUMBERS + n_classes)

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


def _logistic(Z: np.ndarray, rows: DistinctRows, fold: np.ndarray, masks: np.ndarray | None) -> LogisticRegression:
    """Return the default data classifier."""
    make = partial(LogisticRegression, max_iter=1000, tol=1e-3)
    return make() if masks is None else likeliest([make(C=C) for C in C_MASKED], Z, rows, fold, masks)


def _log_odds(scores: np.ndarray) -> np.ndarray:
    """Return the log-odds of the second of two classes, else one score per class."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
