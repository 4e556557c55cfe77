"""A forest as flat arrays, whoever grew it.

Every tree is a column or several: its output for a row is what stands at the leaf that the row falls into. Outputs
add up to the raw prediction of the model that the forest was read from, shrinkage, tree weights and averaging having
been worked into the leaves:

    raw score s of a row  =  base[s]  +  sum of the outputs j with score_of[j] == s

Libraries differ in how they compare (scikit-learn's trees and XGBoost round values to float32 first, XGBoost asks for
less than rather than at most). Here there is one rule, ``x <= threshold`` goes left, in double precision; the
differences have gone into the thresholds, so that every row takes the path it takes in the original. A split may list
categories instead, which go left; and each says where a missing value goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.kernels.forest import forest_outputs
from thrifty.kernels.threads import over_rows
from thrifty.models.forests.layout import (
    LEAF,
    category_sets,
    column,
    explore,
    flat_sets,
    frozen,
    laid_out,
    refuse_misfits,
    sets_of,
    within,
)
from thrifty.models.forests.tree import Tree, put_together

if TYPE_CHECKING:
    from thrifty.costs import CostModel
    from thrifty.models.forests.estimator import ForestEstimator
    from thrifty.models.forests.priced_forest import PricedForest
    from thrifty.models.forests.task import Task

__all__ = ["LEAF", "Forest", "Tree"]

PARTS = (
    *("feature", "threshold", "left", "right", "value", "starts"),
    *("n_features", "base", "score_of", "feature_names", "task"),
)


class Forest:
    """A forest of binary trees as flat arrays.

    Frozen: it can be pickled, shared between threads and passed through scikit-learn's ``clone``.

    Parameters
    ----------
    feature : array-like of int, shape (n_nodes,)
        The column that a node looks at; -1 marks a leaf.
    threshold : array-like of shape (n_nodes,)
        A row whose value is at most this goes left, any other goes right.
    left, right : array-like of int, shape (n_nodes,)
        The children, as positions in these arrays; leaves have none, whatever stands here.
    value : array-like of shape (n_nodes,) or (n_nodes, n_values)
        What a leaf puts out: one number, or several (one per class, say), each of which is an output of its own.
    starts : array-like of int, shape (n_trees,)
        The root of each tree.
    n_features : int
        How many columns X has.
    base : float or array-like of shape (n_scores,)
        What the outputs are added to.
    score_of : array-like of int, shape (n_outputs,), optional
        Which score each output adds to; in turn by default.
    feature_names : sequence of str, optional
        The names of the columns that the forest was grown on.
    missing_left : array-like of bool, shape (n_nodes,), optional
        Whether NaN goes left at a node. By default nobody learned where it should go, and it goes left.
    categories : dict, optional
        ``{node: codes}``: at this node the rows whose value is one of these whole numbers go left and any other goes
        right; the threshold is not looked at. Digits behind the point are cut off.
    task : Task, optional
        What the sums mean; by default they are the values that a regression predicts.

    Attributes
    ----------
    reads : ndarray of bool, shape (n_outputs, n_features)
        The columns that the tree behind each output splits on: the matrix F of Xu et al., transposed.
    tree_reads : ndarray of bool, shape (n_trees, n_features)
        The same, tree by tree.
    knows_missing : bool
        Whether `missing_left` was given.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from thrifty.models.forests.forest import Forest
    >>> X, y = [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], [0.0, 0.0, 1.0, 1.0]
    >>> forest = Forest.from_model(GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(X, y))
    >>> forest
    Forest(2 trees, 6 nodes, 1 of 2 features read)
    >>> forest.outputs([[0.0, 5.0], [3.0, 5.0]])
    array([[-0.05 , -0.045],
           [ 0.05 ,  0.045]])
    >>> forest.base
    array([0.5])
    """

    def __init__(
        self,
        feature: Any,
        threshold: Any,
        left: Any,
        right: Any,
        value: Any,
        starts: Any,
        *,
        n_features: int,
        base: Any = 0.0,
        score_of: Any = None,
        feature_names: Sequence[str] | None = None,
        missing_left: Any = None,
        categories: Mapping[int, Sequence[int]] | None = None,
        task: Task | None = None,
    ):
        self.feature = column(feature, "feature", np.int64)
        self.threshold = column(threshold, "threshold", np.float64)
        self.left = column(left, "left", np.int64)
        self.right = column(right, "right", np.int64)
        self.value = frozen(np.array(value, dtype=np.float64))
        if self.value.ndim == 1:
            self.value = self.value[:, None]
        self.starts = column(starts, "starts", np.int64)
        self.n_features = int(n_features)
        self.base = frozen(np.array(base, dtype=np.float64, ndmin=1))
        in_turn = np.arange(self.n_outputs) % len(self.base)
        self.score_of = column(in_turn if score_of is None else score_of, "score_of", np.int64)
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        self.task = task
        self.knows_missing = missing_left is not None
        anywhere = np.ones(len(self.feature), dtype=bool)
        self.missing_left = column(missing_left if self.knows_missing else anywhere, "missing_left", np.bool_)
        self.categories = MappingProxyType(category_sets(categories, self.feature))
        refuse_misfits(self)
        depth, self.tree_reads, self._tree_of = explore(self)
        self.reads = frozen(np.repeat(self.tree_reads, self.value.shape[1], axis=0))
        self.arrays = laid_out(self, depth, self._tree_of)
        self._last_priced: PricedForest | None = None

    @classmethod
    def from_model(cls, model: Any) -> Forest:
        """Read the trees of a fitted model.

        Parameters
        ----------
        model : fitted estimator, Booster or Forest
            Ours (whatever has a ``forest_``); scikit-learn's random forests, extra trees, gradient boosting,
            histogram gradient boosting, decision trees and AdaBoostClassifier over trees; LightGBM's and XGBoost's
            boosters and estimators. A Forest is returned as it is.

        Returns
        -------
        Forest
            Random forests for classification put out probabilities: of the second class if there are two, else one
            output per class and tree. Boosters of several classes have a tree per class and round, one output each.
            Where missing values and categories go is kept. Categories with names are known by their codes, so pass
            ``column.cat.codes`` in place of a pandas column.
        """
        if isinstance(model, Forest):
            return model
        from thrifty.models.forests.converters import convert

        return convert(model)

    @classmethod
    def from_trees(cls, trees: Iterable[Tree], **rest: Any) -> Forest:
        """Put trees one after another; the rest is passed on.

        Examples
        --------
        >>> from thrifty.models.forests.forest import Forest, Tree
        >>> stump = Tree(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, 0, 0], right=[2, 0, 0], value=[0, -1, 1])
        >>> Forest.from_trees([stump, stump], n_features=1).outputs([[0.5], [0.6]])
        array([[-1., -1.],
               [ 1.,  1.]])
        """
        return cls(**put_together(list(trees)), **rest)

    def prefix(self, n_trees: int) -> Forest:
        """Return the first trees as a forest.

        Parameters
        ----------
        n_trees : int
            How many, at least one.

        Returns
        -------
        Forest

        Examples
        --------
        >>> from thrifty.models.forests.forest import Forest, Tree
        >>> stump = Tree(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, 0, 0], right=[2, 0, 0], value=[0, -1, 1])
        >>> Forest.from_trees([stump, stump], n_features=1).prefix(1)
        Forest(1 tree, 3 nodes, 1 of 1 features read)
        """
        if not 1 <= n_trees <= self.n_trees:
            raise ValueError(f"Forest: n_trees is {n_trees!r}; expected 1 to {self.n_trees}, as many as there are.")
        kept = (self._tree_of >= 0) & (self._tree_of < n_trees)
        place = np.cumsum(kept) - 1
        inner = self.feature != LEAF  # what stands for the children of a leaf may be anything
        left, right = (np.where(inner, place[np.where(inner, side, 0)], 0) for side in (self.left, self.right))
        share = self.n_trees / n_trees if self.task and self.task.averaged else 1.0
        return self.replace(
            feature=self.feature[kept],
            threshold=self.threshold[kept],
            left=left[kept],
            right=right[kept],
            value=share * self.value[kept],
            starts=place[self.starts[:n_trees]],
            score_of=self.score_of[: n_trees * self.value.shape[1]],
            missing_left=self.missing_left[kept] if self.knows_missing else None,
            categories={int(place[node]): codes for node, codes in self.categories.items() if kept[node]},
        )

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.starts)

    @property
    def n_outputs(self) -> int:
        """How many outputs there are: one per tree, or one per tree and value."""
        return len(self.starts) * self.value.shape[1]

    def outputs(self, X: Any, columns: Any = None, fill: Any = None) -> np.ndarray:
        """Return what the trees put out.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        columns : array-like of int, optional
            The outputs wanted, all by default. Columns of X that their trees do not read are never looked at.
        fill : array-like of shape (n_features,), optional
            What stands in for NaN; without it NaN goes where each split sends it.

        Returns
        -------
        ndarray of shape (n, n_outputs), or (n, len(columns))
        """
        rows = self._rows(X)
        wanted = np.arange(self.n_outputs) if columns is None else self._checked(columns)
        read = np.flatnonzero(self.reads[wanted].any(axis=0))
        stand_in = np.full(self.n_features, np.nan) if fill is None else np.asarray(fill, dtype=np.float64)
        out = np.empty((len(rows), len(wanted)))
        over_rows(
            lambda first, last: forest_outputs(self.arrays, wanted, read, stand_in, rows, first, last, out), len(rows)
        )
        return out

    def scores(self, X: Any) -> np.ndarray:
        """Return the raw prediction (n, n_scores) of the model that the forest was read from."""
        outputs = self.outputs(X)
        return self.base + np.stack([outputs[:, self.score_of == s].sum(axis=1) for s in range(len(self.base))], axis=1)

    def with_costs(self, costs: Any = None, evaluation_costs: Any = 0.0) -> ForestEstimator:
        """Return the forest as a budgeted estimator: features bought as paths ask for them, hard caps, lazy sessions.

        Parameters
        ----------
        costs : array-like, dict, CostModel or None
            What each feature costs to acquire; ``None`` means one unit each.
        evaluation_costs : float or array-like of shape (n_trees,), default=0
            What evaluating a tree costs each row that enters it.

        Returns
        -------
        BudgetedEstimator
            Fitted: a regressor, classifier or ranker that without a cap predicts what the original predicts. Under a
            cap a row is answered by the trees that it could pay for: their sum, or their average if the original
            averages.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from thrifty import Forest
        >>> from thrifty.datasets import load_heart
        >>> heart = load_heart()
        >>> forest = RandomForestClassifier(n_estimators=20, max_depth=4, random_state=0).fit(heart.X, heart.y)
        >>> model = Forest.from_model(forest).with_costs(heart.costs)
        >>> bool((model.predict(heart.X) == forest.predict(heart.X)).all())
        True
        >>> model.spend(heart.X, cap=100).max() <= 100
        np.True_
        >>> model.session(cap=100).next()
        Acquire(features=('oldpeak',), cost=87.3)
        """
        from thrifty.models.forests.budgeted_forest import budgeted

        return budgeted(self, costs, evaluation_costs)

    def priced(self, cost_model: CostModel, evaluation_costs: Any = 0.0) -> PricedForest:
        """Return the forest with what it costs; asked for the same again, the same is returned."""
        from thrifty.models.forests.priced_forest import PricedForest

        last = self._last_priced
        if last is None or last.cost_model is not cost_model or last.evaluation_costs is not evaluation_costs:
            last = self._last_priced = PricedForest(self, cost_model, evaluation_costs)
        return last

    def _rows(self, X: Any) -> np.ndarray:
        rows = np.ascontiguousarray(X)
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"Forest: X has shape {rows.shape}; expected (n, {self.n_features}).")
        return rows

    def _checked(self, columns: Any) -> np.ndarray:
        wanted = np.asarray(columns, dtype=np.int64)
        if wanted.ndim != 1 or not within(wanted, 0, self.n_outputs):
            raise ValueError(f"Forest: columns is {columns!r}; expected outputs from 0 to {self.n_outputs - 1}.")
        return wanted

    # A frozen value

    def _parts(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in PARTS}
        missing_left = self.missing_left if self.knows_missing else None
        return parts | {"missing_left": missing_left, "categories": dict(self.categories)}

    def replace(self, **parts: Any) -> Forest:
        """Return a forest with some parts of this one replaced, named as they are passed to ``Forest``."""
        return Forest(**self._parts() | parts)

    def __getstate__(self) -> dict[str, Any]:
        names = None if self.feature_names is None else np.array(self.feature_names, dtype=np.str_)
        return self._parts() | {"feature_names": names, "categories": flat_sets(self.categories)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Forest.__init__(self, **state | {"categories": sets_of(*state["categories"])})

    def __sklearn_clone__(self) -> Forest:
        return self

    def __repr__(self) -> str:
        counts = f"{self.n_trees} tree{'s' * (self.n_trees != 1)}, {len(self.feature)} nodes"
        return f"Forest({counts}, {self.reads.any(axis=0).sum()} of {self.n_features} features read)"
