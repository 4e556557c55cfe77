"""The shared part of dynamic selection: a policy is learned by imitation, whatever the data model predicts."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from thrifty.models.distinct_rows import split_validation
from thrifty.models.parameters import ascending_cost_weights, is_flag, is_number
from thrifty.models.policies.data_model_fits import OutOfFoldRows
from thrifty.models.policies.estimator import PolicyEstimator, refuse_bad_parameters, refuse_unless_whole
from thrifty.models.policies.imitation import LearningCurve, imitate
from thrifty.models.policies.rewards import Reward
from thrifty.models.policies.tasks import Classification
from thrifty.models.policies.training_states import ImitationOptions
from thrifty.stored import Structure, stored

COST_WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)  # those of the paper


@stored(learning_curve_=Structure(LearningCurve))
class DynamicSelection(PolicyEstimator):
    """Learns a policy by imitation, whatever the data model predicts.

    Attributes
    ----------
    policy_ : Policy
        The policy with the largest mean reward on the validation rows.
    learning_curve_ : LearningCurve
        Reward, score and cost on the validation rows, for each iteration.
    """

    _relative_cost_weight = True  # for the checks: the cost weight does not depend on the unit of the costs
    learning_curve_: LearningCurve
    cost_weight: float
    stop_biases: Sequence[float]

    @abstractmethod
    def _reward(self) -> Reward:
        """Return what the oracle maximises."""

    @threadpool_limits.wrap(1, "blas")  # idle BLAS threads would compete with the threads that fit the folds
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Fit the data model, then learn the policy by imitation.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows. NaN means that a value is unavailable.
        y : array-like of shape (n,)
            Classes, or numbers to predict.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts; None means once. If a weight is below 1, all are rescaled to a mean of 1.
        qid : array-like of shape (n,), default=None
            The query of each row. It is checked but not used by this method.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse_bad_parameters()
        _learn_policy(self, *_training_and_validation(self, X, y, sample_weight, qid))
        return self

    @threadpool_limits.wrap(1, "blas")
    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        cost_weights: Iterable[float] = COST_WEIGHTS,
        qid: Any = None,
    ) -> list[Self]:
        """Fit one model for each of several cost weights.

        The data model does not depend on the cost weight, so it is fitted once.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows. NaN means that a value is unavailable.
        y : array-like of shape (n,)
            Classes, or numbers to predict.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts; None means once. If a weight is below 1, all are rescaled to a mean of 1.
        cost_weights : iterable of float, default=(0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
            The cost weights. The default values are those of the paper.
        qid : array-like of shape (n,), default=None
            The query of each row. It is checked but not used by this method.

        Returns
        -------
        list of estimators of this class
            Fitted models, from the largest cost weight to the smallest. Each is the model that ``fit`` would return.
        """
        template = clone(self)
        template._refuse_bad_parameters()
        ascending = ascending_cost_weights(cost_weights, type(self).__name__)
        data = _training_and_validation(template, X, y, sample_weight, qid)
        models = [copy(template).set_params(cost_weight=weight) for weight in reversed(ascending)]
        for model in models:
            _learn_policy(model, *data)
        return models

    def _refuse_bad_parameters(self) -> None:
        """Raise ValueError if a parameter is not valid."""
        for name in ("cost_weight", "coaching"):
            value = getattr(self, name)
            self._refuse_unless(is_number(value, 0), name, value, "a number of at least 0")
        refuse_unless_whole(self, "n_iterations", 1)
        refuse_unless_whole(self, "max_states", 1)
        for name in ("coach_stops", "weigh_stakes"):
            self._refuse_unless(is_flag(getattr(self, name)), name, getattr(self, name), "True or False")
        is_list = np.ndim(biases := self.stop_biases) == 1 and len(biases) > 0
        are_numbers = is_list and all(is_number(bias) for bias in biases)
        self._refuse_unless(are_numbers, "stop_biases", biases, "a list of at least one number, such as (0.0,)")
        is_share = is_number(share := self.validation_fraction, 0) and share < 1
        self._refuse_unless(is_share, "validation_fraction", share, "a share from 0 to below 1")
        if self.policy is not None:
            Classification().refuse_unless_usable(self.policy, type(self).__name__, "policy")
        refuse_bad_parameters(self)


def _training_and_validation(
    model: DynamicSelection, X: Any, y: Any, sample_weight: Any, qid: Any
) -> tuple[OutOfFoldRows, OutOfFoldRows, np.random.RandomState]:
    """Fit the data model; return the rows to learn policies from, the rows to compare them on, and the state."""
    rows, random = model._fit_data_model(X, y, sample_weight, qid)
    training, validation = split_validation(model._task.strata(rows.rows.y), model.validation_fraction, random)
    return rows.take(training), rows.take(validation), random


def _learn_policy(
    model: DynamicSelection,
    training: OutOfFoldRows,
    validation: OutOfFoldRows,
    random: np.random.RandomState,
) -> None:
    """Set the policy and the learning curve of a model."""
    options = ImitationOptions(
        learner=model.policy,
        reward=model._reward(),
        coaching=model.coaching,
        coach_stops=model.coach_stops,
        stop_biases=tuple(map(float, model.stop_biases)),
        n_iterations=int(model.n_iterations),
        max_states=int(model.max_states),
        weigh_stakes=model.weigh_stakes,
        random=deepcopy(random),  # so that every model of a path starts from the same state
    )
    model.policy_, model.learning_curve_ = imitate(training, validation, options)
