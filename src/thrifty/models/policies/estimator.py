"""Base of the estimators that follow a policy: the data model, prediction and sessions."""

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from thrifty.kernels.threads import over_rows
from thrifty.models.base import BudgetedEstimator, Run
from thrifty.models.derived import Derivation
from thrifty.models.distinct_rows import assign_folds, column_order, distinct_rows
from thrifty.models.factors import Factors
from thrifty.models.outline import Columns, Outline
from thrifty.models.parameters import is_flag, is_number
from thrifty.models.policies.data_model import Scores, Standardiser, encode
from thrifty.models.policies.data_model_fits import (
    OutOfFoldRows,
    default_model,
    draw_masks,
    fit_model,
    fit_out_of_fold,
    n_masked_copies,
)
from thrifty.models.policies.meta_features import n_meta_features
from thrifty.models.policies.native_models import unfitted
from thrifty.models.policies.policy import Policy, run_policy
from thrifty.models.policies.rollout import Rollout
from thrifty.models.policies.session import PolicySession
from thrifty.models.policies.soundness import refuse_unsound_policy, refuse_unsound_scores
from thrifty.models.policies.tasks import Classification, Regression, Task
from thrifty.models.session import Session
from thrifty.models.soundness import require
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRegressor
from thrifty.stored import Number, Structure, stored

BLOCK_ROWS = 2048  # the states of so many rows stay in cache


