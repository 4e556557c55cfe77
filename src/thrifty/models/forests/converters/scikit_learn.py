"""Converters for scikit-learn, which read the arrays of fitted estimators."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from thrifty.models.forests.converters.single_precision import at_most
from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.forests.levels import CategoryLevels
from thrifty.models.forests.task import Task
from thrifty.models.forests.tree import mean_of_leaves

INVERSE_LINKS = {"IdentityLink": "identity", "LogLink": "log"}  # of histogram gradient boosting for regression


def averaged_values(model: Any) -> Forest:
    """Read a random forest, extra trees or a single tree for regression. The sum of the outputs is ``predict``."""
    trees = _trees_of(model)
    return _summed(model, trees, lambda tree: _values(tree) / len(trees), Task(averaged=True))


def averaged_probabilities(model: Any) -> Forest:
    """Read a random forest, extra trees or a single tree for classification. Outputs sum up to ``predict_proba``."""
    if model.n_outputs_ > 1:
        raise ValueError(f"{type(model).__name__}: predicts {model.n_outputs_} targets; expected one.")
    trees = _trees_of(model)
    task = Task("classification", link="probability", classes=tuple(model.classes_.tolist()), averaged=True)
    return _summed(model, trees, lambda tree: _probabilities(tree) / len(trees), task)


def gradient_boosting(model: Any) -> Forest:
    """Read gradient boosting. Base plus outputs is ``decision_function``, or ``predict`` in regression."""
    if not (isinstance(model.init_, str) or type(model.init_).__name__.startswith("Dummy")):
        raise ValueError(
            f"{type(model).__name__}: init is {model.init_!r}, but a Forest starts from a constant. "
            "Leave init at its default, or pass 'zero'."
        )
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]
    task = _boosted_task(model, scale=2.0 if model.loss == "exponential" else 1.0)
    trees, starts_from_zero = model.estimators_.ravel(), isinstance(model.init_, str)
    weight = "weighted_n_node_samples" if starts_from_zero else None  # otherwise the base is the prior
    return _summed(model, trees, lambda tree: model.learning_rate * _values(tree), task, base, weight)


def hist_gradient_boosting(model: Any) -> Forest:
    """Read histogram gradient boosting, which compares in double precision."""
    column_of, levels = _encoded_columns(model)
    link = "identity" if is_classifier(model) else INVERSE_LINKS[type(model._loss.link).__name__]
    return Forest.from_trees(
        [_hist_tree(predictor, column_of) for trees in model._predictors for predictor in trees],
        n_features=model.n_features_in_,
        base=np.ravel(model._baseline_prediction),
        feature_names=getattr(model, "feature_names_in_", None),
        task=_boosted_task(model, link=link),
        levels=levels,
    )


def ada_boost(model: Any) -> Forest:
    """Read AdaBoostClassifier. The sum of the outputs, which are weighted votes, is ``decision_function``."""
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    remaining, task = iter(weights), _boosted_task(model, link="votes", scale=1 / (len(model.classes_) - 1))

    def weighted_votes(tree: Any) -> np.ndarray:
        return votes(tree.value[:, 0]) * next(remaining)

    forest = _summed(model, model.estimators_, weighted_votes, task, weight=None)
    shares = model.estimators_[0].tree_.value[0, 0]  # the first tree has the weights of the training rows
    expected = shares @ votes(np.eye(len(shares)))  # the classes vote for themselves
    return forest.replace(expected=np.outer(weights, expected).ravel())


def votes(proportions: np.ndarray) -> np.ndarray:
    """Return the vote of each leaf: 1 for its majority class and -1 / (n_classes - 1) for the others.

    If there are two classes, return one column: the vote for the second class minus the vote for the first, +-2.
    """
    n_classes = proportions.shape[1]
    votes = np.full(proportions.shape, -1 / (n_classes - 1))
    votes[np.arange(len(votes)), proportions.argmax(axis=1)] = 1.0
    return votes[:, 1:] - votes[:, :1] if n_classes == 2 else votes


def _boosted_task(model: Any, link: str = "identity", scale: float = 1.0) -> Task:
    if is_classifier(model):
        return Task("classification", link=link, scale=scale, classes=tuple(model.classes_.tolist()))
    return Task(link=link)


def _trees_of(model: Any) -> list[Any]:
    return model.estimators_ if hasattr(model, "estimators_") else [model]


def _summed(
    model: Any,
    estimators: Any,
    values: Callable[[Any], np.ndarray],
    task: Task,
    base: Any = None,
    weight: str | None = "weighted_n_node_samples",
) -> Forest:
    """Return the forest of trees with these values; `weight` is the attribute of trees that holds weights of nodes."""
    if others := [each for each in estimators if not hasattr(each, "tree_")]:
        raise ValueError(f"{type(model).__name__}: is made of {type(others[0]).__name__}s; expected decision trees.")
    allows_nan = get_tags(model).input_tags.allow_nan
    trees = [_tree(each.tree_, values(each.tree_), allows_nan, weight) for each in estimators]
    return Forest.from_trees(
        trees,
        n_features=model.n_features_in_,
        base=np.zeros(trees[0].value.shape[1]) if base is None else base,
        feature_names=getattr(model, "feature_names_in_", None),
        task=task,
    )


def _tree(tree: Any, value: np.ndarray, allows_nan: bool, weight: str | None) -> Tree:
    leaf = tree.children_left < 0
    grown = Tree(
        feature=np.where(leaf, LEAF, tree.feature),
        threshold=at_most(tree.threshold),
        left=tree.children_left,
        right=tree.children_right,
        value=value,
        missing_left=tree.missing_go_to_left.astype(bool) if allows_nan else None,
    )
    return grown._replace(expected=mean_of_leaves(grown, getattr(tree, weight))) if weight else grown


def _values(tree: Any) -> np.ndarray:
    return tree.value[:, :, 0]


def _probabilities(tree: Any) -> np.ndarray:
    """Return the class proportions at each node; only those of the second class if there are two."""
    proportions = tree.value[:, 0]
    return proportions[:, 1:] if proportions.shape[1] == 2 else proportions


def _encoded_columns(model: Any) -> tuple[np.ndarray, CategoryLevels | None]:
    """Return the column of X behind each column of the encoded rows, and the levels that the encoder has learned.

    Histogram gradient boosting moves columns of categories to the front and numbers their levels.
    """
    if model.is_categorical_ is None:
        return np.arange(model.n_features_in_), None
    chosen, others = np.flatnonzero(model.is_categorical_), np.flatnonzero(~model.is_categorical_)
    encoder = model._preprocessor.named_transformers_["encoder"]
    levels = {
        column: [level for level in learned.tolist() if level == level and level is not None]
        for column, learned in zip(chosen.tolist(), encoder.categories_, strict=True)
    }
    return np.concatenate([chosen, others]), CategoryLevels(levels, codes_in_arrays=False)


def _hist_tree(predictor: Any, column_of: np.ndarray) -> Tree:
    nodes = predictor.nodes
    sets = {}
    for k in np.flatnonzero(nodes["is_categorical"] & ~nodes["is_leaf"].astype(bool)).tolist():
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][k]]
        sets[k] = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()
    return Tree(
        feature=np.where(nodes["is_leaf"], LEAF, column_of[nodes["feature_idx"]]),
        threshold=nodes["num_threshold"],
        left=nodes["left"].astype(np.int64),
        right=nodes["right"].astype(np.int64),
        value=nodes["value"][:, None],
        missing_left=nodes["missing_go_to_left"].astype(bool),
        categories=sets,
    )
