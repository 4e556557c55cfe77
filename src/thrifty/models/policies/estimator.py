"""Base of the classifiers that follow a policy: the data classifier, prediction and sessions."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from thrifty.kernels.threads import over_rows
from thrifty.models.base import Run
from thrifty.models.derived import Derivation
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import is_flag, is_number
from thrifty.models.policies.classifier_fits import (
    OutOfFoldRows,
    default_classifier,
    draw_masks,
    fit_classifier,
    fit_out_of_fold,
    n_masked_copies,
)
from thrifty.models.policies.data_classifier import Scores, Standardiser, encode, refuse_unless_scored
from thrifty.models.policies.distinct_rows import assign_folds, column_order, distinct_rows
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.policy import Policy, run_policy
from thrifty.models.policies.rollout import Rollout, n_meta_features
from thrifty.models.policies.session import PolicySession
from thrifty.models.policies.soundness import refuse_unsound_policy, refuse_unsound_scores
from thrifty.models.session import Session
from thrifty.models.soundness import is_numbers, require
from thrifty.models.task_bases import BudgetedClassifier

BLOCK_ROWS = 2048  # the states of so many rows stay in cache


class PolicyClassifier(BudgetedClassifier):
    """A data classifier of masked rows, and a policy that decides what each row acquires.

    Attributes
    ----------
    factors_ : Factors
        The groups of features that are bought together.
    standardiser_ : Standardiser
        Centres and scales of the columns, sorted by factor.
    classifier_ : estimator
        The fitted data classifier. Its columns are standardised and sorted by factor; with masked training, a flag
        follows the columns of each factor.
    scores_ : Scores
        The scores of the data classifier for masked rows.
    policy_ : Policy
        What rows acquire, and when they stop.
    """

    factors_: Factors
    factors: Any
    policy_: Policy

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "policy_")

    def _fit_data_classifier(
        self, X: Any, y: Any, sample_weight: Any, qid: Any
    ) -> tuple[OutOfFoldRows, np.random.RandomState]:
        """Check the training data, and fit the data classifier to all rows and out of fold.

        Returns
        -------
        OutOfFoldRows
            The distinct rows, with the data classifiers of the folds.
        RandomState
            The state after masks and folds have been drawn.
        """
        given = self._validated(X, y, sample_weight, qid)
        self._targets(given.y)
        random = check_random_state(self.random_state)
        rows = distinct_rows(given.X, np.searchsorted(self.classes_, given.y), given.weight)
        order, flagged = column_order(rows.X).tolist(), bool(self.masked_training)
        self.factors_ = Factors.of(self.cost_model_, self.factors, type(self).__name__, order, flagged)
        X = self.factors_.sorted_columns(rows.X)
        self.standardiser_ = Standardiser(X, rows.weight)
        rows = replace(rows, X=encode(X, self.standardiser_, self.factors_))
        n_rows, n_folds = len(rows), min(self.n_folds, len(rows))
        masks = draw_masks(n_rows, n_masked_copies(n_rows), self.factors_, random) if flagged else None
        fold = assign_folds(rows.y, n_folds, random)
        classifier = default_classifier(rows, fold, masks) if self.classifier is None else self.classifier
        self.classifier_ = fit_classifier(classifier, rows, masks)
        self.scores_ = scores = Scores.of([self.classifier_], self.factors_)
        if n_folds > 1:
            scores = fit_out_of_fold(classifier, rows, fold, self.factors_, masks)
        return OutOfFoldRows(self.factors_, scores, rows, fold), random

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        acquired = np.empty((len(X), len(self.factors_)), dtype=bool)
        scores, ticks = np.empty((len(X), len(self.classes_))), np.empty(len(X))

        def work(first: int, last: int) -> None:
            for start in range(first, last, BLOCK_ROWS):
                block = slice(start, min(start + BLOCK_ROWS, last))
                rows = self.factors_.sorted_columns(X[block]).astype(float, copy=False)
                Z = encode(rows, self.standardiser_, self.factors_)
                rollout = Rollout(self.factors_, self.scores_, Z).start()
                run_policy(rollout, self.policy_, cap[block])
                acquired[block], scores[block], ticks[block] = rollout.acquired, rollout.score, rollout.ticks

        over_rows(work, len(X))
        columns = partial(self.factors_.acquired_columns, acquired)
        return Run(_log_odds(scores), columns, self.factors_.spend(ticks), acquired.sum(axis=1))

    def _start(self, cap: float) -> Session:
        rollout = Rollout(self.factors_, self.scores_, np.zeros((1, self.factors_.starts[-1])))
        ids = self._feature_ids()
        return PolicySession(
            rollout, self.policy_, self.standardiser_, cap, ids, lambda scores: self._answer_one(_log_odds(scores))
        )

    def _translate_parameters(self, derivation: Derivation) -> None:
        groups = Factors.of(derivation.costs, self.factors, type(self).__name__).groups
        self.factors = [np.flatnonzero(np.isin(derivation.source, group)) for group in groups]

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        summary = "Each row buys one factor at a time, chosen from what is known about it, and may stop after each."
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
        refuse_unsound_policy(self.policy_, factors, n_meta_features(n_classes))


def refuse_bad_parameters(model: PolicyClassifier) -> None:
    """Raise ValueError if a parameter that all these classifiers have is not valid."""
    if model.classifier is not None:
        refuse_unless_scored(model.classifier, type(model).__name__, "classifier")
    model._refuse_unless(is_flag(model.masked_training), "masked_training", model.masked_training, "True or False")
    refuse_unless_whole(model, "n_folds", 1)


def refuse_unless_whole(model: PolicyClassifier, name: str, minimum: int) -> None:
    """Raise ValueError unless a parameter is a whole number of at least `minimum`; 4.0 is a whole number too."""
    value = getattr(model, name)
    is_whole = is_number(value, minimum) and value == int(value)
    model._refuse_unless(is_whole, name, value, f"a whole number of at least {minimum}")


def _log_odds(scores: np.ndarray) -> np.ndarray:
    """Return the log-odds of the second of two classes, or one score per class."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