@stored(
    factors_=Structure(Factors),
    standardiser_=Structure(Standardiser),
    scores_=Structure(Scores),
    policy_=Structure(Policy),
)
class PolicyEstimator(BudgetedEstimator):
    """A data model of masked rows, and a policy that decides what each row acquires.

    Attributes
    ----------
    factors_ : Factors
        The groups of features that are bought together.
    standardiser_ : Standardiser
        Centres and scales of the columns, sorted by factor.
    scores_ : Scores
        The scores of the data model for masked rows.
    policy_ : Policy
        What rows acquire, and when they stop.
    """

    _task: ClassVar[Task]
    _data_model: ClassVar[str]  # the parameter that is the data model; the fitted one is the attribute with _ added
    factors_: Factors
    factors: Any
    policy_: Policy
    scores_: Scores

    @abstractmethod
    def _training_targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return indices of classes, or standardised numbers; sets what is needed to return predictions."""

    @abstractmethod
    def _n_data_scores(self) -> int:
        """Return how many scores the data model has."""

    @abstractmethod
    def _final_score(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of this estimator from scores (n, n_scores) of the data model."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "policy_")

    def _fit_data_model(
        self, X: Any, y: Any, sample_weight: Any, qid: Any
    ) -> tuple[OutOfFoldRows, np.random.RandomState]:
        """Check the training data, and fit the data model to all rows and out of fold.

        Returns
        -------
        OutOfFoldRows
            The distinct rows, with the data models of the folds.
        RandomState
            The state after masks and folds have been drawn.
        """
        given, task = self._validated(X, y, sample_weight, qid), self._task
        targets, random = self._training_targets(given.y, given.weight), check_random_state(self.random_state)
        rows = distinct_rows(given.X, targets, given.weight, task.strata(targets))
        order, flagged = column_order(rows.X).tolist(), bool(self.masked_training)
        self.factors_ = Factors.of(self.cost_model_, self.factors, type(self).__name__, order, flagged)
        X = self.factors_.sorted_columns(rows.X)
        self.standardiser_ = Standardiser(X, rows.weight)
        rows = replace(rows, X=encode(X, self.standardiser_, self.factors_))
        n_rows, n_folds = len(rows), min(self.n_folds, len(rows))
        masks = draw_masks(n_rows, n_masked_copies(n_rows), self.factors_, random) if flagged else None
        fold = assign_folds(task.strata(rows.y), n_folds, random)
        model = getattr(self, self._data_model)
        model = default_model(task, rows, fold, masks) if model is None else model
        fitted = fit_model(model, rows, masks)
        setattr(self, f"{self._data_model}_", fitted)
        self.scores_ = scores = Scores.of([fitted], self.factors_)
        if n_folds > 1:
            scores = fit_out_of_fold(model, task, rows, fold, self.factors_, masks)
        return OutOfFoldRows(self.factors_, scores, rows, fold, task), random

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        acquired = np.empty((len(X), len(self.factors_)), dtype=bool)
        scores, ticks = np.empty((len(X), self.scores_.n_scores)), np.empty(len(X))

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
        return Run(self._final_score(scores), columns, self.factors_.spend(ticks), acquired.sum(axis=1))

    def _start(self, cap: float) -> Session:
        rollout = Rollout(self.factors_, self.scores_, np.zeros((1, self.factors_.starts[-1])))
        ids = self._feature_ids()

        def answer(scores: np.ndarray) -> tuple[Any, Any]:
            return self._answer_one(self._final_score(scores))

        return PolicySession(rollout, self.policy_, self.standardiser_, cap, ids, answer)

    def _translate_parameters(self, derivation: Derivation) -> None:
        groups = Factors.of(derivation.costs, self.factors, type(self).__name__).groups
        self.factors = [np.flatnonzero(np.isin(derivation.source, group)) for group in groups]

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        summary = "Each row buys one factor at a time, chosen from what is known about it, and may stop after each."
        return self._outlined(columns, summary, uses=columns.unordered_uses())

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        factors, n_columns, n_scores = self.factors_, self.n_features_in_, self._n_data_scores()
        require(factors.cost_model == self.cost_model_, "its factors have other costs")
        require(len(self.standardiser_.centre) == n_columns, "its standardiser has other columns")
        refuse_unsound_scores(self.scores_, factors, n_scores)
        refuse_unsound_policy(self.policy_, factors, n_meta_features(n_scores))

    def _state_to_store(self) -> dict[str, Any]:
        """Return the attributes without the data model, which `scores_` has; parameters are stored unfitted."""
        state = super()._state_to_store()
        state.pop(f"{self._data_model}_", None)
        return state | {name: unfitted(state[name]) for name in (self._data_model, "policy") if name in state}

    def _complete_loaded(self) -> None:
        setattr(self, f"{self._data_model}_", self.scores_.data_model(getattr(self, "classes_", None)))


class PolicyClassifier(PolicyEstimator, BudgetedClassifier):
    """A classifier that follows a policy.

    Attributes
    ----------
    classifier_ : estimator
        The fitted data classifier. Its columns are standardised and sorted by factor; with masked training, a flag
        follows the columns of each factor.
    """

    _task, _data_model = Classification(), "classifier"

    def _training_targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        self._targets(y)
        return np.searchsorted(self.classes_, y)

    def _final_score(self, scores: np.ndarray) -> np.ndarray:
        """Return the log-odds of the second of two classes, or one score per class."""
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _n_data_scores(self) -> int:
        return len(self.classes_)


@stored(target_mean_=Number(finite=True), target_scale_=Number(0, finite=True))
class PolicyRegressor(PolicyEstimator, BudgetedRegressor):
    """A regressor that follows a policy.

    Attributes
    ----------
    regressor_ : estimator
        The fitted data regressor. Its columns are standardised and sorted by factor; with masked training, a flag
        follows the columns of each factor. It predicts standardised targets.
    target_mean_ : float
        Mean of the training targets.
    target_scale_ : float
        Standard deviation of the training targets.
    """

    _task, _data_model = Regression(), "regressor"
    target_mean_: float
    target_scale_: float

    def _training_targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        targets = self._targets(y)
        scaling = Standardiser(targets, weight)
        self.target_mean_ = float(scaling.centre[0])
        self.target_scale_ = float(1.0 / scaling.slope[0]) if scaling.slope[0] > 0 else 0.0
        return scaling.transform(targets)[:, 0]

    def _final_score(self, scores: np.ndarray) -> np.ndarray:
        """Return the predictions in the unit of the targets."""
        return self.target_mean_ + self.target_scale_ * scores[:, 0]

    def _n_data_scores(self) -> int:
        return 1


def refuse_bad_parameters(model: PolicyEstimator) -> None:
    """Raise ValueError if a parameter that all these estimators have is not valid."""
    if (data_model := getattr(model, model._data_model)) is not None:
        model._task.refuse_unless_usable(data_model, type(model).__name__, model._data_model)
    model._refuse_unless(is_flag(model.masked_training), "masked_training", model.masked_training, "True or False")
    refuse_unless_whole(model, "n_folds", 1)


def refuse_unless_whole(model: PolicyEstimator, name: str, minimum: int) -> None:
    """Raise ValueError unless a parameter is a whole number of at least `minimum`; 4.0 is a whole number too."""
    value = getattr(model, name)
    is_whole = is_number(value, minimum) and value == int(value)
    model._refuse_unless(is_whole, name, value, f"a whole number of at least {minimum}")
