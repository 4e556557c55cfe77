"""Forests of scikit-learn, read from the arrays of its fitted estimators."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thrifty.models.boosting.converters.single_precision import at_most
from thrifty.models.boosting.forest import LEAF, Forest, Tree


def averaged_values(model: Any) -> Forest:
    """Read a random forest or extra trees for regression; its outputs add up to ``predict``."""
    return _summed(model, model.estimators_, lambda tree: tree.value[:, :, 0] / len(model.estimators_))


def averaged_probabilities(model: Any) -> Forest:
    """Read a random forest or extra trees for classification; its outputs add up to ``predict_proba``."""
    _refuse_several_targets(model)
    return _summed(model, model.estimators_, lambda tree: _probabilities(tree) / len(model.estimators_))


def tree_values(model: Any) -> Forest:
    """Read a single regression tree."""
    return _summed(model, [model], lambda tree: tree.value[:, :, 0])


def tree_probabilities(model: Any) -> Forest:
    """Read a single classification tree."""
    _refuse_several_targets(model)
    return _summed(model, [model], _probabilities)


def gradient_boosting(model: Any) -> Forest:
    """Read gradient boosting; outputs and base add up to ``decision_function``, or ``predict`` in regression."""
    if not (isinstance(model.init_, str) or type(model.init_).__name__.startswith("Dummy")):
        raise ValueError(
            f"{type(model).__name__}: init is {model.init_!r}, but a Forest starts from a constant. "
            "Leave init at its default, or pass 'zero'."
        )
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]
    return _summed(model, model.estimators_.ravel(), lambda tree: model.learning_rate * tree.value[:, :, 0], base)


def hist_gradient_boosting(model: Any) -> Forest:
    """Read histogram gradient boosting, which compares in double precision."""
    if model.is_categorical_ is not None:
        raise ValueError(
            f"{type(model).__name__}: has categorical features, which a Forest cannot represent. "
            "Fit it with categorical_features=None, on encoded columns."
        )
    rounds = model._predictors
    return Forest.from_trees(
        [_hist_tree(predictor.nodes) for trees in rounds for predictor in trees],
        n_features=model.n_features_in_,
        base=np.ravel(model._baseline_prediction),
        feature_names=getattr(model, "feature_names_in_", None),
    )


def ada_boost(model: Any) -> Forest:
    """Read AdaBoostClassifier; its outputs, weighted votes of the trees, add up to ``decision_function``."""
    weights = iter(model.estimator_weights_ / model.estimator_weights_.sum())
    return _summed(model, model.estimators_, lambda tree: _votes(tree.value[:, 0]) * next(weights))


def _votes(proportions: np.ndarray) -> np.ndarray:
    """Return 1 for the class that a leaf prefers and -1 / (n_classes - 1) for any other; +-2 if there are two."""
    n_classes = proportions.shape[1]
    votes = np.full(proportions.shape, -1 / (n_classes - 1))
    votes[np.arange(len(votes)), proportions.argmax(axis=1)] = 1.0
    return votes[:, 1:] - votes[:, :1] if n_classes == 2 else votes


def _summed(model: Any, estimators: Any, values: Callable[[Any], np.ndarray], base: Any = None) -> Forest:
    if strangers := [each for each in estimators if not hasattr(each, "tree_")]:
        raise ValueError(f"{type(model).__name__}: is made of {type(strangers[0]).__name__}s; expected decision trees.")
    trees = [_tree(each.tree_, values(each.tree_)) for each in estimators]
    return Forest.from_trees(
        trees,
        n_features=model.n_features_in_,
        base=np.zeros(trees[0].value.shape[1]) if base is None else base,
        feature_names=getattr(model, "feature_names_in_", None),
    )


def _tree(tree: Any, value: np.ndarray) -> Tree:
    leaf = tree.children_left < 0
    return Tree(
        feature=np.where(leaf, LEAF, tree.feature),
        threshold=at_most(tree.threshold),
        left=tree.children_left,
        right=tree.children_right,
        value=value,
    )


def _hist_tree(nodes: np.ndarray) -> Tree:
    return Tree(
        feature=np.where(nodes["is_leaf"], LEAF, nodes["feature_idx"]),
        threshold=nodes["num_threshold"],
        left=nodes["left"].astype(np.int64),
        right=nodes["right"].astype(np.int64),
        value=nodes["value"][:, None],
    )


def _probabilities(tree: Any) -> np.ndarray:
    """Return the class proportions at each node; for two classes those of the second alone say it all."""
    proportions = tree.value[:, 0]
    return proportions[:, 1:] if proportions.shape[1] == 2 else proportions


def _refuse_several_targets(model: Any) -> None:
    if model.n_outputs_ > 1:
        raise ValueError(f"{type(model).__name__}: predicts {model.n_outputs_} targets; expected one.")
