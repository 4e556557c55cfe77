"""Trees of linear nodes over tree outputs: the boosting trick for any estimator that fits a `LinearTree`.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 5.

The fitted `tree_` buys outputs of a forest, at prices derived from those of the columns. Everything that faces the
user speaks of columns of X all the same: what a row acquires is what the trees it bought read, and a session asks for
columns and evaluates trees by itself.
"""

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from thrifty.costs import CostModel
from thrifty.models.base import Run
from thrifty.models.boosting.converters import is_fitted, reader_of
from thrifty.models.boosting.feature_map import BoostedFeatureMap
from thrifty.models.boosting.forest import Forest
from thrifty.models.least_squares.moments import TrainingRows
from thrifty.models.session import Acquire, Feature, Session, Stop
from thrifty.models.trees.estimator import TreeEstimator
from thrifty.models.trees.linear_tree import LinearTree

CELLS_AT_ONCE = 2**22  # tree outputs computed before they are used, 32 MB


class FeatureMapped(TreeEstimator):
    """What an estimator needs for its nodes to be linear in tree outputs instead of columns.

    To be mixed in before `TreeRegressor` or `TreeClassifier`. ``fit`` calls `_map_features` and goes on with what
    that returns in place of X and the cost model; with ``feature_map=None`` these are X and the cost model.

    Parameters
    ----------
    feature_map : None, forest or BoostedFeatureMap
        None: nodes are linear in the columns of X. A fitted forest (of scikit-learn, LightGBM or XGBoost, or a
        `Forest`): nodes are linear in the outputs of its trees. A `BoostedFeatureMap` also says what evaluating a
        tree costs. A forest that is not fitted is cloned and fitted on the training rows first, a regressor on the
        positions of the classes if there are classes; scikit-learn's ``clone``, and so cross-validation, turns a
        fitted one into just that, but leaves `Forest` and `BoostedFeatureMap` as they are.

    Attributes
    ----------
    feature_map_ : BoostedFeatureMap or None
        The map in use.
    """

    feature_map: Any
    feature_map_: Any  # BoostedFeatureMap or None

    def _map_features(self, X: np.ndarray, y: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, CostModel]:
        """Return what the nodes are linear in, one row per row of X, and what acquiring it costs."""
        self.feature_map_ = None
        if self.feature_map is None:
            return X, self.cost_model_
        rows = TrainingRows(X, np.empty((len(X), 0)), count)
        self.feature_map_ = self._resolved_map(rows.X, y, count)
        came_fitted = isinstance(self.feature_map, BoostedFeatureMap) or is_fitted(self.feature_map)
        knows_missing = came_fitted and self.feature_map_.forest.knows_missing  # one fitted here never saw any
        self._fill = None if knows_missing else rows.fill
        outputs = self.feature_map_.transform(X if knows_missing else rows.X)
        return outputs, self.feature_map_.cost_model(self.cost_model_)

    def _resolved_map(self, X: np.ndarray, y: np.ndarray, count: np.ndarray) -> BoostedFeatureMap:
        given = self.feature_map
        if reader_of(given) and not is_fitted(given):
            labels = np.unique(y, return_inverse=True)[1] if is_classifier(self) else y  # not all forests take names
            given = clone(given).fit(X, labels, sample_weight=count)
        feature_map = given if isinstance(given, BoostedFeatureMap) else BoostedFeatureMap(given)
        self._refuse_other_columns(feature_map.forest)
        return feature_map

    def _refuse_other_columns(self, forest: Forest) -> None:
        """Refuse a forest grown on other columns; LightGBM writes its names without blanks."""
        owner, theirs, ours = type(self).__name__, forest.feature_names, getattr(self, "feature_names_in_", None)
        if forest.n_features != self.n_features_in_:
            raise ValueError(
                f"{owner}: feature_map was fitted on {forest.n_features} columns but X has {self.n_features_in_}. "
                "Fit both on the same columns."
            )
        for a, b in zip(theirs or (), ours if ours is not None else (), strict=False):
            if a.replace(" ", "_") != b.replace(" ", "_"):
                raise ValueError(
                    f"{owner}: feature_map was fitted with column {a!r} where X has {b!r}. "
                    "Fit both on the same columns in the same order."
                )

    def _run(self, X: np.ndarray, cap: np.ndarray) -> Run:
        if self.feature_map_ is None:
            return super()._run(X, cap)
        outputs = np.unique(self.tree_.arrays.features).astype(np.int64)
        tree = _reading_only(self.tree_, outputs)
        scores, exits = np.empty((len(X), len(tree.prior))), np.empty(len(X), dtype=np.int64)
        n_rows = CELLS_AT_ONCE // max(1, len(outputs))
        for first in range(0, len(X), n_rows):
            part = slice(first, first + n_rows)
            values = self.feature_map_.forest.outputs(X[part], outputs, self._fill)
            scores[part], exits[part] = tree.run(values, cap[part])
            self._spoil_infinite(X[part], exits[part], scores[part])
        return Run(self._shaped(scores), partial(self._acquired_at, exits), tree.spent_at(exits), exits)

    def _spoil_infinite(self, X: np.ndarray, exits: np.ndarray, scores: np.ndarray) -> None:
        """Make the score of a row that bought an infinity NaN, as a linear node would, for it to be refused."""
        if (infinite := np.isinf(X)).any():
            scores[(infinite & self._acquired_at(exits)).any(axis=1)] = np.nan

    def _acquired_at(self, exits: np.ndarray) -> np.ndarray:
        return self._held_at_nodes().take(exits + 1, axis=0)

    def _held_at_nodes(self) -> np.ndarray:
        """Mark the columns of X (n_nodes + 1, n_features_in_) that a row holds before the root, and at each node."""
        bought = self.tree_.acquired_at(np.arange(-1, self.tree_.n_nodes))
        return bought.astype(np.float32) @ self.feature_map_.reads > 0

    def node_purchases(self) -> np.ndarray:
        """Mark the columns of X that a row acquires on arriving at each node.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_features_in_)
        """
        check_is_fitted(self)
        if self.feature_map_ is None:
            return super().node_purchases()
        held = self._held_at_nodes()
        return held[1:] & ~held[self.tree_.parent + 1]

    def node_supports(self) -> np.ndarray:
        """Mark the columns of X that are read by the trees which each node's own model weighs.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_features_in_)
        """
        check_is_fitted(self)
        if self.feature_map_ is None:
            return super().node_supports()
        reads = self.feature_map_.reads
        return np.array([reads[self.tree_.weighs(k)].any(axis=0) for k in range(self.tree_.n_nodes)])

    def _start(self, cap: float) -> Session:
        session = super()._start(cap)
        if self.feature_map_ is None:
            return session
        return MappedSession(session, self.feature_map_.forest, self._fill, self._feature_ids())


