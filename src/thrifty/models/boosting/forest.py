"""A forest as flat arrays, whoever grew it.

Every tree is a column or several: its output for a row is what stands at the leaf that the row falls into. Outputs
add up to the raw prediction of the model that the forest was read from, shrinkage, tree weights and averaging having
been worked into the leaves:

    raw score s of a row  =  base[s]  +  sum of the outputs j with score_of[j] == s

Libraries differ in how they compare (scikit-learn's trees and XGBoost round values to float32 first, XGBoost asks for
less than rather than at most). Here there is one rule, ``x <= threshold`` goes left, in double precision; the
differences have gone into the thresholds, so that every row takes the path it takes in the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thrifty.kernels.forest import ForestArrays, forest_outputs
from thrifty.kernels.threads import over_rows

LEAF = -1  # stands in `feature` for a node that has no children


class Tree(NamedTuple):
    """One tree of ``m`` nodes as a converter reads it, the root first; `feature` is -1 at leaves."""

    feature: np.ndarray  # (m,)
    threshold: np.ndarray  # (m,) at most this: go left
    left: np.ndarray  # (m,) children, numbered within the tree; not looked at in leaves
    right: np.ndarray
    value: np.ndarray  # (m, k) looked at in leaves only


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

    Attributes
    ----------
    reads : ndarray of bool, shape (n_outputs, n_features)
        The columns that the tree behind each output splits on: the matrix F of Xu et al., transposed.
    tree_reads : ndarray of bool, shape (n_trees, n_features)
        The same, tree by tree.

    Notes
    -----
    NaN exceeds no threshold, so it goes left everywhere, unless ``outputs`` is told what to put in its place. The
    directions that the original learned for missing values are not kept.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from thrifty.models.boosting.forest import Forest
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
    ):
        self.feature = _column(feature, "feature", np.int64)
        self.threshold = _column(threshold, "threshold", np.float64)
        self.left = _column(left, "left", np.int64)
        self.right = _column(right, "right", np.int64)
        self.value = _frozen(np.array(value, dtype=np.float64))
        if self.value.ndim == 1:
            self.value = self.value[:, None]
        self.starts = _column(starts, "starts", np.int64)
        self.n_features = int(n_features)
        self.base = _frozen(np.array(base, dtype=np.float64, ndmin=1))
        in_turn = np.arange(self.n_outputs) % len(self.base)
        self.score_of = _column(in_turn if score_of is None else score_of, "score_of", np.int64)
        self.feature_names = None if feature_names is None else tuple(map(str, feature_names))
        self._refuse_misfits()
        depth, self.tree_reads = self._explored()
        self.reads = _frozen(np.repeat(self.tree_reads, self.value.shape[1], axis=0))
        self._arrays = self._flattened(depth)

    @classmethod
    def from_model(cls, model: Any) -> Forest:
        """Read the trees of a fitted model.

        Parameters
        ----------
        model : fitted estimator, Booster or Forest
            scikit-learn's random forests, extra trees, gradient boosting, histogram gradient boosting, decision trees
            and AdaBoostClassifier over trees; LightGBM's and XGBoost's boosters and estimators. A Forest is returned
            as it is.

        Returns
        -------
        Forest
            Random forests for classification put out probabilities: of the second class if there are two, else one
            output per class and tree. Boosters of several classes have a tree per class and round, one output each.
        """
        if isinstance(model, Forest):
            return model
        from thrifty.models.boosting.converters import convert

        return convert(model)

    @classmethod
    def from_trees(cls, trees: Iterable[Tree], **rest: Any) -> Forest:
        """Put trees one after another; the rest is passed on.

        Examples
        --------
        >>> from thrifty.models.boosting.forest import Forest, Tree
        >>> stump = Tree(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, 0, 0], right=[2, 0, 0], value=[0, -1, 1])
        >>> Forest.from_trees([stump, stump], n_features=1).outputs([[0.5], [0.6]])
        array([[-1., -1.],
               [ 1.,  1.]])
        """
        columns = list(zip(*trees, strict=True))
        if not columns:
            raise ValueError("Forest: there are no trees. Pass at least one.")
        feature, threshold, left, right, value = columns
        sizes = [len(each) for each in feature]
        starts = np.cumsum([0, *sizes[:-1]])
        shift = np.repeat(starts, sizes)
        return cls(
            np.concatenate(feature),
            np.concatenate(threshold),
            np.concatenate(left) + shift,
            np.concatenate(right) + shift,
            np.concatenate(value),
            starts,
            **rest,
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
            What stands in for NaN; without it NaN goes left.

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
            lambda first, last: forest_outputs(self._arrays, wanted, read, stand_in, rows, first, last, out), len(rows)
        )
        return out

    def scores(self, X: Any) -> np.ndarray:
        """Return the raw prediction (n, n_scores) of the model that the forest was read from."""
        outputs = self.outputs(X)
        return self.base + np.stack([outputs[:, self.score_of == s].sum(axis=1) for s in range(len(self.base))], axis=1)

    def _rows(self, X: Any) -> np.ndarray:
        rows = np.ascontiguousarray(X)
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"Forest: X has shape {rows.shape}; expected (n, {self.n_features}).")
        return rows

    def _checked(self, columns: Any) -> np.ndarray:
        wanted = np.asarray(columns, dtype=np.int64)
        if wanted.ndim != 1 or not _within(wanted, 0, self.n_outputs):
            raise ValueError(f"Forest: columns is {columns!r}; expected outputs from 0 to {self.n_outputs - 1}.")
        return wanted

    def _refuse_misfits(self) -> None:
        """Check every index and length: kernels index without looking, and forests also come from files."""
        n_nodes, inner = len(self.feature), self.feature != LEAF
        for name in ("threshold", "left", "right", "value"):
            if len(array := getattr(self, name)) != n_nodes:
                raise ValueError(f"Forest: {name} has {len(array)} entries for {n_nodes} nodes. Pass one each.")
        if len(self.score_of) != self.n_outputs:
            raise ValueError(f"Forest: score_of has {len(self.score_of)} entries for {self.n_outputs} outputs.")
        if not len(self.starts):
            raise ValueError("Forest: there are no trees. Pass at least one.")
        for name, indices, end in (
            ("feature", self.feature[inner], self.n_features),
            ("left", self.left[inner], n_nodes),
            ("right", self.right[inner], n_nodes),
            ("starts", self.starts, n_nodes),
            ("score_of", self.score_of, len(self.base)),
        ):
            if not _within(indices, 0, end):
                raise ValueError(f"Forest: {name} holds an index outside 0..{end - 1}.")
        if np.isnan(self.threshold[inner]).any():
            raise ValueError("Forest: a threshold is NaN; expected numbers.")
        if not (np.isfinite(self.value[~inner]).all() and np.isfinite(self.base).all()):
            raise ValueError("Forest: a leaf or the base is not finite; expected finite numbers.")

    def _explored(self) -> tuple[np.ndarray, np.ndarray]:
        """Go down all trees level by level; return their depths and what they read."""
        depth = np.zeros(self.n_trees, dtype=np.int64)
        reads = np.zeros((self.n_trees, self.n_features), dtype=bool)
        reached = np.zeros(len(self.feature), dtype=np.int64)
        node, tree, level = self.starts, np.arange(self.n_trees), 0
        while node.size:
            reached += np.bincount(node, minlength=len(reached))
            if (twice := np.flatnonzero(reached > 1)).size:
                raise ValueError(f"Forest: node {twice[0]} is reached in two ways; expected trees.")
            depth[tree] = level
            inner = self.feature[node] != LEAF
            node, tree, level = node[inner], tree[inner], level + 1
            reads[tree, self.feature[node]] = True
            node, tree = np.concatenate([self.left[node], self.right[node]]), np.concatenate([tree, tree])
        return depth, _frozen(reads)

    def _flattened(self, depth: np.ndarray) -> ForestArrays:
        leaf, itself = self.feature == LEAF, np.arange(len(self.feature))
        return ForestArrays(
            feature=np.where(leaf, 0, self.feature).astype(np.uint32),
            threshold=np.where(leaf, np.inf, self.threshold),
            left=np.where(leaf, itself, self.left).astype(np.uint32),
            right=np.where(leaf, itself, self.right).astype(np.uint32),
            value=self.value.copy(),
            root=self.starts.astype(np.uint32),
            depth=depth,
        )

    # A frozen value

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self.feature, self.threshold, self.left, self.right, self.value, self.starts)
        rest = {name: getattr(self, name) for name in ("n_features", "base", "score_of", "feature_names")}
        return _rebuilt, (arrays, rest)

    def __sklearn_clone__(self) -> Forest:
        return self

    def __repr__(self) -> str:
        counts = f"{self.n_trees} tree{'s' * (self.n_trees != 1)}, {len(self.feature)} nodes"
        return f"Forest({counts}, {self.reads.any(axis=0).sum()} of {self.n_features} features read)"


def _rebuilt(arrays: tuple[np.ndarray, ...], rest: dict[str, Any]) -> Forest:
    return Forest(*arrays, **rest)


def _column(values: Any, name: str, dtype: type) -> np.ndarray:
    array = np.array(values)
    if array.ndim != 1 or not np.can_cast(array.dtype, dtype, "same_kind"):
        raise ValueError(f"Forest: {name} has shape {array.shape} and dtype {array.dtype}; expected {dtype.__name__}s.")
    return _frozen(array.astype(dtype))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _within(indices: np.ndarray, first: int, end: int) -> bool:
    return not indices.size or (indices.min() >= first and indices.max() < end)
