"""Base of the estimators that minimise expected loss plus relaxed expected cost."""

from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from thrifty.arrays import enough_memory
from thrifty.costs import CostModel
from thrifty.kernels.threads import scipy_on_one_thread
from thrifty.models.expected_cost.design import Design
from thrifty.models.expected_cost.fitting import choose_structure, solve, store
from thrifty.models.expected_cost.parameter_rules import refuse_bad_parameters
from thrifty.models.expected_cost.problem import USUAL_RATIO, Problem, bytes_of_fit, pose
from thrifty.models.linear_nodes.estimator import TreeEstimator
from thrifty.models.parameters import ascending_cost_weights
from thrifty.models.soundness import require
from thrifty.stored import Array, Flag, ListOf, Number, Whole, stored


@stored(
    objective_=ListOf(Number()),
    residual_=Number(),
    converged_=Flag(),
    n_iter_=Whole(),
    validation_scores_=ListOf(Number()),
    learned_support_=Array("bool", "n_nodes", "n_columns"),
)
class ExpectedCostEstimator(TreeEstimator):
    """A tree or cascade of linear classifiers, fitted to its expected loss and cost.

    A subclass implements `_design`, which describes its model.
    """

    # Values of parameters that not every subclass has
    structure: str = "full"
    solver: str = "joint"
    sharpness: float | None = None
    class_weight: Any = None
    device: str | None = None

    learned_support_: np.ndarray
    _follows_device = True

    @abstractmethod
    def _design(self, cost_model: CostModel) -> Design:
        """Return the design of the model, given the costs of the columns that the nodes weigh."""

    @abstractmethod
    def _n_nodes(self) -> int:
        """Return the number of nodes of the model before it is fitted."""

    @scipy_on_one_thread()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, validation: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN means that a value is missing. It may be an array of PyTorch or CuPy, or a Dask DataFrame or Array. Then
            y and the weights are Dask collections too, and validation rows are not.
        y : array-like of shape (n,)
            Targets: classes, or numbers for a regressor.
        sample_weight : array-like of shape (n,), optional
            Weight of each row, by default 1. A weight of 2 counts as two identical rows. If some weights are less than
            1, all are first rescaled to a mean of 1.
        qid : array-like of shape (n,), optional
            The query of each row, for ``scoring`` by query. Rows of the same query are held out together.
        validation : tuple (X, y) or (X, y, qid), optional
            Validation rows, used for early stopping and to choose the structure. They are refused if neither is on.
            By default a share ``validation_fraction`` of the training rows is held out if one of these is on.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        refuse_bad_parameters(self)
        rows = self._located(X, y, sample_weight, qid)
        with enough_memory(type(self).__name__, lambda: bytes_of_fit(self, rows.block)):
            problem = pose(self, rows, validation)
            topology, parameters = choose_structure(self, problem)
            problem = problem.with_topology(topology)
            return store(self, problem, solve(self, problem, parameters))

    @scipy_on_one_thread()
    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        cost_weights: Iterable[float] | None = None,
        qid: Any = None,
        validation: Any = None,
    ) -> list[Self]:
        """Fit one model per cost weight, each starting from the solution of the one before.

        This is much faster than as many separate fits. The structure is chosen once, for the smallest cost weight.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN means that a value is missing.
        y : array-like of shape (n,)
            Targets: classes, or numbers for a regressor.
        sample_weight : array-like of shape (n,), optional
            Weight of each row, by default 1.
        cost_weights : iterable of float, optional
            The cost weights. By default those of `usual_cost_weights`, and larger ones until nothing is bought.
        qid : array-like of shape (n,), optional
            The query of each row, for ``scoring`` by query.
        validation : tuple (X, y) or (X, y, qid), optional
            Validation rows, as in `fit`.

        Returns
        -------
        list of estimators
            The fitted models, from the largest cost weight to the smallest. The estimator itself is not changed.
        """
        template = clone(self)
        refuse_bad_parameters(template)
        rows = template._located(X, y, sample_weight, qid)
        with enough_memory(type(self).__name__, lambda: bytes_of_fit(template, rows.block)):
            return self._fit_path(template, pose(template, rows, validation), cost_weights)

    def _fit_path(self, template: Any, problem: Problem, cost_weights: Iterable[float] | None) -> list[Self]:
        """Fit one model per cost weight; see `path`."""
        usual = cost_weights is None
        ascending = problem.usual_cost_weights() if usual else ascending_cost_weights(cost_weights, type(self).__name__)
        topology, parameters = choose_structure(template, problem.with_cost_weight(ascending[0]))
        problem = problem.with_topology(topology)
        models: list[Self] = []
        while ascending:
            problem = problem.with_cost_weight(ascending.pop(0))
            solution = solve(template, problem, parameters)
            parameters = solution.parameters
            cost_weight = problem.objective.cost_weight
            models.append(store(copy(template).set_params(cost_weight=cost_weight), problem, solution))
            if usual and not ascending and problem.prices.any() and problem.buys(parameters):
                ascending.append(USUAL_RATIO * cost_weight)
        return models[::-1]

    def node_supports(self, *, learned: bool = False) -> np.ndarray:
        """Mark the columns of X with a nonzero weight in each node's own model, bought there or before.

        Parameters
        ----------
        learned : bool, default=False
            Whether to mark the columns of the model as learned. Fine-tuning can add those of the parent, and drop some.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_features_in_)
            With a feature map, the columns behind the outputs with a nonzero weight.
        """
        served = super().node_supports()
        if not learned:
            return served
        if self.feature_map_ is None:
            return self.learned_support_
        return np.asarray(self.learned_support_.astype(np.float32) @ self.feature_map_.reads > 0)

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        learned, shape = self.learned_support_, (self.tree_.n_nodes, self.tree_.cost_model.n_features)
        require(learned.shape == shape, "its learned support does not fit its tree")

    def usual_cost_weights(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return the default cost weights of `path` for some training rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weight of each row, by default 1.

        Returns
        -------
        ndarray of shape (n_points,)
            8 to 12 cost weights in descending order and at equal ratios. At the first one usually nothing is bought. At
            the last one, the penalty of the most expensive column is as small as the slope of the loss that a column
            without any relation to the target has by chance, so that more columns would not improve the model. If
            nothing has a price, only ``cost_weight`` itself.
        """
        template = clone(self)
        refuse_bad_parameters(template)
        problem = pose(template, template._located(X, y, sample_weight), None)
        return np.array(problem.usual_cost_weights()[::-1])