class MappedSession(Session):
    """A row's columns for a session that wants tree outputs.

    Trees whose columns are all held are evaluated without asking. What that costs is announced with the next columns
    asked for; what comes after the last of them is in ``spend`` only.
    """

    def __init__(self, inner: Session, forest: Forest, fill: np.ndarray | None, ids: Any):
        super().__init__()
        self._inner, self._forest, self._fill, self._ids = inner, forest, fill, ids
        self._row = np.empty((1, forest.n_features))
        self._held = np.zeros(forest.n_features, dtype=bool)
        self._wanted: list[Any] = []  # outputs that the inner session waits for
        self._asked: list[int] = []  # columns that they lack
        self._unannounced = 0.0

    def _plan(self) -> Acquire | Stop:
        while isinstance(step := self._inner.next(), Acquire):
            self._wanted = list(step.features)
            self._asked = np.flatnonzero(self._forest.reads[self._wanted].any(axis=0) & ~self._held).tolist()
            self._unannounced += step.cost
            if self._asked:
                names: tuple[Feature, ...] = tuple(self._ids[j] for j in self._asked)
                return Acquire(names, self._unannounced)
            self._evaluate()
        return step

    def _receive(self, values: list[float]) -> None:
        self._row[0, self._asked] = values
        self._held[self._asked] = True
        self._unannounced = 0.0
        self._evaluate()

    def _evaluate(self) -> None:
        outputs = self._forest.outputs(self._row, self._wanted, self._fill)[0].tolist()
        self._inner.observe(dict(zip(self._wanted, outputs, strict=True)))
        self.spend = self._inner.spend


def _reading_only(tree: LinearTree, columns: np.ndarray) -> LinearTree:
    """Return a tree that reads a table of only these columns."""
    narrow = copy(tree)
    features = np.searchsorted(columns, tree.arrays.features.astype(np.int64)).astype(np.uint64)
    narrow.arrays = tree.arrays._replace(features=features, fill=tree.fill[columns])
    return narrow
