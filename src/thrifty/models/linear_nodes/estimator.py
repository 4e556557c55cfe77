"""Base of every estimator whose fitted form is a tree of linear nodes."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thrifty.models.base import BudgetedEstimator, Run, drop_single_column
from thrifty.models.forests.converters import is_fitted
from thrifty.models.forests.feature_map import BoostedFeatureMap
from thrifty.models.forests.forest import Forest
from thrifty.models.linear_nodes.mapped import MappedTree
from thrifty.models.linear_nodes.session import TreeSession
from thrifty.models.linear_nodes.stages import stages_of
from thrifty.models.linear_nodes.tree import LinearTree
from thrifty.models.outline import Columns, Outline
from thrifty.models.session import Session
from thrifty.models.soundness import require
from thrifty.stored import Array, Maybe, OrNone, Structure, stored


@stored(
    tree_=Structure(LinearTree),
    feature_map_=Maybe(OrNone(Structure(BoostedFeatureMap))),
    _fill=Maybe(OrNone(Array("float64", "n_features_in_"))),
)
class TreeEstimator(BudgetedEstimator):
    """Base of estimators whose fitted model is a tree of linear nodes.

    A subclass implements ``fit``, which sets `tree_`.

    Attributes
    ----------
    tree_ : LinearTree
        The fitted nodes. With a feature map they are linear in its outputs.
    feature_map_ : BoostedFeatureMap or None
        The feature map; None if the nodes are linear in the columns of X.
    """

    tree_: LinearTree
    feature_map_: Any = None
    _fill: np.ndarray | None = None  # values that replace NaN in X before the feature map is applied

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    def _over_columns(self) -> LinearTree | MappedTree:
        """Return the tree, described by the columns of X."""
        return self.tree_ if self.feature_map_ is None else MappedTree(self.tree_, self.feature_map_, self._fill)

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        tree = self._over_columns()
        scores, exits = tree.run(X, cap)
        return Run(drop_single_column(scores), partial(tree.acquired_at, exits), tree.spent_at(exits), exits)

    def _start(self, cap: float) -> Session:
        session = TreeSession(self.tree_, cap, self._answer_one)
        tree = self._over_columns()
        return tree.over_columns(session, self._feature_ids()) if isinstance(tree, MappedTree) else session

    def node_purchases(self) -> np.ndarray:
        """Mark the columns of X that a row acquires on arriving at each node.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_features_in_)
        """
        check_is_fitted(self)
        return self._over_columns().purchases

    def node_supports(self) -> np.ndarray:
        """Mark the columns of X with a nonzero weight in each node's own model, bought there or before.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_features_in_)
            With a feature map, the columns behind the outputs with a nonzero weight.
        """
        check_is_fitted(self)
        return self._over_columns().supports

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        label = columns.labels.__getitem__ if self.feature_map_ is None else "tree {}".format
        purchases = columns.to_bought(self.node_purchases())
        stages = stages_of(self.tree_, columns, purchases, label, exits)
        summary = "Rows buy columns in stages; the values of these columns decide which stage comes next."
        return self._outlined(columns, summary, stages=stages)

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        tree, costs = self.tree_, self.cost_model_
        require(len(tree.prior) == self._n_scores(), "its tree has another number of scores")
        if self.feature_map_ is not None:
            n_columns = self.feature_map_.forest.n_features
            require(n_columns == costs.n_features, "its feature map reads other columns")
            costs = self.feature_map_.cost_model(costs)
        require(tree.cost_model == costs, "its tree has other costs")

    def _state_to_store(self) -> dict[str, Any]:
        """Return the attributes; a fitted forest of another library that is the feature map becomes a Forest."""
        state = super()._state_to_store()
        given = state.get("feature_map")
        if given is not None and not isinstance(given, BoostedFeatureMap) and is_fitted(given):
            state["feature_map"] = Forest.from_model(given)
        return state
