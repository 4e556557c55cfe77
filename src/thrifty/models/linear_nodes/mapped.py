"""Prediction of trees whose nodes are linear in the outputs of a forest.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 5.

The fitted tree of linear nodes buys outputs of a forest; their prices are derived from those of the columns of X. Users
buy columns of X: a row acquires all columns that the bought trees of the forest read. A session asks for columns and
evaluates the trees of the forest itself.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from thrifty.models.derived import DerivedColumns, DerivedSession
from thrifty.models.forests.feature_map import BoostedFeatureMap
from thrifty.models.forests.forest import Forest
from thrifty.models.linear_nodes.tree import LinearTree
from thrifty.models.session import Feature, Session

CELLS_AT_ONCE = 2**22  # outputs in memory at a time, 32 MB


class MappedTree:
    """A tree of linear nodes over the outputs of a forest, described by the columns of X.

    Parameters
    ----------
    tree : LinearTree
        Its features are outputs of the forest.
    feature_map : BoostedFeatureMap
        Computes the outputs from the columns of X.
    fill : ndarray of shape (n_columns,) or None
        Values that replace NaN in X; None if the forest handles NaN itself.
    """

    def __init__(self, tree: LinearTree, feature_map: BoostedFeatureMap, fill: np.ndarray | None):
        self.tree, self.feature_map, self.fill = tree, feature_map, fill

    def run(self, X: np.ndarray, cap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores (n, n_scores) and the exits (n,) of rows, as `LinearTree.run` does."""
        outputs = np.unique(self.tree.arrays.features).astype(np.int64)
        tree = _renumbered(self.tree, outputs)
        scores, exits = np.empty((len(X), len(tree.prior))), np.empty(len(X), dtype=np.int64)
        n_rows = CELLS_AT_ONCE // max(1, len(outputs))
        for first in range(0, len(X), n_rows):
            part = slice(first, first + n_rows)
            values = self.feature_map.forest.outputs(X[part], outputs, self.fill)
            scores[part], exits[part] = tree.run(values, cap[part])
            self._mark_infinite(X[part], exits[part], scores[part])
        return scores, exits

    def _mark_infinite(self, X: np.ndarray, exits: np.ndarray, scores: np.ndarray) -> None:
        """Set the scores of rows that acquired an infinite value to NaN, so that the estimator refuses them."""
        if (infinite := np.isinf(X)).any():
            scores[(infinite & self.acquired_at(exits)).any(axis=1)] = np.nan

    def spent_at(self, exits: np.ndarray) -> np.ndarray:
        """Return what rows have spent at these nodes (n,); -1 means before the root."""
        return self.tree.spent_at(exits)

    def acquired_at(self, exits: np.ndarray) -> np.ndarray:
        """Return the columns of X (n, n_columns) that rows have acquired at these nodes; -1 means before the root."""
        return self._held().take(exits + 1, axis=0)

    def _held(self) -> np.ndarray:
        """Mark the columns of X (n_nodes + 1, n_columns) that a row holds before the root and at each node."""
        bought = self.tree.acquired_at(np.arange(-1, self.tree.n_nodes))
        return bought.astype(np.float32) @ self.feature_map.reads > 0

    @property
    def purchases(self) -> np.ndarray:
        """The columns of X that a row acquires on arriving at each node, bool (n_nodes, n_columns)."""
        held = self._held()
        return held[1:] & ~held[self.tree.parent + 1]

    @property
    def supports(self) -> np.ndarray:
        """The columns of X behind the outputs with a weight in each node's own model, bool (n_nodes, n_columns)."""
        reads = self.feature_map.reads
        return np.array([reads[self.tree.weighs(k)].any(axis=0) for k in range(self.tree.n_nodes)])

    def over_columns(self, session: Session, ids: Sequence[Feature]) -> Session:
        """Return a session that asks for columns of X, given a session of the tree that asks for outputs.

        Parameters
        ----------
        session : Session
            Asks for outputs of the forest, by position.
        ids : sequence of str or int
            Names or positions of the columns of X.

        Returns
        -------
        Session
        """
        return DerivedSession(session, ForestOutputs(self.feature_map.forest, self.fill), ids)


class ForestOutputs(DerivedColumns):
    """Outputs of a forest, which are derived from the columns that its trees read.

    Parameters
    ----------
    forest : Forest
    fill : ndarray of shape (n_columns,) or None
        Values that replace NaN; None if the forest handles NaN itself.
    """

    def __init__(self, forest: Forest, fill: np.ndarray | None):
        self._forest, self._fill = forest, fill
        self._row = np.empty((1, forest.n_features))

    def sources(self, derived: Sequence[Feature]) -> list[int]:
        """Return the positions of the columns that the trees of some outputs read."""
        return np.flatnonzero(self._forest.reads[np.array(derived, dtype=int)].any(axis=0)).tolist()

    def values(self, derived: Sequence[Feature], held: dict[int, Any]) -> list[float]:
        """Return the values of some outputs, given the values of the columns by position."""
        self._row[0, list(held)] = list(held.values())
        return self._forest.outputs(self._row, list(derived), self._fill)[0].tolist()


def _renumbered(tree: LinearTree, columns: np.ndarray) -> LinearTree:
    """Return the same tree for a table that consists of only these columns, which must be sorted."""
    narrow = copy(tree)
    features = np.searchsorted(columns, tree.arrays.features.astype(np.int64)).astype(np.uint64)
    narrow.arrays = tree.arrays._replace(features=features, fill=tree.fill[columns])
    return narrow
