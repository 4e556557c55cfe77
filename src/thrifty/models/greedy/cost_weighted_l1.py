"""One sparse linear model for all rows, with an l1 penalty that is weighted by the costs of the features.

It is the baseline that the papers on ASTC and CSTC compare with. A lasso selects the features (see `weighted_lasso`).
Then the weights of the selected features are refitted without the penalty.

Every row buys the same features. They are stored as a chain of nested models, in the order in which features enter as
the penalty decreases. A row with a cap is answered by the longest prefix of the chain that it can afford.
"""

from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier

from thrifty.models.greedy.score_weights import score_weights
from thrifty.models.greedy.weighted_lasso import WeightedLasso
from thrifty.models.least_squares.forward_fit import ForwardFit
from thrifty.models.least_squares.moments import FilledRows, Moments
from thrifty.models.least_squares.node_rows import row_block
from thrifty.models.linear_nodes.estimator import TreeEstimator
from thrifty.models.linear_nodes.tree import END, LinearNode, LinearTree
from thrifty.models.magnitudes import largest_sizes, refuse_extreme_sizes
from thrifty.models.parameters import ascending_cost_weights
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRegressor
from thrifty.stored import Array, stored

LONGEST_CHAIN = 32  # largest number of prefixes that can answer rows with a cap


