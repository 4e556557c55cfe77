"""A forest of decision trees of any library, as flat arrays.

The output of a tree for a row is the value of the leaf that the row reaches. The sum of the outputs is the raw
prediction of the original model, because shrinkage, tree weights and averaging are part of the leaf values:

    raw score s of a row  =  base[s]  +  sum of the outputs j with score_of[j] == s

Libraries compare values in different ways: scikit-learn's trees and XGBoost first round values to float32, and XGBoost
sends a row left if its value is less than the threshold, not equal to it. Here a row goes left if ``x <= threshold``,
in double precision. Converters change the thresholds so that every row takes the same path as in the original model. A
split may list the categories that go left instead of a threshold. Each split says where a missing value goes.
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
    MAX_CATEGORIES,
    MAX_FEATURES,
    all_within,
    check_arrays,
    checked_category_sets,
    flatten_sets,
    frozen,
    frozen_column,
    kernel_arrays,
    traverse,
    unflatten_sets,
)
from thrifty.models.forests.levels import CategoryLevels, checked_columns, refuse_unknown_levels, stated_levels
from thrifty.models.forests.task import Task
from thrifty.models.forests.tree import Tree, concatenate_trees
from thrifty.stored import Array, Lengths, OrNone, Structure, Texts, Whole, stored

if TYPE_CHECKING:
    from thrifty.costs import CostModel
    from thrifty.models.forests.estimator import ForestEstimator
    from thrifty.models.forests.priced_forest import PricedForest
    from thrifty.models.session import Feature

__all__ = ["LEAF", "Forest", "Tree"]

PARTS = (
    *("feature", "threshold", "left", "right", "value", "starts"),
    *("n_features", "base", "score_of", "feature_names", "task", "levels", "expected"),
)


@stored(
    n_features=Whole(1, MAX_FEATURES),
    feature=Array("int64", "n_nodes", low=LEAF, below="n_features"),
    threshold=Array("float64", "n_nodes"),
    left=Array("int64", "n_nodes"),  # the entries of leaves are ignored; the constructor checks the others
    right=Array("int64", "n_nodes"),
    value=Array("float64", "n_nodes", "n_values"),
    starts=Array("int64", "n_trees", low=0, below="n_nodes"),
    base=Array("float64", "n_scores", finite=True),
    score_of=Array("int64", "n_outputs", low=0, below="n_scores"),
    expected=Array("float64", "n_outputs", finite=True),
    feature_names=OrNone(Texts("n_features")),
    task=OrNone(Structure(Task)),
    levels=OrNone(Structure(CategoryLevels)),
    missing_left=OrNone(Array("bool", "n_nodes")),
    category_codes=Array("int64", "n_codes", low=0, below=MAX_CATEGORIES),
    category_nodes=Array("int64", "n_sets", low=0, below="n_nodes"),
    category_sizes=Lengths("n_sets", total="n_codes"),
)
class Forest:
    """A forest of binary trees as flat arrays.

    A forest is immutable. It can be pickled, shared between threads and passed through scikit-learn's ``clone``.

    Parameters
    ----------
    feature : array-like of int, shape (n_nodes,)
        The column that a node splits on; -1 marks a leaf.
    threshold : array-like of shape (n_nodes,)
        A row whose value is at most the threshold goes to the left child, any other row to the right child.
    left, right : array-like of int, shape (n_nodes,)
        The children, as positions in these arrays. The entries of leaves are ignored.
    value : array-like of shape (n_nodes,) or (n_nodes, n_values)
        The outputs of a leaf: one number, or several, for instance one per class.
    starts : array-like of int, shape (n_trees,)
        The position of the root of each tree.
    n_features : int
        The number of columns of X.
    base : float or array-like of shape (n_scores,), default=0.0
        The initial scores, to which outputs are added.
    score_of : array-like of int, shape (n_outputs,), optional
        The score that each output is added to. By default output j is added to score ``j % n_scores``.
    feature_names : sequence of str, optional
        The names of the columns that the forest was fitted on.
    missing_left : array-like of bool, shape (n_nodes,), optional
        Whether NaN goes to the left child. By default this was not learned, and NaN goes left everywhere.
    categories : dict, optional
        ``{node: codes}``: a row goes left at this node if its value, without its fractional part, is one of these
        whole numbers, otherwise right. The node ignores its threshold.
    task : Task, optional
        What the sums mean. By default they are the predictions of a regression.
    levels : CategoryLevels, optional
        The values that the codes of categories stand for, by column. X may then hold these values.
    expected : array-like of shape (n_outputs,), optional
        What each output is expected to add to the prediction of a row that its tree is not evaluated for, which gets
        this number in its place. It is 0 by default, which is right if the base is the prior, because a boosted tree
        then moves rows apart but not their mean. Converters set it to the mean of the leaves over the training rows:
        in the first trees of LightGBM, which hold its initial score; in models that do not start from the prior, with
        the second derivatives of the loss as weights if they are known; and in averages of trees.

    Attributes
    ----------
    reads : ndarray of bool, shape (n_outputs, n_features)
        The columns that the tree of each output splits on: the transpose of the matrix F of Xu et al.
    tree_reads : ndarray of bool, shape (n_trees, n_features)
        The columns that each tree splits on.
    knows_missing : bool
        Whether `missing_left` was given.
    n_trees : int
        The number of trees.
    n_outputs : int
        The number of outputs: one for each tree and each value of its leaves.
    arrays : ForestArrays
        The forest as the kernels read it.

    References
    ----------
    Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
    Evaluation Cost. JMLR 15, 2014, section 5 (the matrix F).

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
        levels: CategoryLevels | None = None,
        expected: Any = None,
    ):
        self.feature = frozen_column(feature, "feature", np.int64)
        self.threshold = frozen_column(threshold, "threshold", np.float64)
        self.left = frozen_column(left, "left", np.int64)
        self.right = frozen_column(right, "right", np.int64)
        self.value = frozen(np.array(value, dtype=np.float64))
        if self.value.ndim == 1:
            self.value = self.value[:, None]
        self.starts = frozen_column(starts, "starts", np.int64)
        self.n_features = int(n_features)
        self.base = frozen(np.array(base, dtype=np.float64, ndmin=1))
        in_turn = np.arange(self.n_outputs) % len(self.base)
        self.score_of = frozen_column(in_turn if score_of is None else score_of, "score_of", np.int64)
        unexpected = np.zeros(self.n_outputs)
        self.expected = frozen_column(unexpected if expected is None else expected, "expected", np.float64)
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        self.task, self.levels = task, checked_columns(levels, self.n_features)
        self.knows_missing = missing_left is not None
        all_left = np.ones(len(self.feature), dtype=bool)
        self.missing_left = frozen_column(missing_left if self.knows_missing else all_left, "missing_left", np.bool_)
        self.categories = MappingProxyType(checked_category_sets(categories, self.feature))
        self._categorical_columns = sorted({int(self.feature[node]) for node in self.categories})
        check_arrays(self)
        depth, self.tree_reads, self._tree_of = traverse(self)
        self.reads = frozen(np.repeat(self.tree_reads, self.value.shape[1], axis=0))
        self.arrays = kernel_arrays(self, depth, self._tree_of)
        self._last_priced: PricedForest | None = None

    @classmethod
    def from_model(cls, model: Any, categories: Mapping[Feature, Sequence[Any]] | None = None) -> Forest:
        """Read the trees of a fitted model.

        Parameters
        ----------
        model : fitted estimator, Booster or Forest
            A fitted estimator of thrifty that has a ``forest_``. Of scikit-learn: random forests, extra trees,
            gradient boosting, histogram gradient boosting, decision trees, and AdaBoostClassifier over trees. Of
            LightGBM and XGBoost: boosters and estimators. A Forest is returned as it is.
        categories : dict, optional
            ``{column: levels}``: the levels of columns of categories, in the order of their codes, by name or position
            of the column. They are needed only if X will hold levels and the model does not know them: if it was
            trained on codes, or with a version of XGBoost before 3.1.

        Returns
        -------
        Forest
            The outputs of a random forest for classification are probabilities: of the second class if there are two
            classes, otherwise of every class. A booster with several classes has one tree per class and round, with
            one output each. Missing values and categories go where the original model sends them. A model that was
            trained on a frame with categories takes the same columns of a frame, and arrays of what the original
            model takes: codes if it is of LightGBM or XGBoost, levels if it is of scikit-learn.
        """
        from thrifty.models.forests.converters import convert

        forest = model if isinstance(model, Forest) else convert(model)
        return forest if categories is None else forest.replace(levels=stated_levels(forest, categories))

    @classmethod
    def from_trees(cls, trees: Iterable[Tree], **rest: Any) -> Forest:
        """Make a forest of single trees.

        Parameters
        ----------
        trees : iterable of Tree
            The trees in the order of evaluation.
        **rest
            The other arguments of `Forest`: n_features, base, score_of, feature_names, task.

        Returns
        -------
        Forest

        Examples
        --------
        >>> from thrifty.models.forests.forest import Forest, Tree
        >>> stump = Tree(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, 0, 0], right=[2, 0, 0], value=[0, -1, 1])
        >>> Forest.from_trees([stump, stump], n_features=1).outputs([[0.5], [0.6]])
        array([[-1., -1.],
               [ 1.,  1.]])
        """
        return cls(**concatenate_trees(list(trees)), **rest)

    def prefix(self, n_trees: int) -> Forest:
        """Return the first trees as a forest.

        Parameters
        ----------
        n_trees : int
            The number of trees to keep, at least 1.

        Returns
        -------
        Forest
            If the original model averages its trees, the prefix averages its own trees.

        Examples
        --------
        >>> from thrifty.models.forests.forest import Forest, Tree
        >>> stump = Tree(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, 0, 0], right=[2, 0, 0], value=[0, -1, 1])
        >>> Forest.from_trees([stump, stump], n_features=1).prefix(1)
        Forest(1 tree, 3 nodes, 1 of 1 features read)
        """
        if not 1 <= n_trees <= self.n_trees:
            raise ValueError(f"Forest: n_trees is {n_trees!r}; expected 1 to {self.n_trees}, the number of trees.")
        kept = (self._tree_of >= 0) & (self._tree_of < n_trees)
        position = np.cumsum(kept) - 1
        inner = self.feature != LEAF  # the children of a leaf need not be valid positions
        left, right = (np.where(inner, position[np.where(inner, side, 0)], 0) for side in (self.left, self.right))
        share = self.n_trees / n_trees if self.task and self.task.averaged else 1.0
        return self.replace(
            feature=self.feature[kept],
            threshold=self.threshold[kept],
            left=left[kept],
            right=right[kept],
            value=share * self.value[kept],
            starts=position[self.starts[:n_trees]],
            score_of=self.score_of[: n_trees * self.value.shape[1]],
            expected=share * self.expected[: n_trees * self.value.shape[1]],
            missing_left=self.missing_left[kept] if self.knows_missing else None,
            categories={int(position[node]): codes for node, codes in self.categories.items() if kept[node]},
        )

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.starts)

    @property
    def n_outputs(self) -> int:
        """The number of outputs: one for each tree and each value of its leaves."""
        return len(self.starts) * self.value.shape[1]

    def outputs(self, X: Any, columns: Any = None, fill: Any = None) -> np.ndarray:
        """Return the outputs of the trees.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        columns : array-like of int, optional
            The outputs to compute, all by default. Columns of X that their trees do not split on are not read.
        fill : array-like of shape (n_features,), optional
            Replaces NaN in each column. By default NaN goes where each split sends it.

        Returns
        -------
        ndarray of shape (n, n_outputs), or (n, len(columns))
        """
        return self.outputs_of_codes(self._checked_rows(X), columns, fill)

    def outputs_of_codes(self, rows: np.ndarray, columns: Any = None, fill: Any = None) -> np.ndarray:
        """Return the outputs of the trees for rows in which codes replace the levels of categories.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features)
            Contiguous, of float32 or float64.
        columns : array-like of int, optional
            The outputs to compute, all by default.
        fill : array-like of shape (n_features,), optional
            Replaces NaN in each column.

        Returns
        -------
        ndarray of shape (n, n_outputs), or (n, len(columns))
        """
        wanted = np.arange(self.n_outputs) if columns is None else self._checked_outputs(columns)
        read = np.flatnonzero(self.reads[wanted].any(axis=0))
        replacement = np.full(self.n_features, np.nan) if fill is None else np.asarray(fill, dtype=np.float64)
        out = np.empty((len(rows), len(wanted)))
        over_rows(
            lambda first, last: forest_outputs(self.arrays, wanted, read, replacement, rows, first, last, out),
            len(rows),
        )
        return out

    def scores(self, X: Any) -> np.ndarray:
        """Return the raw predictions of the model that the forest was read from.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_scores)
        """
        outputs = self.outputs(X)
        return self.base + np.stack([outputs[:, self.score_of == s].sum(axis=1) for s in range(len(self.base))], axis=1)

    def with_costs(self, costs: Any = None, evaluation_costs: Any = 0.0) -> ForestEstimator:
        """Return the forest as a fitted budgeted estimator, with caps and sessions.

        Parameters
        ----------
        costs : array-like, dict, CostModel or None, default=None
            What each feature costs to acquire. None means one unit per feature.
        evaluation_costs : float or array-like of shape (n_trees,), default=0.0
            What evaluating each tree costs a row, in the unit of the costs.

        Returns
        -------
        BudgetedForestRegressor, BudgetedForestClassifier or BudgetedForestRanker
            Without a cap it predicts what the original model predicts. Under a cap, the prediction of a row comes from
            the trees that it could pay for: from their sum and what the other trees are expected to add, or from their
            average if the original model averages. A row without any tree gets the prior. Call ``fit(X, y)`` to
            calibrate the predictions under a cap on rows.

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
        from thrifty.models.forests.budgeted_forest import budgeted_forest

        return budgeted_forest(self, costs, evaluation_costs)

    def priced(self, cost_model: CostModel, evaluation_costs: Any = 0.0) -> PricedForest:
        """Return the forest with its costs, prepared for prediction.

        Parameters
        ----------
        cost_model : CostModel
            What the columns of X cost.
        evaluation_costs : float or array-like of shape (n_trees,), default=0.0
            What evaluating each tree costs a row.

        Returns
        -------
        PricedForest
            The last one is kept and returned again if both arguments are the same objects.
        """
        from thrifty.models.forests.priced_forest import PricedForest

        last = self._last_priced
        if last is None or last.cost_model is not cost_model or last.evaluation_costs is not evaluation_costs:
            last = self._last_priced = PricedForest(self, cost_model, evaluation_costs)
        return last

    def coded(self, X: Any) -> Any:
        """Return a table in which codes replace the levels of categories.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)

        Returns
        -------
        frame or array-like
            X itself if the forest knows no levels.
        """
        if self.levels is not None:
            return self.levels.coded(X)
        refuse_unknown_levels(X, self._categorical_columns)
        return X

    def _checked_rows(self, X: Any) -> np.ndarray:
        rows = np.ascontiguousarray(self.coded(X))
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"Forest: X has shape {rows.shape}; expected (n, {self.n_features}).")
        return rows

    def _checked_outputs(self, columns: Any) -> np.ndarray:
        wanted = np.asarray(columns, dtype=np.int64)
        if wanted.ndim != 1 or not all_within(wanted, 0, self.n_outputs):
            raise ValueError(f"Forest: columns is {columns!r}; expected outputs from 0 to {self.n_outputs - 1}.")
        return wanted

    # Copies and files

    def _parts(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        parts = {name: getattr(self, name) for name in PARTS}
        missing_left = self.missing_left if self.knows_missing else None
        return parts | {"missing_left": missing_left, "categories": dict(self.categories)}

    def replace(self, **parts: Any) -> Forest:
        """Return a copy of the forest with other values for some arguments of `Forest`.

        Parameters
        ----------
        **parts
            The arguments to replace.

        Returns
        -------
        Forest
        """
        return Forest(**self._parts() | parts)

    def __getstate__(self) -> dict[str, Any]:
        names = None if self.feature_names is None else np.array(self.feature_names, dtype=np.str_)
        parts = self._parts() | {"feature_names": names}
        nodes, sizes, codes = flatten_sets(parts.pop("categories"))
        return parts | {"category_nodes": nodes, "category_sizes": sizes, "category_codes": codes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = dict(state)
        sets = (parts.pop(f"category_{name}") for name in ("nodes", "sizes", "codes"))
        Forest.__init__(self, **parts | {"categories": unflatten_sets(*sets)})

    def __sklearn_clone__(self) -> Forest:
        return self

    def __repr__(self) -> str:
        counts = f"{self.n_trees} tree{'s' * (self.n_trees != 1)}, {len(self.feature)} nodes"
        return f"Forest({counts}, {self.reads.any(axis=0).sum()} of {self.n_features} features read)"
