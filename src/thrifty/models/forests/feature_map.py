"""Outputs of trees as features, with costs for what the trees read and for evaluating them.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 5.

A linear model of phi(x) = (h_1(x), ..., h_T(x)), the outputs of T small trees, is nonlinear in x. If tree t has a
nonzero weight, a row pays e_t for evaluating it, and the columns that the tree splits on (F_{a,t} = 1 for column a)
unless they are paid already.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.forests.forest import Forest
from thrifty.stored import Number, OneOrMany, Structure, stored


@stored(forest=Structure(Forest), evaluation_costs=OneOrMany(Number(0, finite=True)))
class BoostedFeatureMap:
    """The outputs of a fitted forest as features.

    A map is immutable, and scikit-learn's ``clone`` returns the same object, so all folds of a cross-validation share
    one map. If the forest was fitted to rows that are held out, pass the unfitted forest instead: it is then fitted in
    each fold.

    Parameters
    ----------
    forest : Forest or fitted model
        Any model that `Forest.from_model` reads: a fitted forest of thrifty, scikit-learn, LightGBM or XGBoost.
    evaluation_costs : float or array-like of shape (n_trees,), default=0.0
        What evaluating each tree costs, in the unit of the feature costs. A row pays this once for each tree that it
        buys, in addition to the columns that the tree reads.

    Attributes
    ----------
    forest : Forest
        The trees.
    evaluation_costs : float or tuple of float
        The evaluation costs as given.
    reads : ndarray of bool, shape (n_outputs, n_features)
        The columns that each output is computed from.

    References
    ----------
    Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
    Evaluation Cost. JMLR 15, 2014, section 5.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from thrifty import CostModel
    >>> from thrifty.models.forests.feature_map import BoostedFeatureMap
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 4.0, 5.0]
    >>> forest = GradientBoostingRegressor(n_estimators=2, max_depth=1, learning_rate=1.0).fit(X, y)
    >>> trees = BoostedFeatureMap(forest, evaluation_costs=0.1)
    >>> trees
    BoostedFeatureMap(Forest(2 trees, 6 nodes, 2 of 2 features read), evaluation_costs=0.1)
    >>> trees.transform(X[:2])
    array([[-2. , -0.5],
           [-2. ,  0.5]])
    >>> trees.cost_model(CostModel([5.0, 20.0])).of([[True, False], [True, True]])
    array([ 5.1, 25.2])
    """

    def __init__(self, forest: Any, *, evaluation_costs: Any = 0.0):
        self.forest = Forest.from_model(forest)
        self.evaluation_costs = evaluation_costs if np.ndim(evaluation_costs) == 0 else tuple(evaluation_costs)
        self.cost_model(CostModel(np.zeros(self.forest.n_features)))  # refuses bad evaluation costs now, not in fit

    @property
    def reads(self) -> np.ndarray:
        """The columns that each output is computed from, shape (n_outputs, n_features)."""
        return self.forest.reads

    def transform(self, X: Any) -> np.ndarray:
        """Return the outputs phi(x) of the trees for each row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN goes where each split learned to send it, or left if this was not learned.

        Returns
        -------
        ndarray of shape (n, n_outputs)
        """
        return self.forest.outputs(X)

    def cost_model(self, raw: CostModel) -> CostModel:
        """Return the costs of the outputs.

        Parameters
        ----------
        raw : CostModel
            The costs of the columns of X.

        Returns
        -------
        CostModel
            One feature per output. The outputs of one tree share the cost of evaluating it.
        """
        trees = raw.derive(self.forest.tree_reads, self.evaluation_costs)
        if self.forest.n_outputs == self.forest.n_trees:
            return trees
        n_values = self.forest.n_outputs // self.forest.n_trees
        return trees.derive([[tree] for tree in range(self.forest.n_trees) for _ in range(n_values)], 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return {"forest": self.forest, "evaluation_costs": self.evaluation_costs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.forest, self.evaluation_costs = state["forest"], state["evaluation_costs"]
        if isinstance(costs := self.evaluation_costs, tuple) and len(costs) != self.forest.n_trees:
            raise ValueError(f"a feature map has {len(costs)} evaluation costs for {self.forest.n_trees} trees")

    def __sklearn_clone__(self) -> BoostedFeatureMap:
        return self

    def __repr__(self) -> str:
        return f"BoostedFeatureMap({self.forest!r}, evaluation_costs={self.evaluation_costs!r})"
