"""Checks of scikit-learn's fitted structures: its compiled code does not check indices and lengths itself.

Trees, support vectors, sparse matrices and random states are checked here. The other estimators in `SAFE_MODULES` are
Python and NumPy, where a wrong index raises an exception. Estimators that are neither (neighbours, clusters) are not
trusted and cannot be in a model file.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.svm import SVC, NuSVC
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from thrifty.persistence.errors import refuse_unless

# Modules of scikit-learn that are pure Python and NumPy, or whose compiled structures are checked below
SAFE_MODULES = (
    *("_loss", "calibration", "compose", "decomposition._pca", "decomposition._truncated_svd"),
    *("discriminant_analysis", "dummy", "ensemble", "feature_selection", "frozen", "impute", "isotonic"),
    *("kernel_approximation", "linear_model", "multiclass", "naive_bayes", "neural_network", "pipeline"),
    *("preprocessing", "svm", "tree", "utils._bunch"),
)
KERNELS = ("linear", "poly", "rbf", "sigmoid")
LEAF = -1


def is_in_safe_module(name: str) -> bool:
    """Tell whether a type, given with its module, is of one of the `SAFE_MODULES` of scikit-learn."""
    return name.startswith(tuple(f"sklearn.{module}." for module in SAFE_MODULES))


def refuse_unsound_parts(model: Any) -> None:
    """Raise ModelFileError if a structure of scikit-learn anywhere in a model is not consistent."""
    for part in parts(model):
        for kind, check in CHECKS.items():
            if isinstance(part, kind):
                check(part)
        if issparse(part):
            part.check_format(full_check=True)


def parts(whole: Any) -> Iterator[Any]:
    """Yield all objects inside an object, each once, and the object itself last."""
    seen: dict[int, Any] = {}

    def visit(part: Any) -> Iterator[Any]:
        if id(part) in seen or isinstance(part, str | bytes | int | float | type | np.generic | None):
            return
        seen[id(part)] = part
        for each in _inside(part):
            yield from visit(each)
        yield part

    return visit(whole)


def _inside(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return [*part.values()]
    if isinstance(part, list | tuple | set):
        return [*part]
    if isinstance(part, np.ndarray):
        return part.ravel().tolist() if part.dtype == object else []
    return [*getattr(part, "__dict__", {}).values()]


def _check_tree(tree: Tree) -> None:
    refuse_unless(1 <= tree.node_count <= tree.capacity, "a tree has fewer nodes than it claims")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    _refuse_wrong_indices(left, right, feature, left != LEAF, tree.n_features)


def _refuse_wrong_indices(left: Any, right: Any, feature: Any, inner: np.ndarray, n_features: int) -> None:
    """Refuse inner nodes whose children do not follow them, or which split on a column that does not exist."""
    node = np.arange(len(left))[inner]
    for child in (left[inner], right[inner]):
        follows = ((child > node) & (child < len(left))).all()
        refuse_unless(follows, "a tree has a node whose child does not come after it")
    fine = ((feature[inner] >= 0) & (feature[inner] < n_features)).all()
    refuse_unless(fine, "a tree splits on a column that does not exist")


def _check_decision_tree(estimator: Any) -> None:
    if hasattr(estimator, "tree_"):
        fine = isinstance(estimator.tree_, Tree) and estimator.tree_.n_features == estimator.n_features_in_
        refuse_unless(fine, "a decision tree has another number of columns than its estimator")


def _check_forest(forest: Any) -> None:
    for tree in getattr(forest, "estimators_", ()):
        fine = isinstance(tree, BaseDecisionTree) and tree.n_features_in_ == forest.n_features_in_
        refuse_unless(fine and hasattr(tree, "tree_"), "a forest has a tree with another number of columns")


def _check_gradient_boosting(booster: Any) -> None:
    if not hasattr(booster, "estimators_"):
        return
    trees = booster.estimators_
    refuse_unless(isinstance(trees, np.ndarray) and trees.ndim == 2, "the trees of a booster are not a 2D array")
    for tree in trees.ravel():
        fine = isinstance(tree, BaseDecisionTree) and tree.n_features_in_ == booster.n_features_in_
        refuse_unless(fine and hasattr(tree, "tree_"), "a booster has a tree with another number of columns")
    start = booster._raw_predict_init(np.zeros((1, booster.n_features_in_), dtype=np.float32))
    refuse_unless(
        start.shape == (1, trees.shape[1]), "a booster has another number of scores than its first prediction"
    )


def _check_histogram_boosting(booster: Any) -> None:
    if not hasattr(booster, "_predictors"):
        return
    refuse_unless(
        not np.any(booster._bin_mapper.is_categorical_), "a booster splits on categories, which is not supported"
    )
    for tree in (tree for trees in booster._predictors for tree in trees):
        nodes = tree.nodes
        refuse_unless(isinstance(tree, TreePredictor) and nodes.ndim == 1 and nodes.size, "a booster has no trees")
        refuse_unless(not nodes["is_categorical"].any(), "a booster splits on categories, which is not supported")
        left, right, feature = (nodes[name].astype(np.int64) for name in ("left", "right", "feature_idx"))
        _refuse_wrong_indices(left, right, feature, nodes["is_leaf"] == 0, booster.n_features_in_)


def _check_vector_machine(machine: Any) -> None:
    if not hasattr(machine, "support_vectors_"):
        return
    refuse_unless(
        isinstance(machine, SVC | NuSVC) and "_impl" not in vars(machine),
        "a support vector machine is not an SVC",
    )
    refuse_unless(machine.kernel in KERNELS, f"a support vector machine has the unknown kernel {machine.kernel!r}")
    n_classes, n_vectors = len(machine.classes_), len(machine.support_)
    n_pairs, weights = n_classes * (n_classes - 1) // 2, machine._dual_coef_
    counts = machine._n_support
    doubles = (weights, machine.support_vectors_, machine._intercept_, machine._probA, machine._probB)
    fine = (
        n_classes > 1
        and counts.shape == (n_classes,)
        and (counts >= 0).all()
        and counts.sum() == n_vectors
        and counts.dtype == machine.support_.dtype == np.int32
        and all(array.dtype == np.float64 for array in doubles)
        and machine.support_vectors_.shape == (n_vectors, machine.n_features_in_)
        and weights.shape == (n_classes - 1, n_vectors)
        and bool(machine._sparse) == issparse(machine.support_vectors_) == issparse(weights)
        and (not issparse(weights) or weights.nnz == weights.shape[0] * weights.shape[1])
        and machine._intercept_.shape == (n_pairs,)
        and machine._probA.shape == machine._probB.shape
        and machine._probA.shape in ((0,), (n_pairs,))
    )
    refuse_unless(fine, "a support vector machine has vectors and weights of incompatible shapes")


def _check_random_state(random: np.random.RandomState) -> None:
    state: Any = random.get_state(legacy=False)["state"]
    refuse_unless(0 <= state["pos"] <= len(state["key"]), "the position of a random state is outside its numbers")


def _check_generator(random: np.random.Generator) -> None:
    refuse_unless(
        isinstance(random.bit_generator, np.random.PCG64),
        "a random generator is not of type PCG64",
    )


CHECKS: dict[type, Any] = {
    np.random.RandomState: _check_random_state,
    np.random.Generator: _check_generator,
    Tree: _check_tree,
    BaseDecisionTree: _check_decision_tree,
    BaseForest: _check_forest,
    BaseGradientBoosting: _check_gradient_boosting,
    BaseHistGradientBoosting: _check_histogram_boosting,
    BaseLibSVM: _check_vector_machine,
}