@stored(support_=Array("int64", "n_bought", low=0, below="n_features_in_"))
class _CostWeightedL1(TreeEstimator):
    """The cost-weighted l1 model for any targets."""

    support_: np.ndarray

    def __init__(self, *, costs: Any = None, cost_weight: float = 0.01):
        self.costs = costs
        self.cost_weight = cost_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Select features with the penalty, then refit their weights without it.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows. NaN means that a value is unavailable; it is replaced by the mean of its column.
        y : array-like of shape (n,)
            Targets or classes; for ranking, the relevance of each document.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.
        qid : array-like of shape (n,), default=None
            The query of each row. The model is fitted to the targets in y and does not use the queries.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        ascending_cost_weights([self.cost_weight], type(self).__name__)
        lasso = self._lasso(X, y, sample_weight, qid)
        return self._refit(lasso, lasso.supports([self.cost_weight])[0])

    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        cost_weights: Iterable[float] | None = None,
        qid: Any = None,
    ) -> list[Self]:
        """Return one fitted model per cost weight, from the largest cost weight to the smallest.

        All models come from one solution path, which takes much less time than as many fits.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Targets or classes; for ranking, the relevance of each document.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.
        cost_weights : iterable of float, default=None
            The cost weights. By default `usual_cost_weights`: a hundred, from the smallest one that buys nothing down
            to a thousandth of it. If prices differ by more than a factor of a thousand, pass smaller ones as well.
        qid : array-like of shape (n,), default=None
            The query of each row. The models do not use it.

        Returns
        -------
        list of estimators
            In descending order of their cost weights: the first models buy least.
        """
        template = clone(self)
        lasso = template._lasso(X, y, sample_weight, qid)
        if cost_weights is None:
            cost_weights = lasso.usual_cost_weights
        descending = ascending_cost_weights(cost_weights, type(self).__name__)[::-1]
        fitted: dict[tuple[int, ...], Self] = {}  # neighbours on the path often have the same support
        models = []
        for weight, support in zip(descending, lasso.supports(descending), strict=True):
            known = fitted.get(tuple(support))
            model = copy(known) if known else copy(template)._refit(lasso, support)
            fitted[tuple(support)] = model
            models.append(model.set_params(cost_weight=weight))
        return models

    def usual_cost_weights(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return the cost weights that `path` uses by default.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Targets or classes.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.

        Returns
        -------
        ndarray of shape (100,)
            In descending order.
        """
        return clone(self)._lasso(X, y, sample_weight).usual_cost_weights

    def _lasso(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> WeightedLasso:
        rows = self._located(X, y, sample_weight, qid)
        refuse_extreme_sizes(rows.collect(largest_sizes), self._feature_ids(), type(self).__name__)
        data = FilledRows.at(rows.map(row_block, self._encoder(rows)))
        return WeightedLasso(data, self.cost_model_)

    def _refit(self, lasso: WeightedLasso, support: np.ndarray) -> Self:
        """Refit the features of a support without penalty and store its prefixes as a chain."""
        data, classification = lasso.data, is_classifier(self)
        nodes, self.support_ = _nested_models(lasso.moments, support, classification)
        self.tree_ = LinearTree(nodes, data.prior(classification), self.cost_model_, data.fill)
        return self


def _nested_models(moments: Moments, support: np.ndarray, classification: bool) -> tuple[list[LinearNode], np.ndarray]:
    """Return a chain of models, each with a few more features than the one before, and the features in use."""
    fit = ForwardFit(moments)
    nodes: list[LinearNode] = []
    for group in np.array_split(support, min(max(len(support), 1), LONGEST_CHAIN)):
        buys = [int(feature) for feature in np.sort(group) if fit.add_if_usable(int(feature))]
        weights, intercepts = score_weights(fit, fit.coefficients(), classification)
        following = len(nodes) + 1
        nodes.append(LinearNode(buys, weights, intercepts, weights[0], upper=following, lower=following))
    nodes[-1].upper = nodes[-1].lower = END
    return nodes, np.array(fit.selected, dtype=int)


class CostWeightedL1Regressor(_CostWeightedL1, BudgetedRegressor):
    """One sparse linear regression for all rows, with a penalty in proportion to the costs of the features.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means a cost of 1 for each feature.
    cost_weight : float, default=0.01
        Penalty per unit of cost, for columns and targets of unit variance. A larger value buys fewer features; 0 buys
        all of them.

    Attributes
    ----------
    support_ : ndarray of int
        The features that every row buys, in the order in which they entered the model.
    tree_ : LinearTree
        A chain of nested models. Each node adds features to the model of the node before.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. It exists only if all columns have names.

    References
    ----------
    R. Tibshirani (1996). Regression Shrinkage and Selection via the Lasso. Journal of the Royal Statistical Society B
    58.
    M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen (2014). Feature-Cost Sensitive Learning with
    Submodular Trees of Classifiers. AAAI. It compares ASTC with this model.

    Examples
    --------
    In the quadrants each expensive feature is useful for only a part of the rows. So a model that buys the same
    features for all rows buys only the two signs, at a price of 1 each:

    >>> from thrifty import CostWeightedL1Regressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(500, random_state=0)
    >>> models = CostWeightedL1Regressor(costs=data.costs).path(data.X, data.y)
    >>> [float(models[k].spend(data.X).mean()) for k in (0, -1)]
    [0.0, 2.0]
    """


class CostWeightedL1Classifier(_CostWeightedL1, BudgetedClassifier):
    """One sparse linear classifier for all rows, with a penalty in proportion to the costs of the features.

    Two classes are one target of +-1, more classes are one-hot targets. The refitted scores are calibrated to log-odds.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means a cost of 1 for each feature.
    cost_weight : float, default=0.01
        Penalty per unit of cost, for columns and targets of unit variance. A larger value buys fewer features; 0 buys
        all of them.

    Attributes
    ----------
    support_ : ndarray of int
        The features that every row buys, in the order in which they entered the model.
    tree_ : LinearTree
        A chain of nested models. Each node adds features to the model of the node before.
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the columns of ``predict_proba``.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. It exists only if all columns have names.

    References
    ----------
    R. Tibshirani (1996). Regression Shrinkage and Selection via the Lasso. Journal of the Royal Statistical Society B
    58.
    M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen (2014). Feature-Cost Sensitive Learning with
    Submodular Trees of Classifiers. AAAI. It compares ASTC with this model.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Classifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> model = CostWeightedL1Classifier(costs=heart.costs, cost_weight=0.02).fit(heart.X, heart.y)
    >>> [heart.names[j] for j in model.support_[:2]]
    ['cp', 'sex']
    """
