"""The boosting trick: tree outputs as features, priced by what the trees read and what evaluating them takes.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 5.

A linear model of phi(x) = (h_1(x), ..., h_T(x)), the outputs of T small trees, is not linear in x. It buys trees: one
that gets a weight costs its evaluation, e_t, and whatever it splits on (the matrix F) that is not paid for yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.forests.forest import Forest


class BoostedFeatureMap:
    """The outputs of a fitted forest as features.

    Frozen: scikit-learn's ``clone`` hands it on as it is, so a cross-validation shares one map. If that has seen the
    rows held out, pass the unfitted forest instead and have it fitted in each fold.

    Parameters
    ----------
    forest : Forest or fitted model
        Whatever `Forest.from_model` reads: a fitted forest of ours, of scikit-learn, LightGBM or XGBoost.
    evaluation_costs : float or array-like of shape (n_trees,), default=0
        What evaluating each tree costs, in the unit of the features' prices. A row pays it once for each tree that it
        buys, on top of the columns that the tree reads.

    Attributes
    ----------
    reads : ndarray of bool, shape (n_outputs, n_features)
        Which columns each output is computed from.

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
        """Which columns each output is computed from."""
        return self.forest.reads

    def transform(self, X: Any) -> np.ndarray:
        """Return phi(x) of each row.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN goes where each split learned to send it, or left where none was learned.

        Returns
        -------
        ndarray of shape (n, n_outputs)
        """
        return self.forest.outputs(X)

    def cost_model(self, raw: CostModel) -> CostModel:
        """Return the costs of the outputs, given those of the columns of X.

        Parameters
        ----------
        raw : CostModel
            What the columns cost.

        Returns
        -------
        CostModel
            Of as many features as there are outputs. Outputs of one tree share its evaluation.
        """
        trees = raw.derive(self.forest.tree_reads, self.evaluation_costs)
        if self.forest.n_outputs == self.forest.n_trees:
            return trees
        n_values = self.forest.n_outputs // self.forest.n_trees
        return trees.derive(np.eye(self.forest.n_trees, dtype=bool).repeat(n_values, axis=0), 0.0)

    def __setstate__(self, state: dict[str, Any]) -> None:
        BoostedFeatureMap.__init__(self, state["forest"], evaluation_costs=state["evaluation_costs"])

    def __sklearn_clone__(self) -> BoostedFeatureMap:
        return self

    def __repr__(self) -> str:
        return f"BoostedFeatureMap({self.forest!r}, evaluation_costs={self.evaluation_costs!r})"
